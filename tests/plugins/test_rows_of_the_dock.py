"""The two rows of the dock on a real host; numbers of the original's tests in the docstrings."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import (
    AgentFactoryMissingError,
    AgentFactoryTakenError,
    InvalidConfigError,
    MissingDriverError,
    PresetNotFoundError,
)
from dshloop.host.engine import CreateOptions, Engine, Host
from dshloop.host.presets import SERVICE as PRESETS
from dshloop.host.presets import HostPresets
from dshloop.host.rows import ABSENT, HostRow
from dshloop.host.settings import DshSettings
from dshloop.host.tools import Tool
from dshloop.host.tree import Tree
from dshloop.llm.messages import user_message
from dshloop.llm.ping import REPLY
from dshloop.loops.binding import Binding, read_binding
from dshloop.loops.dock import Dock
from dshloop.paths import Places
from dshloop.plugins import find_plugin
from dshloop.plugins.built_in import DOCK, ENGINE, MEMORY, RECORDERS, ROWS, completed
from dshloop.plugins.loop_dock import SERVICE
from tests.host.scripted import Scripted, data_of, finish, kinds, text
from tests.host.test_calls import calls
from tests.host.test_engine import Memory

ROUTE = {"provider": "p", "model": "m"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "dsh"


def host_at(home: Path, **adapters: Any) -> Host:
    host = Host(Memory(), adapters=adapters)
    host.presets = presets = HostPresets(host, home, find_plugin)
    host.provide(PRESETS, presets)
    host.provide("settings", DshSettings(Places(home, home / "data", home / "config")))
    return host


def running(host: Host, rows: Sequence[HostRow] = ROWS) -> tuple[Tree, Dock]:
    tree = Tree(host, rows, find_plugin)
    asyncio.run(tree.start())
    return tree, host.service(SERVICE)


def with_config(row: HostRow, **config: Any) -> HostRow:
    return replace(row, config={**row.config, **config})


def talk(host: Host, *prompts: str, **options: Any) -> Any:
    async def run() -> Any:
        handle = await host.agent_service.create({"sessionId": "s", **options})
        for prompt in prompts:
            handle.agent.followup(user_message(prompt))
            await handle.agent.when_idle()
        return handle.agent

    return asyncio.run(run())


@pytest.mark.parametrize("reply", [None, "pong"])
def test_the_dock_brings_an_adapter_that_needs_no_model(home: Path, reply: str | None) -> None:
    """Original 37 and 38."""
    host = host_at(home)
    config = {} if reply is None else {"pingReply": reply}
    _, dock = running(host, [replace(DOCK, config=config), ENGINE])
    assert list(host.adapters) == ["loop-ping"]
    assert dock.loops.ids == ["standard"]
    agent = talk(host, "hi", agentOptions={"provider": "loop-ping", "model": "x"})
    [message] = data_of(agent, "assistant/message")
    assert message["message"]["content"][0]["text"] == (reply or REPLY)


def test_the_dock_takes_the_slot_and_provides_service_and_variables(home: Path) -> None:
    """Original 39."""
    host = host_at(home)
    tree, dock = running(host)
    assert host.factory is dock
    assert sorted(host.prompt.variables) == ["cwd", "model", "provider"]
    assert dock.loops.ids == ["standard"]
    assert dock.drivers.names == ["default", "fake-driver"]
    asyncio.run(tree.stop())
    assert (host.service(SERVICE), dict(host.prompt.variables), host.adapters) == (None, {}, {})
    assert (dock.drivers.names, dock.loops.ids) == ([], [])
    with pytest.raises(AgentFactoryMissingError):
        _ = host.factory


def test_a_second_factory_is_refused_and_nothing_runs(home: Path) -> None:
    host = host_at(home)
    second = replace(DOCK, id="second")
    with pytest.raises(AgentFactoryTakenError, match="an agent factory is already registered"):
        running(host, [DOCK, second, ENGINE])
    assert host.service(SERVICE) is None


def test_a_model_that_calls_a_tool_is_asked_again(home: Path) -> None:
    """Original 47."""
    adapter = Scripted(calls("look"), [*text("seen"), finish()])
    host = host_at(home, p=adapter)
    running(host)
    host.tools.register(Tool("look", "looks", lambda _: "there"))
    agent = talk(host, "hi", agentOptions=ROUTE)
    found = kinds(agent)
    assert found.count("tool/call") == found.count("tool/result") == 1
    assert data_of(agent, "turn/end")[-1]["reason"] == {"kind": "completed"}
    assert len(adapter.requests) == 2


def test_two_engines_of_one_process_keep_their_own_parallelism() -> None:
    """Original 67."""
    host, engines = Host(Memory()), [Engine(2), Engine(7)]

    async def run() -> list[int]:
        made = [
            await engine.create_agent(host, CreateOptions(f"s{number}"))
            for number, engine in enumerate(engines)
        ]
        return [handle.agent.max_parallel for handle in made]

    assert asyncio.run(run()) == [2, 7]


def test_the_rows_parallelism_is_the_agents(home: Path) -> None:
    host = host_at(home)
    running(host, [DOCK, with_config(ENGINE, maxParallelToolCalls=3)])
    assert talk(host, driver="fake-driver").max_parallel == 3


@pytest.mark.parametrize("value", [False, "true", 1, None])
def test_only_a_literal_true_brings_the_fake_driver(home: Path, value: Any) -> None:
    host = host_at(home)
    _, dock = running(host, [DOCK, with_config(ENGINE, fakeDriver=value)])
    assert dock.drivers.names == ["default"]
    with pytest.raises(MissingDriverError) as caught:
        talk(host, "hi", driver="fake-driver")
    assert "fakeDriver: true" in (caught.value.hint or "")


def test_the_engine_row_waits_for_the_dock_wherever_it_stands(home: Path) -> None:
    _, dock = running(host_at(home), [ENGINE, DOCK])
    assert dock.drivers.names == ["default", "fake-driver"]
    host = host_at(home)
    tree = Tree(host, [ENGINE], find_plugin)
    asyncio.run(tree.start())
    assert tree.states[0].reason == "waits for service agentLoopDock"


def test_a_bad_config_names_the_row(home: Path) -> None:
    with pytest.raises(InvalidConfigError) as caught:
        running(host_at(home), [with_config(DOCK, agents="x"), ENGINE])
    assert "agents must be an array" in caught.value.message
    assert caught.value.details["row"] == "agent-loop-dock"
    with pytest.raises(InvalidConfigError, match="maxParallelToolCalls must be a positive integer"):
        running(host_at(home), [DOCK, with_config(ENGINE, maxParallelToolCalls=0)])


def test_rows_without_a_config_have_the_defaults(home: Path) -> None:
    rows = [replace(DOCK, config=ABSENT), replace(ENGINE, config=ABSENT)]
    _, dock = running(host_at(home), rows)
    assert dock.config.default_driver == "default"
    assert dock.drivers.names == ["default"]


def test_the_settings_choose_the_driver(home: Path) -> None:
    host = host_at(home)
    running(host)
    host.service("settings").update("agent-loops", {"defaultDriver": "fake-driver"})
    agent = talk(host, "hi")
    assert read_binding(agent.session.events) == Binding("standard", "fake-driver")
    assert [kinds(agent)[n] for n in (0, -1)] == ["agent-preset/selected", "turn/end"]


def test_configured_agents_start_last_and_end_with_the_row(home: Path) -> None:
    entry = {"id": "coder", "sessionId": "c", "driver": "fake-driver"}
    host = host_at(home)
    tree = Tree(host, [with_config(DOCK, agents=[entry]), ENGINE], find_plugin)

    async def run() -> None:
        await tree.start()
        dock = host.service(SERVICE)
        await dock.agents.settle()
        assert [agent.state for agent in dock.agents.status] == ["started"]
        assert list(host.agents) == ["c"]
        await tree.stop()
        assert host.agents == {}

    asyncio.run(run())
    host = host_at(home)
    host.configured_agents = False
    tree = Tree(host, [with_config(DOCK, agents=[entry]), ENGINE], find_plugin)

    async def without() -> None:
        await tree.start()
        await host.service(SERVICE).agents.settle()
        assert host.agents == {}

    asyncio.run(without())


# --- presets --------------------------------------------------------------------------------------


def own_preset(home: Path, name: str, text: str) -> None:
    folder = home / ".agent-presets" / name
    folder.mkdir(parents=True)
    (folder / "agent.cordis.yml").write_text(text)


def system_of(agent: Any) -> str:
    system: str = data_of(agent, "request/header")[0]["header"]["system"]
    return system


def test_the_standard_preset_is_mounted_and_fills_its_variables(home: Path) -> None:
    host = host_at(home)
    running(host)
    agent = talk(host, "hi", driver="fake-driver", meta={"cwd": "/here"})
    assert "You work in the folder /here." in system_of(agent)
    assert host.service(PRESETS).composed(agent) == "standard"


def test_a_minimal_session_has_no_more_than_the_base(home: Path) -> None:
    host = host_at(home)
    running(host)
    agent = talk(host, "hi", driver="fake-driver", meta={"agentPreset": "minimal"})
    assert "folder" not in system_of(agent)
    assert host.service(PRESETS).composed(agent) == "minimal"
    [selected] = data_of(agent, "agent-preset/selected")
    assert selected["agentPreset"] == "minimal"


def test_a_preset_of_dsh_that_cannot_run_here_has_a_stand_in(home: Path) -> None:
    host = host_at(home)
    running(host)
    agent = talk(host, "hi", driver="fake-driver", meta={"agentPreset": "code"})
    assert "You work in" in system_of(agent)
    assert host.warnings == ['preset "code" runs only in dsh; "standard" stands in for it']


def test_the_users_preset_runs_what_it_can_for_its_sessions_only(home: Path) -> None:
    own_preset(
        home,
        "mine",
        "- {id: js, name: '@deepseek-ai/dsh-tool-shell'}\n"
        "- {id: p, name: dshloop/prompt, config: {text: Only here.}}\n"
        "- {id: q, name: dshloop/prompt, disabled: true, config: {text: Never.}}\n",
    )
    host = host_at(home)
    running(host)
    agent = talk(host, "hi", driver="fake-driver", meta={"agentPreset": "mine"})
    assert system_of(agent).endswith("Only here.")
    tree = host.service(PRESETS).trees[id(agent)]
    assert [each.state for each in tree.states] == ["foreign", "running", "off"]
    other = talk(host, "hi", sessionId="other", driver="fake-driver")
    assert "Only here." not in system_of(other)
    asyncio.run(agent.end())
    assert tree.of_state("running") == []
    assert host.service(PRESETS).composed(agent) is None


def test_an_unknown_preset_leaves_nothing_and_names_those_there(home: Path) -> None:
    own_preset(home, "mine", "[]\n")
    host = host_at(home)
    running(host)
    with pytest.raises(PresetNotFoundError) as caught:
        talk(host, "hi", driver="fake-driver", meta={"agentPreset": "gone"})
    assert caught.value.details["available"] == [
        "code", "cordis", "mine", "minimal", "ptc", "standard",
    ]  # fmt: skip
    assert host.agents == {}


def test_a_row_that_fails_in_a_preset_fails_the_session_with_its_line(home: Path) -> None:
    own_preset(home, "mine", "- id: p\n  name: dshloop/prompt\n  config: {text: 5}\n")
    host = host_at(home)
    running(host)
    with pytest.raises(Exception, match="text and name must be texts") as caught:
        talk(host, "hi", driver="fake-driver", meta={"agentPreset": "mine"})
    details: Any = caught.value
    assert details.details["line"] == 1
    assert host.agents == {}


# --- the built-in profile -------------------------------------------------------------------------


def test_a_profile_gets_what_it_lacks_of_the_dock() -> None:
    other = HostRow("x", "something")
    done = completed([other])
    assert [row.name for row in done.added] == [row.name for row in ROWS]
    others = [row.id for row in ROWS if row is not DOCK]
    assert [row.id for row in done.rows] == [DOCK.id, "x", *others]
    assert [row.name for row in completed(ROWS[1:]).added] == [DOCK.name]
    assert completed([DOCK, other]).added == ()
    off = replace(DOCK, off="disabled")
    assert [row.off for row in completed([off]).rows] == [None] * len(ROWS)


def test_our_memory_is_left_out_beside_another_and_stays_off_where_it_is_switched_off() -> None:
    for name in RECORDERS:
        assert MEMORY not in completed([HostRow("other", name)]).added
        assert MEMORY in completed([HostRow("other", name, off="disabled")]).added
    off = replace(MEMORY, off="disabled")
    assert [row.off for row in completed([off]).rows if row.name == MEMORY.name] == ["disabled"]
