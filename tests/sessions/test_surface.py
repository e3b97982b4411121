"""What the model sees."""

from __future__ import annotations

from dshloop.sessions.surface import Surface
from tests.transcripts.logs import event


def said(seq: int, text: str, operation: object = "append") -> dict:
    return event("user/message", seq, {"role": "user", "text": text}, surfaceOp=operation)


def test_a_replacement_stands_where_the_replaced_stood() -> None:
    events = [
        said(0, "a"),
        event("turn/start", 1, {}),
        said(2, "b"),
        said(3, "c"),
        said(4, "summary", {"op": "replace", "start": 0, "end": 2}),
        said(5, "d"),
    ]
    assert [node["seq"] for node in Surface(events).nodes] == [4, 3, 5]


def test_empty_answers_are_not_in_the_history() -> None:
    place = {"turn": 1, "step": 1}
    full = {"role": "assistant", "content": [{"type": "text", "text": "x"}]}
    events = [
        said(0, "a"),
        event("assistant/message", 1, {**place, "message": {"content": []}}, surfaceOp="append"),
        event("assistant/message", 2, {**place, "message": full}, surfaceOp="append"),
    ]
    assert Surface(events).messages() == [{"role": "user", "text": "a"}, full]


def test_a_replacement_may_cover_an_earlier_one_whose_number_is_higher() -> None:
    events = [said(seq, str(seq)) for seq in range(1, 5)]
    first = said(10, "first", {"op": "replace", "start": 1, "end": 2})
    second = said(20, "second", {"op": "replace", "startSeq": 10, "endSeq": 3})
    surface = Surface([*events, first, said(11, "11")])
    assert [node["seq"] for node in surface.nodes] == [10, 3, 4, 11]
    surface.see(second)
    assert [node["seq"] for node in surface.nodes] == [20, 4, 11]
    assert [message["text"] for message in surface.messages()] == ["second", "4", "11"]


def test_what_it_gave_stays_as_it_was() -> None:
    surface = Surface([said(0, "a")])
    before = surface.messages()
    surface.see(said(1, "b"))
    surface.messages().clear()
    assert [message["text"] for message in before] == ["a"]
    assert [message["text"] for message in surface.messages()] == ["a", "b"]
