"""Agents as loops and drivers from elsewhere make them: checked before anybody talks to one."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from dshloop.errors import AgentFailedError, DriverContractError, DshloopError
from dshloop.host.agent import Agent
from dshloop.host.calling import ProcessExit, call
from dshloop.host.engine import AgentHandle
from dshloop.loops.binding import Binding, read_binding
from dshloop.loops.names import is_object


async def made(making: Awaitable[Any], session_id: str, expected: Binding) -> AgentHandle:
    """Wait for the agent of a session and give it with its end.

    Raises our own errors as they are, AGENT_FAILED for any other, and DRIVER_CONTRACT for what is
    no agent of this host, session and binding; such a one is ended.
    """
    handle = None
    try:
        handle = await making
        found = agent_in(handle, session_id)
        require_bound(found.agent, expected)
        return found
    except Exception as fault:
        await _end(handle)
        raise as_ours(fault) from fault


def agent_in(handle: Any, session_id: str | None) -> AgentHandle:
    """Give the agent of a handle; raises DRIVER_CONTRACT as `made`."""
    agent, dispose = _parts(handle)
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


def require_bound(agent: Agent, expected: Binding | None = None) -> Binding:
    """Give what an agent's log records. Raises DRIVER_CONTRACT for nothing, or something else."""
    bound = read_binding(agent.session.events)
    if bound is None:
        raise DriverContractError(
            f'session "{agent.id}" records no loop: its setup was not run',
            hint="create_agent and resume run options.setup before the agent can be seen.",
            session=agent.id,
        )
    same = expected is None or (
        bound.loop == expected.loop and bound.driver in (None, expected.driver)
    )
    if not same:
        raise DriverContractError(
            f'session "{agent.id}" was to run {expected}, and its setup bound it to {bound}',
            hint="Only the dock records agentLoopDock; a setup that sets a preset leaves it out.",
            session=agent.id,
        )
    return bound


def _parts(handle: Any) -> tuple[Any, Any]:
    """Give agent and dispose; the dock has seen that both are there."""
    if is_object(handle):
        return handle["agent"], handle["dispose"]
    return handle.agent, handle.dispose


async def _end(handle: Any) -> None:
    """End what nobody will use; whatever that raises, another error is under way."""
    try:
        await call(_parts(handle)[1])
    except Exception:
        pass


def as_ours(fault: Exception, doing: str = "making") -> DshloopError:
    """Give an error of ours for what making or running an agent raised."""
    if isinstance(fault, DshloopError):
        return fault
    if isinstance(fault, ProcessExit):
        return AgentFailedError(f"{doing} the agent raised {fault}", kind="ProcessExit")
    kind = type(fault).__name__
    return AgentFailedError(f"{doing} the agent raised {kind}: {fault}", kind=kind)
