"""The standard engine: makes and resumes agents on a host (dsh-sessions 10)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dshloop.errors import AgentSetupAbortedError
from dshloop.host.abort import AbortSignal
from dshloop.host.agent import Agent, AgentOptions
from dshloop.host.host import Host
from dshloop.host.retry import EVENT as RETRIED
from dshloop.host.retry import RetryPolicy, retry_listener
from dshloop.host.setup import Commit, prepare, run_commit
from dshloop.sessions.session import Session

__all__ = ["AgentHandle", "CreateOptions", "Engine", "Host", "ResumeOptions", "Setup"]

Setup = Callable[[Agent], Awaitable[Any] | Any]


@dataclass(frozen=True, slots=True)
class CreateOptions:
    """How a new agent is to be; ``setup`` runs before anybody can see it."""

    session_id: str
    cwd: str | None = None
    agent_preset: str | None = None
    agent_options: AgentOptions = field(default_factory=AgentOptions)
    setup: Setup | None = None
    signal: AbortSignal | None = None


@dataclass(frozen=True, slots=True)
class ResumeOptions:
    """Which session an agent goes on with."""

    resume_session_id: str
    agent_options: AgentOptions = field(default_factory=AgentOptions)
    setup: Setup | None = None
    signal: AbortSignal | None = None


class AgentHandle(NamedTuple):
    """A living agent, and how to end it."""

    agent: Agent
    dispose: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Engine:
    """Creates agents that answer by asking a model provider of the host.

    ``max_parallel`` tools of one message run at once; failed requests are made again as
    ``retry`` says, without it never.
    """

    max_parallel: int = 10
    retry: RetryPolicy | None = None

    async def create_agent(self, owner: Host, options: CreateOptions) -> AgentHandle:
        """Make an agent with a new session.

        Raises SESSION_EXISTS, ENGINE_INACTIVE, AGENT_SETUP_ABORTED and what the setup or a
        listener on agent/created raises; then nothing of the agent is left.
        """
        with owner.reserved(options.session_id):
            _require_wanted(options.session_id, options.signal)
            session = owner.sessions.create(
                options.session_id, cwd=options.cwd, agent_preset=options.agent_preset
            )
            return await self._bring_up(owner, session, options)

    async def resume(self, owner: Host, options: ResumeOptions) -> AgentHandle:
        """Make an agent that goes on with a stored session; raises like `create_agent`."""
        with owner.reserved(options.resume_session_id):
            _require_wanted(options.resume_session_id, options.signal)
            session = owner.sessions.resume(options.resume_session_id)
            return await self._bring_up(owner, session, options)

    async def _bring_up(
        self, owner: Host, session: Session, options: CreateOptions | ResumeOptions
    ) -> AgentHandle:
        """Set an agent up, register and announce it; when that fails nothing of it remains."""
        try:
            agent = self.make_agent(session, options.agent_options, owner)
        except BaseException:
            session.close()
            raise
        try:
            await self._set_up(owner, agent, options)
        except BaseException:
            await agent.dispose()
            raise
        agent.publish()
        owner.agents[agent.id] = agent
        return await _announced(owner, agent)

    def make_agent(self, session: Session, options: AgentOptions, owner: Host) -> Agent:
        """Make the agent of a session; another engine makes agents of another kind."""
        return Agent(session, options, owner.adapters, owner, max_parallel=self.max_parallel)

    async def _set_up(
        self, owner: Host, agent: Agent, options: CreateOptions | ResumeOptions
    ) -> None:
        if agent.session.resumed:
            agent.append("session/end-seed", {})
        if self.retry is not None:
            agent.hooks.on(RETRIED, retry_listener(self.retry))
        if owner.presets is not None:
            await owner.presets.mount_for_session(agent)
        if options.setup is not None:
            commit = await _unless_aborted(owner, agent, options.setup, options.signal)
            if commit is not None:
                run_commit(commit)


async def _announced(owner: Host, agent: Agent) -> AgentHandle:
    """Tell the listeners of a new agent; one that raises on agent/created takes it back."""
    told: list[str] = []

    async def dispose() -> None:
        if owner.agents.get(agent.id) is agent:
            del owner.agents[agent.id]
        await agent.dispose()
        while told:
            event = told.pop()
            about = agent.session if event == "session/disposed" else {"agent": agent}
            owner.hooks.emit(event, about)

    agent.on_end(dispose)
    told.append("session/disposed")
    agent.hooks.emit("session/created", agent.session)
    told.append("agent/disposed")
    try:
        agent.hooks.announce("agent/created", {"agent": agent})
    except BaseException:
        await dispose()
        raise
    source = "resume" if agent.session.resumed else "startup"
    agent.hooks.emit("agent/session-start", {"agent": agent, "source": source})
    return AgentHandle(agent, dispose)


async def _unless_aborted(
    owner: Host, agent: Agent, setup: Setup, signal: AbortSignal | None
) -> Commit | None:
    """Run a setup; the abort of the caller, or the end of the host, ends it."""
    import asyncio

    task = asyncio.ensure_future(prepare(setup, agent))
    owner.stopping.on_abort(task.cancel)
    if signal is not None:
        signal.on_abort(task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        _require_wanted(agent.id, signal)
        if owner.stopping.aborted:
            why = "owner disposed during setup"
            raise _aborted(agent.id, why) from None
        raise
    finally:
        owner.stopping.forget(task.cancel)


def _require_wanted(session_id: str, signal: AbortSignal | None) -> None:
    """Raise what the caller's signal was aborted with."""
    if signal is None or signal.cause is None:
        return
    reason = signal.cause.get("reason")
    if isinstance(reason, BaseException):
        raise reason
    raise _aborted(session_id, f"aborted by {signal.cause.get('kind', 'its caller')}")


def _aborted(session_id: str, why: str) -> AgentSetupAbortedError:
    return AgentSetupAbortedError(f'agent "{session_id}" setup aborted: {why}', session=session_id)
