"""The row `dsh-loop-dock/headless-driver`: engines of our host as drivers of the dock.

`default` asks the providers that are set up; an adapter is made when the first request wants it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dshloop.drivers.fake import FakeDriver
from dshloop.host.agent import AgentOptions
from dshloop.host.engine import AgentHandle, CreateOptions, Engine, ResumeOptions
from dshloop.host.host import Host
from dshloop.host.mount import Mount
from dshloop.host.retry import CODES, RetryPolicy
from dshloop.host.rows import ABSENT
from dshloop.loops.engine_row import NAME, NEEDS, EngineConfig, dock_engines, read_engine_config
from dshloop.loops.hosted import HostedDriver
from dshloop.plugins.loop_dock import SERVICE

if TYPE_CHECKING:
    from dshloop.llm.adapter import ProviderAdapter
    from dshloop.llm.messages import ModelAdapter
    from dshloop.llm.providers import Providers

    ProviderSource = Callable[[], Providers]

PROVIDERS = "modelProviders"
"""The service that gives the providers which are set up, as a function."""

RETRIES = RetryPolicy(codes=CODES | {"HTTP_408", "HTTP_409"})


class HeadlessDriver:
    """Registers the engine as `default` and, with ``fakeDriver: true``, `fake-driver`."""

    name = NAME
    inject = NEEDS

    @staticmethod
    def Config(raw: Any) -> EngineConfig:  # noqa: N802 - the name every plugin has
        """Check the row's config. Raises INVALID_CONFIG."""
        return read_engine_config() if raw is ABSENT else read_engine_config(raw)

    async def apply(self, host: Mount, config: EngineConfig) -> None:
        """Register the drivers; they go with the row. Raises DUPLICATE_DRIVER."""

        providers: ProviderSource | None = host.service(PROVIDERS)
        if providers is not None:
            adapters = ProviderAdapters(providers)
            host.undo(adapters.close)
            host.adapter_source(adapters.find)

        def engine(config: EngineConfig) -> HostedDriver:
            return HostedDriver(ModelEngine(_engine(config), providers))

        host.undo(dock_engines(host.service(SERVICE), config, engine, _fake))


class ModelEngine:
    """The standard engine for agents that ask the providers of this machine.

    An agent that is made without a provider gets the one that answers where none is named.
    """

    def __init__(self, engine: Engine, providers: ProviderSource | None = None) -> None:
        self._engine, self._providers = engine, providers

    async def create_agent(self, owner: Host, options: CreateOptions) -> AgentHandle:
        """Make an agent with a new session."""
        routed = self._routed(options.agent_options)
        return await self._engine.create_agent(owner, replace(options, agent_options=routed))

    async def resume(self, owner: Host, options: ResumeOptions) -> AgentHandle:
        """Make an agent that goes on with a stored session."""
        routed = self._routed(options.agent_options)
        return await self._engine.resume(owner, replace(options, agent_options=routed))

    def _routed(self, options: AgentOptions) -> AgentOptions:
        given = options.provider
        if self._providers is None or (given is not None and options.model is not None):
            return options
        providers = self._providers()
        if given is not None and providers.find(given) is None:  # some row's
            return options
        chosen = providers.choose(given, options.model)
        if chosen is None:
            return options
        return replace(options, provider=chosen.provider, model=chosen.model)


class ProviderAdapters:
    """Adapters by the name of a provider, or an alias, each made when it is first asked for."""

    def __init__(self, providers: ProviderSource) -> None:
        self._providers = providers
        self._made: dict[str, ProviderAdapter] = {}

    def find(self, name: str) -> ModelAdapter | None:
        """Give the adapter of a provider, None for one that isn't set up."""
        if name not in self._made:
            providers = self._providers()
            provider = providers.find(name)
            if provider is None:
                return None
            from dshloop.llm.adapter import ProviderAdapter

            self._made[name] = ProviderAdapter(
                provider, partial(providers.key, provider), providers.keys.variables, name=name
            )
        return self._made[name]

    async def close(self) -> None:
        """Let go of all connections."""
        for adapter in self._made.values():
            await adapter.close()


def _engine(config: EngineConfig) -> Engine:
    return Engine(config.max_parallel_tool_calls, RETRIES)


def _fake(config: EngineConfig) -> HostedDriver:
    return HostedDriver(FakeDriver(_engine(config)))
