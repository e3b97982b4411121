"""Calls that somebody has to allow: the question and its answer, both recorded (dsh-sessions 5)."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from dshloop.host.calling import call

if TYPE_CHECKING:
    from dshloop.host.agent import Agent
    from dshloop.host.tools import Execution

SERVICE = "approval"
ALLOWED = "allowed-once"
_OUTCOMES = frozenset({ALLOWED, "rejected", "cancelled", "unavailable"})


class Approval(Protocol):
    """Asks whoever may allow a call."""

    def ask(self, execution: Execution, reason: str | None) -> Awaitable[str | None]:
        """Give allowed-once, rejected or cancelled; None or unavailable when nobody answers."""
        ...


async def is_allowed(
    agent: Agent, execution: Execution, reason: str | None, approval: Approval | None
) -> bool:
    """Ask about a call; without somebody to ask, or an answer, it is refused."""
    if approval is None:
        return False
    return await outcome_of(agent, execution, reason, approval) == ALLOWED


async def outcome_of(
    agent: Agent, execution: Execution, reason: str | None, approval: Approval | None
) -> str:
    """Ask about a call and record question and answer; nobody to ask is ``unavailable``."""
    asked: dict[str, Any] = {"id": str(uuid.uuid4()), "toolName": execution.name}
    asked["callId"] = execution.call_id
    if reason is not None:
        asked["reason"] = reason
    agent.append("approval/asked", asked)
    outcome = "unavailable"
    if approval is not None:
        outcome = await _answer(approval, execution, reason)
    if execution.signal.aborted and outcome != ALLOWED:
        outcome = "cancelled"
    agent.append("approval/decided", {"id": asked["id"], "outcome": outcome})
    return outcome


async def _answer(approval: Approval, execution: Execution, reason: str | None) -> str:
    import asyncio

    asking = asyncio.ensure_future(call(approval.ask, execution, reason))
    execution.signal.on_abort(asking.cancel)
    try:
        outcome = await asking
    except asyncio.CancelledError:
        if not execution.signal.aborted:
            raise
        return "cancelled"
    except Exception:  # whoever asks is broken: nobody has answered
        return "unavailable"
    finally:
        execution.signal.forget(asking.cancel)
    return outcome if outcome in _OUTCOMES else "unavailable"


def reason_of(decision: Mapping[str, Any]) -> str | None:
    """Give the reason that comes with a decision."""
    reason = decision.get("reason")
    return reason if isinstance(reason, str) and reason else None
