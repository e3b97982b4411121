"""What a driver doesn't carry of a loop is refused, or left out and told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from dshloop.errors import DriverLacksError
from dshloop.host.agent import Agent
from dshloop.host.engine import Engine
from dshloop.host.hooks import EVENTS
from dshloop.host.host import Host
from dshloop.host.tools import Tool
from dshloop.loops.carrying import EVERYTHING, PARTIAL, Carries, carries_of
from dshloop.loops.dock import Dock
from dshloop.loops.hosted import HostedDriver
from dshloop.loops.standard import standard_loop
from dshloop.loops.wrapping import strategy_loop
from dshloop.sessions.events import new_header
from dshloop.sessions.session import MemoryLog

LITTLE = Carries(("model",), prompt=False, tools=False, hooks=("agent/status",))


class InMemory:
    def __init__(self) -> None:
        self.made: list[str] = []

    def create(self, session_id: str, *, cwd: str | None, agent_preset: str | None) -> MemoryLog:
        self.made.append(session_id)
        header = new_header(session_id, created_at=0, cwd=cwd, agent_preset=agent_preset)
        return MemoryLog(header, [], time.time)

    def resume(self, session_id: str) -> MemoryLog:
        raise AssertionError(session_id)


async def make(setup: Callable[[Agent], object], carries: Carries, **options: Any) -> Host:
    host = Host(InMemory())
    dock = Dock()
    dock.register(strategy_loop(setup, id="mine"))
    dock.register_driver("little", HostedDriver(Engine(), carries))
    asked = {"sessionId": "s", "loop": "mine", "driver": "little", **options}
    await dock.create_agent(host, asked)
    return host


def prompt(agent: Agent) -> None:
    agent.prompt.section("rules", "Be brief.")


def tools(agent: Agent) -> None:
    agent.tools.register(Tool("look", "Looks.", lambda _call: ""))


def choice(agent: Agent) -> None:
    agent.tools.restrict(deny=["look"])


def hooks(agent: Agent) -> None:
    agent.hooks.on("tools/execute", lambda *_: None)
    agent.hooks.on("agent/status", lambda *_: None)


def nothing(agent: Agent) -> None:
    pass


@pytest.mark.parametrize(
    ("setup", "lacking"),
    [
        (prompt, "prompt sections (rules)"),
        (tools, "tools (look)"),
        (choice, "its choice of tools"),
        (hooks, "hooks (tools/execute)"),
    ],
)
def test_what_a_setup_does_beyond_it_is_refused_and_no_agent_is_left(
    setup: Callable[[Agent], object], lacking: str
) -> None:
    with pytest.raises(DriverLacksError) as caught:
        asyncio.run(make(setup, LITTLE))
    assert caught.value.details == {"loop": "mine", "driver": "little", "lacking": [lacking]}
    assert caught.value.exit_code == 4


@pytest.mark.parametrize("setup", [prompt, tools, choice, hooks])
def test_it_is_left_out_and_told_where_that_is_allowed(setup: Callable[[Agent], object]) -> None:
    host = asyncio.run(make(setup, LITTLE, **{PARTIAL: True}))
    assert list(host.agents) == ["s"]
    (told,) = host.warnings
    assert told.startswith('driver "little" leaves out of loop "mine": ')


@pytest.mark.parametrize("setup", [prompt, tools, choice, hooks, nothing])
def test_a_driver_that_says_nothing_carries_everything(setup: Callable[[Agent], object]) -> None:
    host = asyncio.run(make(setup, EVERYTHING))
    assert (list(host.agents), host.warnings) == (["s"], [])


def test_options_that_do_not_reach_the_engine_are_refused() -> None:
    asyncio.run(make(nothing, LITTLE, agentOptions={"model": "m"}))
    with pytest.raises(DriverLacksError) as caught:
        asyncio.run(make(nothing, LITTLE, agentOptions={"model": "m", "provider": "p"}))
    assert caught.value.details["lacking"] == ["provider (p)"]


def test_the_commit_of_a_setup_still_runs() -> None:
    done: list[int] = []
    asyncio.run(make(lambda _agent: lambda: done.append(1), LITTLE))
    assert done == [1]


def test_the_standard_preset_is_what_every_engine_has_itself() -> None:
    class Presets:
        def composed(self, agent: Agent) -> None:
            return None

        async def mount(self, agent: Agent, preset: str) -> None:
            agent.prompt.section(preset, "You help.")

    async def scene() -> None:
        dock, host = Dock(), Host(InMemory())
        dock.register(standard_loop(Presets()))
        dock.register_driver("little", HostedDriver(Engine(), LITTLE))
        await dock.create_agent(host, {"sessionId": "s", "driver": "little"})
        assert list(host.agents) == ["s"]

    asyncio.run(scene())


def test_it_is_told_whole() -> None:
    assert carries_of(object()) == EVERYTHING
    assert EVERYTHING.lacking == []
    assert set(EVERYTHING.as_json()["hooks"]) == EVENTS
    assert LITTLE.as_json() == {
        "provider": False, "model": True, "maxTokens": False, "reasoningEffort": False,
        "cwd": False, "prompt": False, "tools": False, "hooks": ["agent/status"],
    }  # fmt: skip
    assert LITTLE.as_text() == f"model, 1 of {len(EVENTS)} hooks"
    assert "prompt sections" in LITTLE.lacking
