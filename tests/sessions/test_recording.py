"""What a log holds for playing its session again."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dshloop.sessions.differing import differences, facts
from dshloop.sessions.recording import read_recording
from tests.transcripts.logs import event, turn

KINDS = (
    "turn/start", "turn/end", "step/start", "user/message", "assistant/chunk", "assistant/message",
    "agent/inbox/spliced", "tool/call", "tool/result", "request/header", "request/context",
    "llm/retry", "llm/retry-started", "compaction/start", "compaction/summary", "compaction/end",
)  # fmt: skip


def said(text: str, id_: str, **source: Any) -> dict[str, Any]:
    return {
        "role": "user", "id": id_, "content": [{"type": "text", "text": text}],
        "source": source or {"kind": "user"},
    }  # fmt: skip


def splice(target: str, *, start: int = 0, removed: int = 0, **more: Any) -> dict[str, Any]:
    data = {"target": target, "start": start, "inserted": [], **more}
    return event("agent/inbox/spliced", 0, {**data, "removedCount": removed} if removed else data)


def start(number: int) -> dict[str, Any]:
    return event("turn/start", 0, {"turn": number})


def step(number: int) -> dict[str, Any]:
    return event("step/start", 0, {"turn": 1, "step": number})


def end(**reason: Any) -> dict[str, Any]:
    return event("turn/end", 0, {"turn": 1, "reason": reason or {"kind": "completed"}})


def chunk(**data: Any) -> dict[str, Any]:
    return event("assistant/chunk", 0, {"turn": 1, "step": 1, "chunk": data})


def test_a_log_without_an_inbox_gives_what_was_said() -> None:
    recording = read_recording([*turn(1, 0, "one"), *turn(2, 5, "two")])
    found = [each.inputs[1][0]["content"][0]["text"] for each in recording.turns]
    assert found == ["one", "two"]


def test_what_was_taken_from_the_inbox_is_said_in_its_step() -> None:
    events = [
        splice("next-turn", inserted=[said("one", "a"), said("two", "b")]),
        start(1),
        splice("next-turn", removed=1),
        step(1),
        event("user/message", 0, said("one", "a")),
        splice("next-step", inserted=[said("also", "c")]),
        splice("next-step", removed=1),
        step(2),
        event("user/message", 0, said("also", "c")),
        end(),
        start(2),
        splice("next-turn", removed=1),
        end(kind="blocked"),
    ]
    first, second = read_recording(events).turns
    assert {n: [m["id"] for m in each] for n, each in first.inputs.items()} == {1: ["a"], 2: ["c"]}
    assert [m["id"] for m in second.inputs[1]] == ["b"]


def test_what_was_taken_back_or_comes_from_a_plugin_is_no_input() -> None:
    notice = said("x", "p", kind="plugin", plugin="p")
    events = [
        splice("next-turn", inserted=[said("gone", "a")]),
        splice("next-turn", removed=1, outcome="canceled"),
        splice("next-step", inserted=[notice]),
        start(1),
        splice("next-step", removed=1),
        step(1),
        event("user/message", 0, notice),
        end(),
    ]
    (only,) = read_recording(events).turns
    assert only.inputs == {}


def test_what_memory_recalled_has_its_place() -> None:
    recalled = said("r", "r", kind="plugin", plugin="m", form="recall")
    before = [start(1), step(1), event("user/message", 0, recalled)]
    (only,) = read_recording([*before, event("user/message", 0, said("one", "a")), end()]).turns
    assert only.entered == {1: [recalled, None]}


def test_each_request_has_its_answer() -> None:
    failure = {"message": "busy", "code": "SERVER"}
    failed = {"type": "finish", "reason": {"kind": "error", "failure": failure}}
    text = {"type": "text-delta", "index": 0, "text": "hi"}
    stop = {"type": "finish", "reason": {"kind": "stop"}}
    events = [
        start(1), step(1), chunk(**failed),
        event("llm/retry", 0, {"failure": failure}), event("llm/retry-started", 0, {}),
        chunk(**text), chunk(**stop), event("assistant/message", 0, {"message": {"content": []}}),
        step(2), end(kind="error", error=failure),
    ]  # fmt: skip
    (only,) = read_recording(events).turns
    assert [list(each.chunks) for each in only.answers] == [[failed], [text, stop], [failed]]
    assert [each.aborted for each in only.answers] == [None, None, None]


def test_an_abort_is_at_the_answer_it_cut_off() -> None:
    cause = {"kind": "parent"}
    text = {"type": "text-delta", "index": 0, "text": "hi"}
    message = {"interrupted": True, "message": {"content": [{"type": "text", "text": "hi"}]}}
    shown = [start(1), step(1), chunk(**text), event("assistant/message", 0, message)]
    silent = [start(1), step(1)]
    for events, chunks in ((shown, [text]), (silent, [])):
        (only,) = read_recording([*events, end(kind="aborted", reason=cause)]).turns
        assert [(list(each.chunks), each.aborted) for each in only.answers] == [(chunks, cause)]


def test_an_answer_without_its_chunks_is_made_of_its_message() -> None:
    call = {"type": "tool-call", "id": "c", "name": "t", "arguments": "{}"}
    events = [start(1), step(1), event("assistant/message", 0, {"message": {"content": [call]}})]
    (only,) = read_recording([*events, end()]).turns
    assert [each["type"] for each in only.answers[0].chunks] == [
        "block-start", "block-end", "finish",
    ]  # fmt: skip
    assert only.answers[0].chunks[-1]["reason"] == {"kind": "tool-calls"}


KEYS = (
    "target", "start", "removedCount", "inserted", "outcome", "message", "content", "source",
    "kind", "form", "reason", "error", "chunk", "type", "header", "config", "rawOutput",
    "interrupted", "callId", "id", "failure", "text",
)  # fmt: skip
DATA: Any = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.dictionaries(st.sampled_from(KEYS), inner, max_size=4) | st.lists(inner),
    max_leaves=6,
)


@given(st.lists(st.tuples(st.sampled_from(KINDS), DATA), max_size=12))
def test_no_events_break_it(found: list[tuple[str, Any]]) -> None:
    events = [event(kind, seq, data) for seq, (kind, data) in enumerate(found)]
    recording = read_recording(events)
    assert len(recording.turns) <= sum(kind == "turn/start" for kind, _ in found)
    assert differences(facts(events), facts(events)) == []
    assert all(each.kind == "new" for each in differences([], facts(events)))


def test_a_request_that_was_made_again_without_a_word_has_two_answers() -> None:
    long = {"message": "too long", "code": "CONTEXT_WINDOW_EXCEEDED"}
    failed = {"type": "finish", "reason": {"kind": "error", "failure": long}}
    stop = {"type": "finish", "reason": {"kind": "stop"}}
    summary = {"summary": [{"type": "text", "text": "short"}]}
    events = [
        start(1), step(1), chunk(**failed), event("compaction/summary", 0, summary),
        chunk(**stop), event("assistant/message", 0, {"message": {"content": []}}), end(),
    ]  # fmt: skip
    recording = read_recording(events)
    assert [list(each.chunks) for each in recording.turns[0].answers] == [[failed], [stop]]
    assert [each.chunks[-1]["type"] for each in recording.summaries] == ["finish"]


def compaction(kind: str, turn: int | None = 1, **data: Any) -> dict[str, Any]:
    return event(f"compaction/{kind}", 0, {"turn": turn, **data})


def test_each_request_for_a_summary_has_its_answer() -> None:
    failed, stopped = {"message": "no", "code": "AUTH"}, {"message": "stop", "code": "ABORTED"}
    came = {"summary": [{"type": "text", "text": "short"}]}
    events = [
        start(1), compaction("start"), compaction("end", error=failed), end(),
        start(2), compaction("start"), compaction("end", error=stopped), end(kind="aborted"),
        start(3), compaction("start"), end(kind="interrupted"),
        compaction("start", None), compaction("end", None, error=stopped),
        compaction("start", None),
        start(4), compaction("start"), compaction("summary", **came), compaction("end"), end(),
    ]  # fmt: skip
    recording = read_recording(events)
    found = [(each.aborted, [one["type"] for one in each.chunks]) for each in recording.summaries]
    user = {"kind": "user"}
    assert found == [
        (None, ["finish"]), (user, []), (user, []), (None, ["finish"]), (None, ["finish"]),
        (None, ["block-start", "block-end", "finish"]),
    ]  # fmt: skip
    assert [turn.compacted for turn in recording.turns] == [0, 0, 2, 0]


def test_what_requests_offered_and_were_made_with() -> None:
    tool = {"name": "read", "description": "Reads.", "parameters": {"type": "object", "x": 1}}
    first, second = {"model": "a"}, {"model": "b"}
    events = [
        start(1), event("request/header", 0, {"header": {"config": first, "tools": [tool, 7]}}),
        end(), start(2), end(),
        start(3), event("request/header", 0, {"header": {"config": second, "tools": "none"}}),
        end(),
    ]  # fmt: skip
    recording = read_recording(events)
    assert recording.config == first
    assert [turn.config for turn in recording.turns] == [first, None, second]
    assert [tuple(each) for each in recording.offered] == [tuple(tool.values())]


def test_an_answer_that_says_it_was_aborted_is_cut_there() -> None:
    cause = {"kind": "user"}
    text = {"type": "text-delta", "index": 0, "text": "hi"}
    finish = {"type": "finish", "reason": {"kind": "aborted", "failure": {}}}
    events = [start(1), step(1), chunk(**text), chunk(**finish), end(kind="aborted", reason=cause)]
    (only,) = read_recording(events).turns
    assert [(list(each.chunks), each.aborted) for each in only.answers] == [([text], cause)]
