"""The row `dsh-loop-dock/headless-driver`: engines of our host as drivers of the dock.

`default` asks the providers that are set up; their adapters come with the first agent it makes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
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
    from dshloop.llm.providers import Providers

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

        def engine(config: EngineConfig) -> HostedDriver:
            return HostedDriver(ModelEngine(_engine(config), host))

        host.undo(dock_engines(host.service(SERVICE), config, engine, _fake))


class ModelEngine:
    """The standard engine for agents that ask the providers of this machine.

    An agent that is made without a provider gets the one that answers where none is named.
    """

    def __init__(self, engine: Engine, mount: Mount) -> None:
        self._engine, self._mount = engine, mount
        self._offered = False

    async def create_agent(self, owner: Host, options: CreateOptions) -> AgentHandle:
        """Make an agent with a new session."""
        routed = self._routed(options.agent_options)
        return await self._engine.create_agent(owner, replace(options, agent_options=routed))

    async def resume(self, owner: Host, options: ResumeOptions) -> AgentHandle:
        """Make an agent that goes on with a stored session."""
        routed = self._routed(options.agent_options)
        return await self._engine.resume(owner, replace(options, agent_options=routed))

    def _routed(self, options: AgentOptions) -> AgentOptions:
        source: Callable[[], Providers] | None = self._mount.service(PROVIDERS)
        if source is None:
            return options
        providers = source()
        self._offer(providers)
        if options.provider is not None and (options.model or not providers.find(options.provider)):
            return options
        chosen = providers.choose(options.provider, options.model)
        if chosen is None:
            return options
        return replace(options, provider=chosen.provider, model=chosen.model)

    def _offer(self, providers: Providers) -> None:
        """Add the adapters, once; their connections are closed with the row."""
        if self._offered:
            return
        from dshloop.llm.adapter import provider_adapters

        self._offered = True
        for adapter in provider_adapters(providers):
            self._mount.adapter(adapter)
            self._mount.undo(adapter.close)


def _engine(config: EngineConfig) -> Engine:
    return Engine(config.max_parallel_tool_calls, RETRIES)


def _fake(config: EngineConfig) -> HostedDriver:
    return HostedDriver(FakeDriver(_engine(config)))
