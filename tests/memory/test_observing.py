"""An observation made of a hook's data."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies

from dshloop.memory.entries import NewObservation
from dshloop.memory.observing import cut, key_of, observed

JSON = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers() | strategies.text(),
    lambda inner: strategies.lists(inner) | strategies.dictionaries(strategies.text(), inner),
    max_leaves=8,
)


def made(hook: str, data: Any = None, **more: Any) -> NewObservation:
    return observed(hook, data, session="s", project="p", **more)


def test_a_prompt_is_its_text_once() -> None:
    new = made("prompt_submit", {"source": "user", "prompt": "Fix it", "tool_input": "Fix it"})
    assert (new.title, new.subtitle, new.content) == ("prompt_submit", "", "Fix it")
    assert (new.type, new.prompt) == ("conversation", "Fix it")
    assert new.source == {"kind": "hook", "channel": "user"}


def test_a_prompt_that_is_an_object_is_kept_too() -> None:
    assert made("prompt_submit", {"prompt": {"text": "Fix it"}}).content == '{"text":"Fix it"}'
    assert made("prompt_submit", {"content": "Fix it"}).content == "Fix it"


def test_a_tool_is_its_input_and_output() -> None:
    data = {"tool_name": "WebFetch", "tool_input": {"url": "u"}, "tool_output": {"a": 1, "b": [1]}}
    new = made("post_tool_use", data, at=5.0, agent="dsh", cwd="/w")
    assert (new.title, new.subtitle, new.type) == ("WebFetch", '{"url":"u"}', "web_fetch")
    assert new.content == '{"url":"u"} | {"a":1,"b":[1]}'
    assert new.source == {"kind": "hook", "channel": "tool", "detail": "WebFetch"}
    assert (new.at, new.agent, new.cwd, new.prompt) == (5.0, "dsh", "/w", None)


def test_an_error_stands_in_for_an_empty_output() -> None:
    data = {"tool_name": "bash", "tool_input": "x", "tool_output": None, "error": "boom"}
    assert made("post_tool_use", data).content == "x | boom"
    failed = made("post_tool_failure", {**data, "tool_output": ""})
    assert (failed.content, failed.type, failed.title) == ("x | boom", "error", "bash")


def test_members_that_say_nothing_of_a_result_are_left_out() -> None:
    data = {"tool_name": "assistant_message", "tool_input": "#4", "tool_output": "Done.", "n": 1}
    assert made("post_tool_use", {**data, "content": "Done."}).content == "#4 | Done."


@pytest.mark.parametrize(
    ("hook", "data", "content"),
    [
        ("note", "a plain text", "a plain text"),
        ("pre_tool_use", {"tool_name": "bash", "tool_input": "make it"}, "bash | make it"),
        ("notification", {"message": "Needs you"}, "Needs you"),
        ("subagent_stop", {"agent_type": "e", "message": "ok"}, "agent_type: e | ok"),
        ("task_completed", {"id": 1}, "1"),
        ("stop", None, ""),
        ("stop", {}, ""),
        ("stop", [1, 2], "[1,2]"),
        ("post_tool_use", "a plain text", "a plain text"),
        ("post_tool_use", {"tool_name": "x", "note": "only this"}, "x | note: only this"),
    ],
)
def test_nothing_of_other_hooks_is_lost(hook: str, data: Any, content: str) -> None:
    new = made(hook, data)
    assert (new.title, new.content) == (
        hook if "tool_name" not in str(data) else new.title,
        content,
    )


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("Bash", "command_run"),
        ("WebFetch", "web_fetch"),
        ("webSearch", "web_fetch"),
        ("Grep", "search"),
        ("find_files", "search"),
        ("MultiEdit", "file_edit"),
        ("Write", "file_write"),
        ("create_file", "file_write"),
        ("Read", "file_read"),
        ("view", "file_read"),
        ("Task", "subagent"),
        ("run_tests", "command_run"),
        ("str_replace_based_edit_tool", "file_edit"),
        ("todo_write", "file_write"),
        ("Thread", "file_read"),
        ("terminal", "other"),
        ("mcp__github__search_issues", "search"),
        ("", "other"),
    ],
)
def test_types_by_the_tools_name(name: str, type_: str) -> None:
    assert made("post_tool_use", {"tool_name": name}).type == type_


@pytest.mark.parametrize(
    ("hook", "type_"),
    [
        ("post_tool_failure", "error"),
        ("notification", "notification"),
        ("subagent_stop", "subagent"),
        ("task_completed", "subagent"),
        ("session_start", "other"),
    ],
)
def test_types_by_hook(hook: str, type_: str) -> None:
    assert made(hook, {"k": 1}).type == type_


def test_a_name_that_is_a_number_is_text() -> None:
    assert made("post_tool_use", {"tool_name": 5, "tool_input": "x"}).title == "5"


def test_files_in_order_without_repeats_also_of_json_text() -> None:
    members = {"pattern": "**/*.py", "path": "a.md", "file": "a.md", "file_path": 5, "x": "y"}
    for value in (members, json.dumps(members)):
        new = made("post_tool_use", {"tool_name": "x", "tool_input": value})
        assert new.files == ("a.md", "**/*.py")
    long = made("post_tool_use", {"tool_input": {"path": "x" * 512}})
    assert long.files == ()


def test_contents_are_whole_and_titles_short() -> None:
    data = {"tool_name": "n" * 100, "tool_input": "😀" * 100, "tool_output": "x" * 5_000}
    new = made("post_tool_use", data)
    assert new.title == "n" * 79 + "…"
    assert new.subtitle == "😀" * 59 + "…"
    assert new.content == "😀" * 100 + " | " + "x" * 5_000


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"tool_output": "1"}, {"tool_output": "2"}),
        ({"tool_output": "ok"}, {"error": "boom"}),
        ({"tool_input": "x" * 500 + "a"}, {"tool_input": "x" * 500 + "b"}),
        ({"tool_name": "Y"}, {"tool_name": "Z"}),
        ({"prompt": "a"}, {"prompt": "b"}),
    ],
)
def test_what_differs_is_news(one: Any, other: Any) -> None:
    base = {"tool_name": "X", "tool_input": "in"}
    assert key_of("post_tool_use", base | one) != key_of("post_tool_use", base | other)


def test_what_is_the_same_is_a_repeat() -> None:
    one = {"tool_name": "X", "tool_input": {"b": 1, "a": 2}, "tool_output": "o"}
    other = {**one, "tool_input": '{"a": 2, "b": 1}', "duration": 5}
    assert key_of("post_tool_use", one) == key_of("post_tool_use", other)
    assert key_of("stop", None) == key_of("stop", {})
    assert key_of("stop", {"a": 1}) != key_of("stop", {"a": 2})
    assert key_of("stop", {"tool_input": "x"}) != key_of("start", {"tool_input": "x"})


def test_secrets_go_before_anything_is_cut_and_stay_apart_as_keys() -> None:
    def calling(secret: str, **more: Any) -> NewObservation:
        data = {"tool_name": "R", "tool_input": {"api_key": secret, "path": "a.py"}}
        return made("post_tool_use", {**data, "tool_output": f"see token: {secret}"}, **more)

    one, other = calling("A" * 30), calling("B" * 30)
    assert one.redacted == 2
    assert one.content == other.content
    assert one.content == ('{"api_key":"[REDACTED_SECRET]","path":"a.py"} | see [REDACTED_SECRET]')
    assert one.key != other.key
    kept = calling("A" * 30, allow_secrets=True)
    assert (kept.redacted, "A" * 30 in kept.content) == (0, True)
    private = made("note", "keep <private>hush</private> this")
    assert private.content == "keep [REDACTED] this"


@given(strategies.text(), JSON)
def test_anything_can_be_observed(hook: str, data: Any) -> None:
    new = made(hook, data)
    assert new.key
    assert len(new.title.encode("utf-16-le", "surrogatepass")) <= 160
    assert len(new.subtitle.encode("utf-16-le", "surrogatepass")) <= 240


@given(strategies.text(max_size=60), strategies.integers(1, 40))
def test_cutting_keeps_the_beginning(text: str, units: int) -> None:
    short = cut(text, units)
    assert short == text or (short.endswith("…") and text.startswith(short[:-1]))
    assert len(short.encode("utf-16-le", "surrogatepass")) <= 2 * units
