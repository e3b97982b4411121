"""What differs between two runs of a session."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.sessions.differing import Change, differences, facts
from tests.transcripts.logs import event


def message(text: str, number: int, **more: Any) -> dict[str, Any]:
    source = {"kind": "model", "provider": "p", "model": "m"}
    content = [{"type": "text", "text": text}]
    inner = {"role": "assistant", "content": content, "source": source, "id": f"m-{number}"}
    return {"message": inner, **more}


def turn(number: int, seq: int, prompt: str, answer: str) -> list[dict[str, Any]]:
    place = {"turn": number, "step": 1}
    said = {"content": [{"type": "text", "text": prompt}], "role": "user", "id": f"u-{seq}"}
    said["source"] = {"kind": "user"}
    return [
        event("turn/start", seq, {"turn": number}),
        event("step/start", seq + 1, place),
        event("user/message", seq + 2, said, surfaceOp="append"),
        event("assistant/message", seq + 3, {**place, **message(answer, seq)}),
        event("step/end", seq + 4, place),
        event("turn/end", seq + 5, {"turn": number, "reason": {"kind": "completed"}}),
    ]


def session(*said: tuple[str, str], start: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for number, (prompt, answer) in enumerate(said, 1):
        found += turn(number, start + len(found), prompt, answer)
    return found


def compare(old: list[Any], new: list[Any], **more: Any) -> list[tuple[str, str, int]]:
    found = differences(facts(old, **more), facts(new, **more))
    return [(each.kind, each.fact.type, each.fact.turn) for each in found]


@given(st.lists(st.tuples(st.text(), st.text())), st.integers(0, 10**6))
def test_ids_times_and_seqs_are_no_difference(said: list[tuple[str, str]], start: int) -> None:
    assert compare(session(*said), session(*said, start=start)) == []


def test_another_answer_is_a_change_of_its_text() -> None:
    old, new = session(("a", "x"), ("b", "y")), session(("a", "x"), ("b", "z"))
    (found,) = differences(facts(old), facts(new))
    assert (found.kind, found.fact.type, found.fact.turn) == ("changed", "assistant/message", 2)
    assert found.changes == [Change("message.content[0].text", "y", "z")]


def test_a_turn_more_is_no_change_of_those_behind_it() -> None:
    old, new = session(("a", "x"), ("b", "y")), session(("a", "x"), ("more", "z"), ("b", "y"))
    found = compare(old, new)
    assert {kind for kind, _, _ in found} == {"new"}
    assert len(found) == 6
    assert {kind for kind, _, _ in compare(new, old)} == {"missing"}


def test_how_an_answer_was_streamed_is_no_difference() -> None:
    old = session(("a", "x"))
    chunk = event("assistant/chunk", 3, {"chunk": {"type": "text-delta", "index": 0, "text": "x"}})
    assert compare(old, [*old[:3], chunk, *old[3:]]) == []


def test_what_was_streamed_before_a_failure_is_compared() -> None:
    def failed(*texts: str) -> list[dict[str, Any]]:
        whole = session(("a", "x"))
        pieces = [{"type": "text-delta", "index": 0, "text": text} for text in texts]
        finish = {"type": "finish", "reason": {"kind": "error", "failure": {"code": "AUTH"}}}
        chunks = [event("assistant/chunk", 3, {"chunk": each}) for each in (*pieces, finish)]
        return [*whole[:3], *chunks, *whole[4:]]

    assert compare(failed("so ", "far"), failed("so far")) == []
    assert compare(failed("so far"), failed("so")) == [("changed", "assistant/chunk", 1)]


def test_a_killed_turn_is_like_an_aborted_one() -> None:
    def cut(*events: dict[str, Any], reason: Any) -> list[dict[str, Any]]:
        whole = session(("a", "x"))
        end = event("turn/end", 9, {"turn": 1, "reason": reason})
        return [*whole[:3], *events, whole[4], end]

    piece = {"type": "text-delta", "index": 0, "text": "so far"}
    killed = cut(event("assistant/chunk", 3, {"chunk": piece}), reason={"kind": "interrupted"})
    said = event("assistant/message", 3, message("so far", 1, interrupted=True))
    aborted = cut(said, reason={"kind": "aborted", "reason": {"kind": "user"}})
    assert compare(killed, aborted) == []


def test_the_order_in_which_results_came_is_no_difference() -> None:
    def calls(order: str) -> list[dict[str, Any]]:
        whole = session(("a", "x"))
        made = {
            "c": event("tool/call", 4, {"callId": "1", "name": "one", "arguments": "{}"}),
            "d": event("tool/call", 5, {"callId": "2", "name": "two", "arguments": "{}"}),
            "r": event("tool/result", 6, {"message": {"content": ["1"]}}),
            "s": event("tool/result", 7, {"message": {"content": ["2"]}}),
        }
        return [*whole[:4], *(made[name] for name in order), *whole[4:]]

    assert compare(calls("cdrs"), calls("crds")) == []
    assert compare(calls("cdrs"), calls("cdr")) == [("missing", "tool/result", 1)]


@pytest.mark.parametrize("ours", [True, False])
def test_what_a_foreign_harness_put_in_counts_for_our_own_logs_only(ours: bool) -> None:
    old = session(("a", "x"))
    source = {"kind": "plugin", "plugin": "context"}
    added = event("user/message", 3, {"content": [], "role": "user", "source": source})
    found = compare([*old[:3], added, *old[3:]], old, ours=ours)
    assert found == ([("missing", "user/message", 1)] if ours else [])


def test_a_request_says_what_it_is_made_with_only_when_that_is_new() -> None:
    def header(model: str, reason: str) -> dict[str, Any]:
        return event(
            "request/header", 3, {"header": {"config": {"model": model}}, "reason": reason}
        )

    one, two = session(("a", "x")), turn(2, 20, "b", "y")
    old = [*one[:3], header("m", "initial"), *one[3:], *two[:3], header("m", "resume"), *two[3:]]
    assert compare(old, [*one[:3], header("m", "initial"), *one[3:], *two]) == []
    other = [*one[:3], header("n", "initial"), *one[3:], *two]
    assert compare(old, other) == [("changed", "request/header", 1)]
