"""The row `dsh-loop-dock/headless-driver`: engines of our host as drivers of the dock."""

from __future__ import annotations

from typing import Any

from dshloop.drivers.fake import FakeDriver
from dshloop.host.engine import Engine
from dshloop.host.mount import Mount
from dshloop.host.retry import RetryPolicy
from dshloop.host.rows import ABSENT
from dshloop.loops.engine_row import NAME, NEEDS, EngineConfig, dock_engines, read_engine_config
from dshloop.loops.hosted import HostedDriver
from dshloop.plugins.loop_dock import SERVICE


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
        host.undo(dock_engines(host.service(SERVICE), config, _engine, _fake))


def _engine(config: EngineConfig) -> HostedDriver:
    return HostedDriver(Engine(config.max_parallel_tool_calls, RetryPolicy()))


def _fake(config: EngineConfig) -> HostedDriver:
    engine = Engine(config.max_parallel_tool_calls, RetryPolicy())
    return HostedDriver(FakeDriver(engine))
