"""Agents as loops and drivers from elsewhere make them: checked before anybody talks to one."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from dshloop.errors import AgentFailedError, DriverContractError, DshloopError
from dshloop.host.agent import Agent
from dshloop.host.calling import ProcessExit
from dshloop.host.engine import AgentHandle
from dshloop.loops.names import is_object


async def made(making: Awaitable[Any], session_id: str) -> AgentHandle:
    """Wait for the agent of a session and give it with its end.

    Raises our own errors as they are, AGENT_FAILED for any other, and DRIVER_CONTRACT for what is
    no agent of this host and session.
    """
    try:
        return agent_in(await making, session_id)
    except Exception as fault:
        raise as_ours(fault) from fault


def agent_in(handle: Any, session_id: str | None) -> AgentHandle:
    """Give the agent of a handle; raises DRIVER_CONTRACT as `made`."""
    if is_object(handle):  # the dock has seen that both are there
        agent, dispose = handle["agent"], handle["dispose"]
    else:
        agent, dispose = handle.agent, handle.dispose
    if not isinstance(agent, Agent) or not callable(dispose):
        raise DriverContractError(
            f"what was made is no agent that runs here, but {type(agent).__name__}",
            hint="Let an engine of dshloop make the agent: docs/loop-provider-spec.md.",
        )
    if agent.id != session_id:
        raise DriverContractError(
            f'the agent that was made is of session "{agent.id}", not of "{session_id}"',
            hint="create_agent makes the session of options.sessionId, resume goes on with that of "
            "options.resumeSessionId.",
            session=session_id,
        )
    return AgentHandle(agent, dispose)


def as_ours(fault: Exception, doing: str = "making") -> DshloopError:
    """Give an error of ours for what making or running an agent raised."""
    if isinstance(fault, DshloopError):
        return fault
    if isinstance(fault, ProcessExit):
        return AgentFailedError(f"{doing} the agent raised {fault}", kind="ProcessExit")
    kind = type(fault).__name__
    return AgentFailedError(f"{doing} the agent raised {kind}: {fault}", kind=kind)
