"""What the agents of one process share: sessions, model providers, tools, listeners, services."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from dshloop.errors import (
    AgentFactoryMissingError,
    AgentFactoryTakenError,
    EngineInactiveError,
    ServiceTakenError,
    SessionExistsError,
)
from dshloop.host.abort import AbortSignal
from dshloop.host.calling import call
from dshloop.host.hooks import Disposer, Hooks
from dshloop.host.prompt import SystemPrompt
from dshloop.host.tools import Tools
from dshloop.llm.messages import ModelAdapter
from dshloop.sessions.session import Session

if TYPE_CHECKING:
    from dshloop.host.agent import Agent

OWN_SERVICES = ("agents", "sessions", "llm", "tools", "systemPrompt")
"""What plugins of DSH ask for and every host has."""


class SessionSource(Protocol):
    """Where a host's sessions come from."""

    def create(self, session_id: str, *, cwd: str | None, agent_preset: str | None) -> Session:
        """Begin a session. Raises SESSION_EXISTS."""
        ...

    def resume(self, session_id: str) -> Session:
        """Open a session to go on with it. Raises SESSION_NOT_FOUND and what opening raises."""
        ...


class AgentFactory(Protocol):
    """What makes the agents of a process: the dock, or an engine without one."""

    async def create_agent(self, owner: Host, options: Any) -> Any:
        """Make an agent with a new session."""
        ...

    async def resume(self, owner: Host, options: Any) -> Any:
        """Make an agent that goes on with a stored session."""
        ...


AdapterSource = Callable[[str], ModelAdapter | None]


class SessionPresets(Protocol):
    """Mounts what a session's preset brings."""

    async def mount_for_session(self, agent: Agent) -> object:
        """Give a new agent what the preset of its session holds. Raises PRESET_NOT_FOUND."""
        ...


@dataclass(slots=True)
class Host:
    """One running process. ``agents`` are those that can be seen, by session id."""

    sessions: SessionSource
    adapters: dict[str, ModelAdapter] = field(default_factory=dict)
    adapter_sources: list[AdapterSource] = field(default_factory=list)
    """Asked for a provider that none of the adapters is for."""
    agents: dict[str, Agent] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    """Ids of agents that are being set up."""
    on_warning: Callable[[str], object] | None = None
    configured_agents: bool = True
    """Whether agents that a row's config asks for are to be started."""
    hooks: Hooks = field(init=False)
    tools: Tools = field(init=False)
    prompt: SystemPrompt = field(default_factory=SystemPrompt)
    presets: SessionPresets | None = None
    warnings: list[str] = field(default_factory=list)
    stopping: AbortSignal = field(default_factory=AbortSignal)
    """Aborted when the host stops, for agents that are being set up."""
    _services: dict[str, Any] = field(default_factory=dict)
    _watchers: list[Callable[[], object]] = field(default_factory=list)
    _factory: AgentFactory | None = None

    def __post_init__(self) -> None:
        self.hooks = Hooks(lambda event, error: self.warn(f"a listener on {event}: {error}"))
        self.tools = Tools(changed=lambda: self.hooks.emit("tools/change"))

    def warn(self, text: str) -> None:
        """Tell the person something, once for each distinct text."""
        if text not in self.warnings:
            self.warnings.append(text)
            if self.on_warning is not None:
                self.on_warning(text)

    def adapter(self, provider: str) -> ModelAdapter | None:
        """Give what asks a model provider, None when nobody does."""
        if provider in self.adapters:
            return self.adapters[provider]
        found = (source(provider) for source in self.adapter_sources)
        return next((adapter for adapter in found if adapter is not None), None)

    # --- services ------------------------------------------------------------------------------

    def provide(self, name: str, service: Any) -> Disposer:
        """Offer a service to the other rows. Raises SERVICE_TAKEN."""
        if name in self._services or name in OWN_SERVICES:
            raise ServiceTakenError(f'service "{name}" is already provided', service=name)
        self._services[name] = service
        for watcher in list(self._watchers):
            watcher()
        return lambda: self._services.pop(name, None) and None

    def service(self, name: str) -> Any:
        """Give a service, None when nobody provides it."""
        own = {"agents": self.agent_service, "sessions": self.sessions, "llm": self.adapters}
        own |= {"tools": self.tools, "systemPrompt": self.prompt}
        return own.get(name, self._services.get(name))

    def has(self, name: str) -> bool:
        """Whether a service is there."""
        return name in OWN_SERVICES or name in self._services

    def on_service(self, watcher: Callable[[], object]) -> Disposer:
        """Have something called each time a service is provided."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    # --- agents --------------------------------------------------------------------------------

    def take_factory(self, factory: AgentFactory) -> Disposer:
        """Have all agents made by this. Raises AGENT_FACTORY_TAKEN."""
        if self._factory is not None:
            raise AgentFactoryTakenError("an agent factory is already registered")
        self._factory = factory

        def dispose() -> None:
            if self._factory is factory:
                self._factory = None

        return dispose

    @property
    def factory(self) -> AgentFactory:
        """What makes the agents. Raises AGENT_FACTORY_MISSING."""
        if self._factory is None:
            raise AgentFactoryMissingError("no row of the profile makes agents")
        return self._factory

    @property
    def agent_service(self) -> HostAgents:
        """The service `agents`."""
        return HostAgents(self)

    @contextmanager
    def reserved(self, session_id: str) -> Iterator[None]:
        """Keep an id for one agent while it is set up.

        Raises SESSION_EXISTS when it is taken, ENGINE_INACTIVE once the host is stopped.
        """
        if self.stopping.aborted:
            raise EngineInactiveError("agent loop is not active")
        if session_id in self.agents or session_id in self.pending:
            raise SessionExistsError(f'session "{session_id}" already exists', session=session_id)
        self.pending.add(session_id)
        try:
            yield
        finally:
            self.pending.discard(session_id)

    async def stop(self) -> None:
        """End all agents, also those that are being set up; none can be made any more."""
        import asyncio

        self.stopping.abort({"kind": "disposed"})
        for agent in list(self.agents.values()):
            try:
                await call(agent.end)
            except Exception as fault:
                self.warn(f'ending agent "{agent.id}": {fault}')
        while self.pending:
            await asyncio.sleep(0)
        await self.hooks.settle()


class HostAgents:
    """The service `agents`: who asks here is led to the factory."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def create(self, options: Mapping[str, Any]) -> Any:
        """Make an agent with a new session."""
        return await self._host.factory.create_agent(self._host, options)

    async def resume(self, options: Mapping[str, Any]) -> Any:
        """Make an agent that goes on with a stored session."""
        return await self._host.factory.resume(self._host, options)
