"""A row of a loop's author, as the original's starter package has one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.host.mount import Mount
from dshloop.host.rows import HostRow
from dshloop.host.tree import Tree
from dshloop.loops.binding import Binding, read_binding
from dshloop.plugins import find_plugin
from dshloop.plugins.built_in import ROWS
from dshloop.plugins.loop_dock import SERVICE
from tests.plugins.test_rows_of_the_dock import host_at


@dataclass(frozen=True)
class StarterConfig:
    loopId: str = "template-strategy"  # noqa: N815 - the key of the row


class Starter:
    name = "dsh-loop-starter"
    Config = StarterConfig
    inject = (SERVICE,)

    async def apply(self, host: Mount, config: StarterConfig) -> None:
        async def setup(agent: Any) -> None:
            host.host.warn(f"{config.loopId} prepares {agent.id}")

        strategy = {"id": config.loopId, "kind": "strategy", "label": "Starter", "setup": setup}
        host.undo(host.service(SERVICE).register(strategy))


def find(name: str) -> Any:
    return Starter if name == Starter.name else find_plugin(name)


def test_a_starter_row_registers_one_strategy_under_its_loop_id(tmp_path: Path) -> None:
    """Original 69."""
    host = host_at(tmp_path / "dsh")
    rows = (HostRow("mine", Starter.name, {"loopId": "demo-strategy"}), *ROWS)

    async def run() -> Any:
        tree = Tree(host, rows, find)
        await tree.start()
        dock = host.service(SERVICE)
        assert [loop.id for loop in dock.loops.in_order()] == ["demo-strategy", "standard"]
        assert callable(dock.loops.require("demo-strategy").setup)
        asked = {"sessionId": "s", "loop": "demo-strategy", "driver": "fake-driver"}
        handle = await host.agent_service.create(asked)
        await host.stop()
        await tree.stop()
        assert dock.loops.get("demo-strategy") is None
        return handle.agent

    agent = asyncio.run(run())
    assert read_binding(agent.session.events) == Binding("demo-strategy", "fake-driver")
    assert host.warnings == ["demo-strategy prepares s"]
