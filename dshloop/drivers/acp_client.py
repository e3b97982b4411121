"""What an ACP agent may ask of us: whether it may make a call. It is offered nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dshloop.drivers.acp_updates import AcpUpdates
from dshloop.host.approval import ALLOWED, Approval, outcome_of
from dshloop.host.calling import call
from dshloop.host.tools import Execution

if TYPE_CHECKING:
    from acp.schema import RequestPermissionResponse

    from dshloop.drivers.peer import PeerAgent, PeerTurn

_CHOICE = {ALLOWED: ("allow_once",), "rejected": ("reject_once", "reject_always")}


class PermissionClient:
    """Answers for a person, or as the policy has it: without anybody to ask, no.

    A yes is for once, never for ever. Question and answer are recorded.
    """

    def __init__(self, agent: PeerAgent) -> None:
        self._agent = agent
        self._turn: PeerTurn | None = None
        self._updates: AcpUpdates | None = None
        self._asking = 0
        self.answered = 0.0  # when we last answered, by the loop's clock

    @property
    def answering(self) -> bool:
        """Whether the agent waits for us."""
        return self._asking > 0

    def begin(self, turn: PeerTurn, updates: AcpUpdates) -> None:
        """Answer for a turn from now on."""
        self._turn, self._updates = turn, updates

    def end(self) -> None:
        """Answer no more."""
        self._turn = self._updates = None

    async def request_permission(
        self, *, tool_call: Any, options: Sequence[Any], **_: Any
    ) -> RequestPermissionResponse:
        """Ask whether a call may be made."""
        from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse

        outcome = await self._outcome(tool_call)
        kinds = _CHOICE.get(outcome, _CHOICE["rejected"])
        chosen = next((one for one in options if one.kind in kinds), None)
        if outcome == "cancelled" or chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        selected = AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        return RequestPermissionResponse(outcome=selected)

    async def _outcome(self, asked_for: Any) -> str:
        turn, updates = self._turn, self._updates
        if turn is None or updates is None:
            return "cancelled"
        told = asked_for.model_dump(by_alias=True, exclude_none=True)
        name, given = updates.call(asked_for.tool_call_id, told)
        execution = Execution(
            self._agent,
            asked_for.tool_call_id,
            name,
            json.dumps(given, ensure_ascii=False),
            turn.number,
            turn.step,
            signal=turn.signal,
            arguments=given,
        )
        approval = self._agent.approval()
        asked = None if approval is None else _UntilAborted(approval)
        self._asking += 1
        try:
            return await outcome_of(self._agent, execution, told.get("title"), asked)
        finally:
            self._asking -= 1
            self.answered = asyncio.get_running_loop().time()


@dataclass(frozen=True, slots=True)
class _UntilAborted:
    """Asks somebody; an abort of the turn answers for them."""

    approval: Approval

    async def ask(self, execution: Execution, reason: str | None) -> str | None:
        asking = asyncio.ensure_future(call(self.approval.ask, execution, reason))
        execution.signal.on_abort(asking.cancel)
        try:
            answer: str | None = await asking
            return answer
        except asyncio.CancelledError:
            if not execution.signal.aborted:
                raise
            return "cancelled"
        finally:
            execution.signal.forget(asking.cancel)
