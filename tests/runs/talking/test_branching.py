"""The turns of a log to go back to, and when something may still be chosen."""

from __future__ import annotations

from typing import Any

from dshloop.runs.talking.branching import again, is_blank, past_turns


def event(kind: str, seq: int, **data: Any) -> dict[str, Any]:
    return {"type": kind, "seq": seq, "time": 0, "data": data}


def message(text: str, kind: str = "user") -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "source": {"kind": kind}, "id": text}


def spliced(seq: int, **data: Any) -> dict[str, Any]:
    return event("agent/inbox/spliced", seq, target="next-turn", start=0, **data)


def test_turns_have_what_a_person_said_and_where_they_end() -> None:
    events = [
        spliced(0, inserted=[message("one")]),
        event("turn/start", 1, turn=4),
        spliced(2, removedCount=1, inserted=[]),
        event("user/message", 3, **message("one")),
        event("user/message", 4, **message("recalled", "plugin")),
        event("user/message", 5, **message("steered")),
        event("turn/end", 6, turn=4, reason={"kind": "completed"}),
        spliced(7, inserted=[message("refused"), message("noise", "plugin")]),
        event("turn/start", 8, turn=5),
        event("turn/end", 9, turn=5, reason={"kind": "blocked"}),
        event("turn/start", 10, turn=6),
    ]
    found = [
        (turn.number, turn.end, [one["id"] for one in turn.said]) for turn in past_turns(events)
    ]
    assert found == [(4, 6, ["one", "steered"]), (5, 9, ["refused"]), (6, None, [])]


def test_a_log_is_blank_until_something_was_said() -> None:
    assert is_blank([])
    assert is_blank([event("agent-preset/selected", 0), event("command/run", 1)])
    assert not is_blank([event("turn/start", 0, turn=1)])
    assert not is_blank([event("user/message", 0, **message("one"))])


def test_what_is_said_again_is_another_message() -> None:
    first = message("one")
    second = again(first)
    assert second["id"] != first["id"]
    assert {**second, "id": "one"} == first
