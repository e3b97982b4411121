"""Closing a turn that was left open."""

from __future__ import annotations

from typing import Any

from dshloop.transcripts.closers import NOT_STARTED, UNKNOWN_OUTCOME, closers_of
from tests.transcripts.logs import event, turn

CALLS = [
    {"type": "text", "text": "Looking."},
    {"type": "tool-call", "id": "a", "name": "read", "arguments": "{}"},
    {"type": "tool-call", "id": "b", "name": "read", "arguments": "{}"},
    {"type": "tool-call", "id": "c", "name": "read", "arguments": "{}"},
]


def step_with_calls() -> list[dict[str, Any]]:
    place = {"turn": 1, "step": 1}
    return [
        *turn(1, 0)[:3],
        event("assistant/message", 3, {**place, "message": {"content": CALLS}}),
        event("tool/call", 4, {**place, "callId": "a"}),
        event("tool/call", 5, {**place, "callId": "b"}),
        event("tool/result", 6, {**place, "message": {"source": {"kind": "tool", "callId": "a"}}}),
    ]


def test_a_closed_log_needs_none() -> None:
    assert closers_of(turn(1, 0), 0) == []
    assert closers_of([], 0) == []


def test_an_open_step_is_closed_before_its_turn() -> None:
    closing = closers_of(turn(3, 0)[:3], 0)
    assert closing == [
        event("step/end", 3, {"turn": 3, "step": 1}, time=1002),
        event("turn/end", 4, {"turn": 3, "reason": {"kind": "interrupted"}}, time=1002),
    ]


def test_a_turn_between_steps_gets_only_its_end() -> None:
    assert [each["type"] for each in closers_of(turn(1, 0)[:4], 0)] == ["turn/end"]
    assert [each["type"] for each in closers_of(turn(1, 0)[:1], 0)] == ["turn/end"]


def test_calls_without_results_are_answered_in_order() -> None:
    closing = closers_of(step_with_calls(), 0)
    assert [each["type"] for each in closing] == [
        "tool/result",
        "tool/result",
        "step/end",
        "turn/end",
    ]
    unknown, unstarted = closing[:2]
    assert unknown["sourceEventSeqs"] == [5]
    assert unknown["data"]["error"]["code"] == "TOOL_OUTCOME_UNKNOWN"
    assert "sourceEventSeqs" not in unstarted
    assert unstarted["data"]["error"]["code"] == "TOOL_NOT_STARTED"
    assert {each["time"] for each in closing} == {1006}
    assert [each["seq"] for each in closing] == [7, 8, 9, 10]


def test_lost_results_have_the_shape_of_their_version() -> None:
    old = closers_of(step_with_calls(), 0)[0]["data"]["message"]
    assert old["id"] == "interrupted-tool-result-b-7"
    assert old["role"] == "user"
    assert old["content"] == [
        {
            "type": "tool-result",
            "toolCallId": "b",
            "isError": True,
            "content": [{"type": "text", "text": UNKNOWN_OUTCOME}],
        }
    ]
    new = closers_of(step_with_calls(), 4)[1]["data"]["message"]
    assert (new["role"], new["toolCallId"], new["isError"]) == ("tool", "c", True)
    assert new["content"] == [{"type": "text", "text": NOT_STARTED}]


def test_closing_twice_changes_nothing() -> None:
    events = step_with_calls()
    assert closers_of([*events, *closers_of(events, 0)], 0) == []
