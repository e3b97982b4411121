"""The sets of tools: scopes, names, limits, and who is told of changes."""

from __future__ import annotations

from typing import Any

import pytest

from dshloop.errors import ToolExistsError
from dshloop.host.engine import Host
from dshloop.host.tools import Tool, Tools, as_content
from tests.host.test_engine import Memory


def tool(name: str, description: str = "") -> Tool:
    return Tool(name, description, lambda _: None)


def names(tools: Tools) -> list[str]:
    return [each.name for each in tools.offered]


def test_an_agent_has_the_hosts_tools_and_its_own_before_them() -> None:
    host = Tools()
    host.register(tool("a", "host's"))
    host.register(tool("b"))
    own = host.scope()
    dispose = own.register(tool("a", "own"))
    assert [(each.name, each.description) for each in own.offered] == [("a", "own"), ("b", "")]
    dispose()
    assert own.get("a") == host.get("a")
    assert names(host) == ["a", "b"]


def test_a_name_is_taken_within_one_place() -> None:
    tools = Tools()
    dispose = tools.register(tool("a"))
    with pytest.raises(ToolExistsError):
        tools.register(tool("a"))
    dispose()
    dispose()
    tools.register(tool("a"))


def test_limits_add_up_and_can_be_lifted() -> None:
    host = Tools()
    for name in "abc":
        host.register(tool(name))
    own = host.scope()
    lift = own.restrict(allow=["a", "b"])
    own.restrict(deny=["b"])
    assert names(own) == ["a"]
    assert own.get("c") is None
    lift()
    assert names(own) == ["a", "c"]
    assert names(host) == ["a", "b", "c"]


def test_changes_are_told_to_the_whole_host() -> None:
    host, told = Host(Memory()), []
    host.hooks.on("tools/change", lambda: told.append(1))
    dispose = host.tools.register(tool("a"))
    host.tools.scope().restrict(deny=["a"])
    dispose()
    assert len(told) == 3


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ("x", ["x"]),
        (None, []),
        ({"a": "ü"}, ['{"a": "ü"}']),
        ([1, 2], ["[1, 2]"]),
        ([{"type": "text", "text": "b"}], ["b"]),
        ([], ["[]"]),
    ],
)
def test_values_become_blocks(value: Any, texts: list[str]) -> None:
    assert [block["text"] for block in as_content(value)] == texts
