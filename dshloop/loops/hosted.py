"""The engines of our own host as drivers of the dock: its options, put into the host's words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from dshloop.host.agent import Agent, AgentOptions
from dshloop.host.engine import AgentHandle, CreateOptions, ResumeOptions
from dshloop.host.host import Host
from dshloop.loops.carrying import EVERYTHING, Carries
from dshloop.loops.names import is_object

_AGENT_OPTIONS = {
    "provider": "provider",
    "model": "model",
    "maxTokens": "max_tokens",
    "reasoningEffort": "reasoning_effort",
    "system": "system",
    "seed": "seed",
}


class HostEngine(Protocol):
    """An engine that takes the host's options."""

    async def create_agent(self, owner: Host, options: CreateOptions) -> AgentHandle:
        """Make an agent with a new session."""
        ...

    async def resume(self, owner: Host, options: ResumeOptions) -> AgentHandle:
        """Make an agent that goes on with a stored session."""
        ...


class HostedDriver:
    """A driver that lets an engine of the host make the agents."""

    def __init__(self, engine: HostEngine, carries: Carries = EVERYTHING) -> None:
        self.engine, self.carries = engine, carries

    async def create_agent(self, owner: Host, options: Mapping[str, Any]) -> AgentHandle:
        """Make an agent with a new session."""
        return await self.engine.create_agent(owner, create_options(options))

    async def resume(self, owner: Host, options: Mapping[str, Any]) -> AgentHandle:
        """Make an agent that goes on with a stored session."""
        return await self.engine.resume(owner, resume_options(options))


class HostedHooks:
    """The listeners of our agents, as the dock adds to them."""

    def on(
        self, agent: Agent, event: str, listener: Callable[..., Any], *, prepend: bool
    ) -> Callable[[], None]:
        """Add a listener to one agent."""
        return agent.hooks.on(event, listener, prepend=prepend)


def create_options(options: Mapping[str, Any]) -> CreateOptions:
    """Read the dock's options of a create."""
    given = options.get("meta")
    meta: Mapping[str, Any] = given if is_object(given) else {}
    return CreateOptions(
        options["sessionId"],
        cwd=meta.get("cwd"),
        agent_preset=meta.get("agentPreset"),
        agent_options=_agent_options(options),
        setup=options.get("setup"),
    )


def resume_options(options: Mapping[str, Any]) -> ResumeOptions:
    """Read the dock's options of a resume."""
    return ResumeOptions(
        options["resumeSessionId"],
        agent_options=_agent_options(options),
        setup=options.get("setup"),
    )


def _agent_options(options: Mapping[str, Any]) -> AgentOptions:
    given = options.get("agentOptions")
    if not is_object(given):
        return AgentOptions()
    return AgentOptions(
        **{ours: given[key] for key, ours in _AGENT_OPTIONS.items() if key in given}
    )
