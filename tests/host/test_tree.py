"""Rows to running plugins: order, services, failures, and everything undone."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import (
    InvalidConfigError,
    RowConfigInvalidError,
    RowFailedError,
    ServiceTakenError,
)
from dshloop.host.host import Host
from dshloop.host.mount import Mount
from dshloop.host.rows import ABSENT, HostRow, host_rows
from dshloop.host.tree import Tree
from dshloop.profiles.compose import compose
from dshloop.profiles.layers import parse_layer
from tests.host.test_engine import Memory


class Plugins:
    """Plugins made on the spot; `log` has what they did."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.made: dict[str, Any] = {}

    def add(
        self,
        name: str,
        *,
        inject: tuple[str, ...] = (),
        provides: str | None = None,
        fails: Exception | None = None,
        config: Any = lambda raw: raw,
    ) -> None:
        log = self.log

        async def apply(_self: Any, host: Mount, given: Any) -> None:
            log.append(f"start {name}" if given is ABSENT else f"start {name} {given}")
            host.undo(lambda: log.append(f"stop {name}"))
            host.on("e", lambda: log.append(f"heard {name}"))
            if provides is not None:
                host.provide(provides, name)
            if fails is not None:
                raise fails

        attributes = {"name": name, "Config": staticmethod(config), "inject": inject}
        if isinstance(config, type):
            attributes["Config"] = config
        self.made[name] = type(name, (), {**attributes, "apply": apply})

    def find(self, name: str) -> Any:
        return self.made.get(name)


def rows_of(text: str) -> list[HostRow]:
    layer = parse_layer(text, "profile", "profile", path=Path("/p/cordis.patch.yml"))
    return host_rows(compose([layer]))


def tree_of(plugins: Plugins, text: str, host: Host | None = None) -> Tree:
    return Tree(host or Host(Memory()), rows_of(text), plugins.find)


def states(tree: Tree) -> dict[str, str]:
    return {each.row.id: each.state for each in tree.states}


def started(plugins: Plugins, text: str) -> Tree:
    tree = tree_of(plugins, text)
    asyncio.run(tree.start())
    return tree


THREE = "- insert: [{id: a, name: a}, {id: b, name: b}, {id: c, name: c}]\n"


def three(**of_b: Any) -> Plugins:
    plugins = Plugins()
    plugins.add("a")
    plugins.add("b", **of_b)
    plugins.add("c")
    return plugins


def test_rows_start_in_order_and_stop_in_reverse() -> None:
    plugins = three()
    tree = started(plugins, THREE)
    assert plugins.log == ["start a", "start b", "start c"]
    assert states(tree) == dict.fromkeys("abc", "running")
    tree.host.hooks.emit("e")
    assert plugins.log[3:] == ["heard a", "heard b", "heard c"]
    asyncio.run(tree.stop())
    asyncio.run(tree.stop())
    tree.host.hooks.emit("e")
    assert plugins.log[6:] == ["stop c", "stop b", "stop a"]


def test_a_row_waits_for_its_services_whoever_brings_them() -> None:
    plugins = Plugins()
    plugins.add("a", inject=("late",))
    plugins.add("b", inject=("later",), provides="late")
    plugins.add("c", provides="later")
    started(plugins, THREE)
    assert plugins.log == ["start c", "start b", "start a"]


def test_a_row_may_itself_ask_for_services() -> None:
    plugins = three()
    tree = started(
        plugins,
        "- insert: [{id: a, name: a, inject: [x]}, {id: b, name: b, inject: {y: true}},"
        " {id: c, name: c, inject: {z: {required: false}}}]\n",
    )
    assert plugins.log == ["start c"]
    assert {each.row.id: each.reason for each in tree.of_state("waiting")} == {
        "a": "waits for service x",
        "b": "waits for service y",
    }


def test_what_cannot_run_is_listed_and_no_error() -> None:
    plugins = Plugins()
    plugins.add("a")
    plugins.add("w", inject=("never",))
    tree = started(
        plugins,
        """\
- insert:
    - {id: a, name: a}
    - {id: js, name: '@deepseek-ai/dsh-base'}
    - {id: off, name: a, disabled: true}
    - {id: word, name: a, disabled: 'no'}
    - {id: maybe, name: a, disabled: !!js nope.x}
    - {id: code, name: a, config: {deep: [{x: !!js process.env.X}]}}
    - {id: w, name: w}
    - {id: group, name: 'cordis:group', group: true, disabled: true, config: [{id: in, name: a}]}
    - {id: open, name: 'cordis:group', group: true, config: [{id: child, name: a}]}
""",
    )
    assert states(tree) == {
        "a": "running",
        "js": "foreign",
        "off": "off",
        "word": "off",
        "maybe": "off",
        "code": "off",
        "w": "waiting",
        "in": "off",
        "child": "running",
    }
    [shown] = [each.as_json() for each in tree.of_state("waiting")]
    assert shown["missing"] == ["never"]


def test_the_later_row_of_an_id_is_the_one_that_runs() -> None:
    plugins = three()
    tree = started(plugins, "- insert: [{id: a, name: a}, {id: a, name: b}]\n")
    assert plugins.log == ["start b"]
    assert [each.state for each in tree.states] == ["replaced", "running"]


def test_a_plugin_that_throws_fails_the_start_and_the_rest_is_undone() -> None:
    plugins = three(fails=OSError("kaboom"))
    tree = tree_of(plugins, "- insert:\n    - {id: a, name: a}\n    - {id: b, name: b}\n")
    with pytest.raises(RowFailedError) as caught:
        asyncio.run(tree.start())
    error = caught.value
    assert error.message == '/p/cordis.patch.yml:3: row "b" (b) failed: kaboom'
    assert {key: error.details[key] for key in ("row", "layer", "file", "line")} == {
        "row": "b",
        "layer": "profile",
        "file": "/p/cordis.patch.yml",
        "line": 3,
    }
    assert plugins.log == ["start a", "start b", "stop b", "stop a"]
    tree.host.hooks.emit("e")
    assert plugins.log[4:] == []


def test_our_own_errors_keep_their_code_and_gain_the_row() -> None:
    fault = InvalidConfigError("agents must be an array", path="agents")
    plugins = three(fails=fault)
    tree = tree_of(
        plugins, "- insert:\n    - id: b\n      name: b\n      config:\n        agents: 1\n"
    )
    with pytest.raises(InvalidConfigError) as caught:
        asyncio.run(tree.start())
    assert caught.value.details["line"] == 5
    assert caught.value.details["row"] == "b"
    assert caught.value.hint == fault.hint


def test_all_configs_are_checked_before_anything_starts() -> None:
    def refuse(_raw: Any) -> None:
        raise ValueError("it must be a number")

    plugins = three(config=refuse)
    with pytest.raises(RowConfigInvalidError) as caught:
        started(plugins, THREE)
    assert caught.value.message.endswith('the config of row "b" (b): it must be a number')
    assert plugins.log == []


@dataclass
class Settings:
    size: int = 1
    name: str = ""


def test_a_dataclass_gets_the_rows_keys() -> None:
    plugins = three(config=Settings)
    started(plugins, "- insert: [{id: b, name: b, config: {size: 3}}]\n")
    started(plugins, "- insert: [{id: b, name: b}]\n")
    assert plugins.log == [f"start b {Settings(3)}", f"start b {Settings()}"]


def test_an_unknown_key_is_named_with_its_line_and_a_near_match() -> None:
    plugins = three(config=Settings)
    text = (
        "- insert:\n    - id: b\n      name: b\n      config:\n        name: x\n        siez: 3\n"
    )
    with pytest.raises(RowConfigInvalidError) as caught:
        started(plugins, text)
    assert caught.value.message.startswith("/p/cordis.patch.yml:6: ")
    assert "did you mean size?" in caught.value.message


def test_the_place_of_a_value_is_where_the_last_layer_set_it() -> None:
    first = parse_layer(
        "- insert:\n  - {id: b, name: b, config: {x: 1}}\n", "one", path=Path("/one.yml")
    )
    second = parse_layer("\n- id: b\n  config:\n    x: [{y: 2}]\n", "two", path=Path("/two.yml"))
    [row] = host_rows(compose([first, second]))
    assert row.spot.text == "/one.yml:2"
    assert row.spot_of("x[0].y").text == "/two.yml:4"
    assert row.spot_of("nothing.here").text.startswith("/two.yml:")


def test_a_service_can_be_provided_once() -> None:
    plugins = Plugins()
    plugins.add("a", provides="s")
    plugins.add("b", provides="s")
    with pytest.raises(ServiceTakenError) as caught:
        started(plugins, THREE)
    assert caught.value.details["row"] == "b"
    assert plugins.log[-2:] == ["stop b", "stop a"]


def test_a_failing_stop_does_not_keep_the_others_running() -> None:
    plugins = three()
    tree = started(plugins, THREE)
    mount = tree.states[1].mount
    assert mount is not None
    mount.undo(lambda: 1 / 0)
    asyncio.run(tree.stop())
    assert plugins.log[3:] == ["stop c", "stop b", "stop a"]
    assert tree.host.warnings == ["stopping a row: division by zero"]
