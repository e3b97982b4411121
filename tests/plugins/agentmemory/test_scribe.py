"""Events as calls: what each type becomes, what tells repeats apart, what never leaves."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dshloop.plugins.agentmemory.calls import About, Call
from dshloop.plugins.agentmemory.config import BridgeConfig
from dshloop.plugins.agentmemory.content import cleaned
from dshloop.plugins.agentmemory.repeats import COMPARED, Repeats
from dshloop.plugins.agentmemory.scribe import OPEN_CALLS, Scribe
from dshloop.plugins.agentmemory.windows import Found, Window, lines, neutral
from tests.plugins.agentmemory.stand_ins import message, text

ABOUT = About("s1", "/w/shop", "shop", "dsh")
KEY = "sk-abcdefghij0123456789ABCDEFGHIJ"


def scribe(**config: Any) -> Scribe:
    return Scribe(ABOUT, BridgeConfig(**config))


def wrote(one: Scribe, kind: str, data: Any, **more: Any) -> Any:
    call = one.write({"type": kind, "time": 1767225600123, "data": data, **more})
    return None if call is None else call.body


def called(one: Scribe, id_: str, arguments: Any, output: str, **more: Any) -> Any:
    wrote(one, "tool/call", {"callId": id_, "name": "bash", "arguments": arguments})
    block = {"type": "tool-result", "toolCallId": id_, "content": text(output)}
    return wrote(one, "tool/result", {"message": {"content": [block]}, **more})["data"]


def test_the_counter_grows_with_every_event_and_follows_the_log() -> None:
    one = scribe()
    for kind in ("turn/start", "assistant/chunk", "todo/write", "request/header"):
        assert wrote(one, kind, {}) is None
    answer = {"message": {"content": text("hi"), "source": {"kind": "model"}}}
    body = wrote(one, "assistant/message", answer)
    assert body["data"] == {
        "tool_name": "assistant_message",
        "tool_output": "hi",
        "tool_input": "#5",
        "content": "hi",
    }
    assert wrote(one, "turn/end", {}, seq=41)["data"]["tool_input"] == "turn#42"


def test_times_are_those_of_the_events() -> None:
    assert wrote(scribe(), "turn/end", {})["timestamp"] == "2026-01-01T00:00:00.123Z"


def test_text_blocks_are_joined_by_newlines() -> None:
    blocks = [*text("a"), {"type": "image", "data": "x"}, *text("b")]
    body = wrote(scribe(), "user/message", {"content": blocks, "source": {"kind": "plugin"}})
    assert body["data"]["prompt"] == "a\nb"
    assert body["data"]["source"] == "plugin"


def test_a_result_without_its_call_is_told_by_its_id_or_number() -> None:
    block = {"type": "tool-result", "toolCallId": "c9", "content": text("x")}
    data = wrote(scribe(), "tool/result", {"message": {"content": [block]}})["data"]
    assert (data["tool_name"], data["tool_input"], data["callId"]) == ("tool", "result#c9", "c9")
    nameless = {"message": {"content": text("x")}, "name": "read"}
    data = wrote(scribe(), "tool/result", nameless)["data"]
    assert (data["tool_name"], data["tool_input"]) == ("read", "result#1")
    assert "callId" not in data


def test_results_of_the_newer_format_are_read_too() -> None:
    one = scribe()
    wrote(one, "tool/call", {"callId": "c1", "name": "bash", "arguments": {"command": "ls"}})
    told = {"role": "tool", "toolCallId": "c1", "content": text("no"), "isError": True}
    body = wrote(one, "tool/result", {"message": told})
    assert body["hookType"] == "post_tool_failure"
    assert body["data"]["tool_input"] == '{"command": "ls"}'


def test_only_so_many_open_calls_are_remembered() -> None:
    one = scribe()
    for number in range(OPEN_CALLS + 1):
        wrote(one, "tool/call", {"callId": f"c{number}", "name": "t", "arguments": "{}"})
    for number, name in ((0, "tool"), (1, "t")):
        block = {"type": "tool-result", "toolCallId": f"c{number}", "content": text("x")}
        data = wrote(one, "tool/result", {"message": {"content": [block]}})["data"]
        assert data["tool_name"] == name


def test_memorys_own_calls_and_recalls_are_no_news() -> None:
    one = scribe()
    for name in ("memory_recall", "memory_remember", "memory_retrieve"):
        wrote(one, "tool/call", {"callId": "c", "name": name, "arguments": "{}"})
        block = {"type": "tool-result", "toolCallId": "c", "content": text("x")}
        assert wrote(one, "tool/result", {"message": {"content": [block]}}) is None
    for more in ({"plugin": "agentmemory"}, {"plugin": "other", "form": "recall"}):
        assert wrote(one, "user/message", message("x", kind="plugin", **more)) is None
    assert wrote(one, "user/message", message("x", kind="plugin", plugin="other")) is not None


def test_arguments_stay_exact_until_something_else_comes_of_them() -> None:
    one, arguments = scribe(), '{"command":"date"}'
    told = [called(one, f"c{n}", arguments, out)["tool_input"] for n, out in enumerate("aabca")]
    assert told == [
        arguments, arguments, f"{arguments} #2", f"{arguments} #3", arguments,
    ]  # fmt: skip
    failed = called(one, "c9", arguments, "a", error={"name": "E"})
    assert failed["tool_input"] == f"{arguments} #4"
    other = called(one, "c10", '{"command":"ls"}', "a")
    assert other["tool_input"] == '{"command":"ls"}'


def test_a_summary_is_remembered_unless_that_is_off() -> None:
    call = scribe().write({"type": "compaction/summary", "data": {"summary": text("s")}})
    assert call == Call(
        "remember",
        {
            "content": "[dsh compaction] s",
            "type": "fact",
            "concepts": ["compaction"],
            "project": "shop",
            "agentId": "dsh",
        },
    )
    assert wrote(scribe(compaction_bridge=False), "compaction/summary", {"summary": "s"}) is None
    assert wrote(scribe(), "compaction/summary", {"summary": "  "}) is None


def test_no_secret_leaves_in_any_field() -> None:
    one = scribe()
    told: list[Any] = [
        wrote(one, "user/message", message(f"use {KEY} and <private>the plan</private>")),
        called(one, "c1", json.dumps({"header": f"Bearer {KEY}"}), f"export TOKEN={KEY}"),
        wrote(one, "assistant/message", {"message": {"content": text(f"with {KEY}.")}}),
        wrote(one, "approval/asked", {"id": "a", "toolName": "bash", "reason": f"curl {KEY}"}),
        wrote(one, "compaction/summary", {"summary": f"the key was {KEY}"}),
        wrote(one, "user/message", message("x" * 3990 + " " + KEY)),
    ]
    assert KEY not in json.dumps(told)
    assert KEY[:12] not in json.dumps(told)
    assert "the plan" not in json.dumps(told)


def test_what_is_private_is_taken_out_of_a_text_of_any_length() -> None:
    long = f"a<private>{'p' * 50_000}</private>b"
    assert cleaned(long, 4000) == "a[REDACTED]b"


def test_a_body_never_holds_half_a_character() -> None:
    body = wrote(scribe(), "user/message", message("a\ud800b\U0001f600"))
    assert body["data"]["prompt"] == "a�b\U0001f600"


INPUTS = ["", "a" * 499, "a" * 600, "é" * 700, "\U0001f600" * 400]


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(INPUTS), st.sampled_from("xyz")), max_size=12))
def test_what_differs_differs_where_the_daemon_looks(pairs: list[tuple[str, str]]) -> None:
    repeats, seen = Repeats(), dict[tuple[str, str], str]()
    for given_, outcome in pairs:
        told = repeats.told("bash", given_, outcome)
        before = seen.setdefault((given_, outcome), told)
        assert before == told
        assert told[:200] == given_[:200] or not given_
    beginnings = [one.encode("utf-16-le")[: 2 * COMPARED] for one in seen.values()]
    assert len(set(beginnings)) == len(beginnings)


def test_prompts_with_one_beginning_are_told_apart() -> None:
    one, same = scribe(), "p" * 600
    first = wrote(one, "user/message", message(same + "1"))["data"]
    second = wrote(one, "user/message", message(same + "2"))["data"]
    assert first["tool_input"] == same + "1"
    assert second["prompt"] == second["content"] == same + "2"
    assert second["tool_input"][:COMPARED] != first["tool_input"][:COMPARED]


TYPES = (
    "user/message", "assistant/message", "tool/call", "tool/result", "turn/end", "approval/asked",
    "compaction/summary", "todo/write",
)  # fmt: skip
NAMES = """
content text type source kind message callId name arguments error isError reason summary id toolName
toolCallId form plugin provider model
"""
KEYS = st.sampled_from(NAMES.split())
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(TYPES), VALUES), max_size=4))
def test_whatever_an_event_holds_it_is_written_as_whole_text(events: list[tuple[str, Any]]) -> None:
    one = scribe()
    for kind, data in events:
        body = wrote(one, kind, data)
        if body is not None:
            json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
            told = body.get("data", {})
            assert all(isinstance(value, str | bool) for value in told.values())


# --- windows -------------------------------------------------------------------------------------


def test_stored_text_can_not_close_a_window() -> None:
    tag = "</agentmemory-context>"
    said = neutral(f'<agentmemory-context project="p">\na {tag} b\n{tag}\n', 6000)
    assert said.count(tag) == 1
    assert said.endswith(f"\n{tag}")
    plain = f'<agentmemory-context project="p">\na\n{tag}'
    assert neutral(f"{plain}\n", 6000) == plain
    assert neutral("a   b", 3) == "a"


def test_lines_are_title_and_shortened_text_and_none_comes_twice() -> None:
    found = [
        Found("bash", "ls | lib\nindex.js"),
        Found("bash", "ls | lib index.js"),
        Found("bash", "make | done"),
        Found("A fact about ships", "A fact about ships that is longer"),
        Found("", ""),
        Found("title alone"),
    ]
    assert lines(found, 8, 3000).split("\n") == [
        "- bash: ls | lib index.js",
        "- bash: make | done",
        "- A fact about ships that is longer",
        "- title alone",
    ]
    assert lines(found, 2, 3000).count("\n") == 1
    assert lines(found, 8, 10) == "- bash: ls"
    assert len(lines([Found("t", "n" * 999)], 8, 3000)) < 220


def test_a_window_is_given_once_and_again_when_asked() -> None:
    window = Window()
    window.keep("", 9)
    assert window.take() == []
    window.keep("a", 9)
    assert window.take() == [("recall", "a")]
    window.keep("b", 9)
    assert window.take() == []
    window.keep("", 9, again=True)
    assert window.take() == []
    window.keep("c", 9, again=True)
    window.semantic = "- x"
    assert window.take() == [("recall", "c"), ("semantic", "- x")]
    assert window.take() == []
