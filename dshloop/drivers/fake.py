"""Drivers that need no model, no key and no network (loop-dock 13)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from dshloop.host.agent import Agent, AgentOptions
from dshloop.host.engine import AgentHandle, CreateOptions, Engine, ResumeOptions
from dshloop.host.host import Host
from dshloop.llm.ping import MODEL, PROVIDER, REPLY, PingAdapter
from dshloop.loops.setups import compose_setups

Options = TypeVar("Options", CreateOptions, ResumeOptions)

FAKE_PROVIDER = "driver-ping"
LOCAL_PROVIDERS = frozenset({PROVIDER, FAKE_PROVIDER})
"""Those that need no set-up, and whose models have no window."""

FAKE_MODEL = "fake"
FAKE_REPLY = "[FAKE-DRIVER] fake driver reply — generated locally, no model call."


class Route(Protocol):
    """A provider and its model."""

    provider: str
    model: str


def force_route(agent: Agent, route: type[Route] | Route) -> None:
    """Have every request of an agent go to one model, from now on the outermost listener."""

    async def on_request(
        _event: Mapping[str, Any], following: Callable[[], Awaitable[Any]]
    ) -> dict[str, Any]:
        config = await following()
        kept = dict(config) if isinstance(config, Mapping) else {}
        kept.pop("reasoningEffort", None)
        return {**kept, "provider": route.provider, "model": route.model}

    agent.hooks.on("agent/request", on_request, prepend=True)


class PingDriver:
    """The standard engine on a provider whose only model says one fixed sentence.

    Provider and model are forced and the effort is dropped, whatever was asked for, by the
    caller or by any listener on agent/request.
    """

    provider = PROVIDER
    model = MODEL
    reply = REPLY

    def __init__(self, engine: Engine | None = None) -> None:
        self._engine = engine or Engine()

    async def create_agent(self, owner: Host, options: CreateOptions) -> AgentHandle:
        """Make an agent with a new session."""
        return await self._engine.create_agent(owner, self._forced(owner, options))

    async def resume(self, owner: Host, options: ResumeOptions) -> AgentHandle:
        """Make an agent that goes on with a stored session."""
        return await self._engine.resume(owner, self._forced(owner, options))

    def _forced(self, owner: Host, options: Options) -> Options:
        owner.adapters.setdefault(self.provider, PingAdapter(self.provider, self.reply))
        agent_options: AgentOptions = replace(
            options.agent_options, provider=self.provider, model=self.model, reasoning_effort=None
        )
        setup = compose_setups(options.setup, lambda agent: force_route(agent, self))
        return replace(options, agent_options=agent_options, setup=setup)


class FakeDriver(PingDriver):
    """The driver `fake-driver`."""

    provider = FAKE_PROVIDER
    model = FAKE_MODEL
    reply = FAKE_REPLY
