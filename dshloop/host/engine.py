"""The standard engine: makes and resumes agents on a host (dsh-sessions 10)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from dshloop.errors import SessionExistsError
from dshloop.host.agent import Agent, AgentOptions
from dshloop.llm.messages import ModelAdapter
from dshloop.sessions.session import Session

Setup = Callable[[Agent], Awaitable[Any] | Any]


class SessionSource(Protocol):
    """Where a host's sessions come from."""

    def create(self, session_id: str, *, cwd: str | None, agent_preset: str | None) -> Session:
        """Begin a session. Raises SESSION_EXISTS."""
        ...

    def resume(self, session_id: str) -> Session:
        """Open a session to go on with it. Raises SESSION_NOT_FOUND and what opening raises."""
        ...


@dataclass(slots=True)
class Host:
    """What agents of one process share: their sessions, the model providers, each other."""

    sessions: SessionSource
    adapters: dict[str, ModelAdapter] = field(default_factory=dict)
    agents: dict[str, Agent] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    """Ids of agents that are being set up."""

    @contextmanager
    def reserved(self, session_id: str) -> Iterator[None]:
        """Keep an id for one agent while it is set up. Raises SESSION_EXISTS when it is taken."""
        if session_id in self.agents or session_id in self.pending:
            raise SessionExistsError(f'session "{session_id}" already exists', session=session_id)
        self.pending.add(session_id)
        try:
            yield
        finally:
            self.pending.discard(session_id)


@dataclass(frozen=True, slots=True)
class CreateOptions:
    """How a new agent is to be; ``setup`` runs before anybody can see it."""

    session_id: str
    cwd: str | None = None
    agent_preset: str | None = None
    agent_options: AgentOptions = field(default_factory=AgentOptions)
    setup: Setup | None = None


@dataclass(frozen=True, slots=True)
class ResumeOptions:
    """Which session an agent goes on with."""

    resume_session_id: str
    agent_options: AgentOptions = field(default_factory=AgentOptions)
    setup: Setup | None = None


@dataclass(frozen=True, slots=True)
class AgentHandle:
    """A living agent, and how to end it."""

    agent: Agent
    dispose: Callable[[], Awaitable[None]]


class Engine:
    """Creates agents that answer by asking a model provider of the host."""

    async def create_agent(self, owner: Host, options: CreateOptions) -> AgentHandle:
        """Make an agent with a new session. Raises SESSION_EXISTS and what the setup raises."""
        with owner.reserved(options.session_id):
            session = owner.sessions.create(
                options.session_id, cwd=options.cwd, agent_preset=options.agent_preset
            )
            return await _bring_up(owner, session, options.agent_options, options.setup)

    async def resume(self, owner: Host, options: ResumeOptions) -> AgentHandle:
        """Make an agent that goes on with a stored session."""
        with owner.reserved(options.resume_session_id):
            session = owner.sessions.resume(options.resume_session_id)
            return await _bring_up(owner, session, options.agent_options, options.setup)


async def _bring_up(
    owner: Host, session: Session, options: AgentOptions, setup: Setup | None
) -> AgentHandle:
    """Set an agent up and register it; when the setup fails nothing of it remains."""
    try:
        agent = Agent(session, options, owner.adapters)
        if session.resumed:
            agent.append("session/end-seed", {})
        await _run_setup(agent, setup)
    except BaseException:
        session.close()
        raise
    agent.publish()
    owner.agents[agent.id] = agent

    async def dispose() -> None:
        owner.agents.pop(agent.id, None)
        await agent.dispose()

    return AgentHandle(agent, dispose)


async def _run_setup(agent: Agent, setup: Setup | None) -> None:
    """Run a setup, then the commit it may give back."""
    if setup is None:
        return
    result = setup(agent)
    if inspect.isawaitable(result):
        result = await result
    commit = getattr(result, "commit", result)
    if callable(commit):
        commit()
