"""Server-sent events, however the bytes are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dshloop.llm import sse
from dshloop.llm.sse import EventParser, EventTooLargeError, ServerEvent


def parsed(*pieces: bytes) -> list[ServerEvent]:
    parser = EventParser()
    return [event for piece in pieces for event in parser.feed(piece)]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_every_line_end_ends_a_line(end: bytes) -> None:
    text = end.join([b"event: a", b"data: 1", b"data: 2", b"", b"data:3", b"", b""])
    assert parsed(text) == [ServerEvent("a", "1\n2"), ServerEvent("", "3")]


def test_one_blank_is_taken_and_no_more() -> None:
    assert parsed(b"data:  x \n\n") == [ServerEvent("", " x ")]
    assert parsed(b"data\n\n") == [ServerEvent("", "")]


def test_comments_ids_and_unknown_fields_are_passed_over() -> None:
    text = b": keep-alive\n\nid: 7\nretry: 10\nnonsense\ndatax: no\ndata: yes\n\n"
    assert parsed(text) == [ServerEvent("", "yes")]


def test_a_name_without_data_is_no_event_and_is_forgotten() -> None:
    assert parsed(b"event: lost\n\ndata: x\n\n") == [ServerEvent("", "x")]


def test_what_is_not_ended_by_an_empty_line_is_no_event() -> None:
    assert parsed(b"data: x\n") == []


def test_a_mark_at_the_beginning_is_taken_away_and_later_ones_stay() -> None:
    assert parsed(b"\xef", b"\xbb", b"\xbfdata: a\n\n") == [ServerEvent("", "a")]
    assert parsed(b"data: \xef\xbb\xbf\n\n") == [ServerEvent("", "\ufeff")]
    assert parsed(b"\xef\xbbdata: a\n\n") == []


def test_a_line_end_that_is_cut_in_two_is_one() -> None:
    assert parsed(b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n") == [ServerEvent("", "a\nb")]


def test_an_event_is_given_as_soon_as_its_last_byte_is_there() -> None:
    parser = EventParser()
    assert parser.feed(b"data: a\r\n\r") == [ServerEvent("", "a")]
    assert parser.feed(b"\ndata: b\n\n") == [ServerEvent("", "b")]


def test_what_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LARGEST", 100)
    with pytest.raises(EventTooLargeError):
        parsed(*[b"x" * 20] * 6)
    with pytest.raises(EventTooLargeError):
        parsed(*[b"data: " + b"x" * 20 + b"\n"] * 6)


FIELDS = st.sampled_from([b"data", b"event", b"id", b"retry", b"", b"datax"])
VALUES = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=8)


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    lines = []
    for _ in range(draw(st.integers(0, 12))):
        if draw(st.booleans()):
            lines.append(b"")
        else:
            colon = draw(st.sampled_from([b":", b": ", b""]))
            lines.append(draw(FIELDS) + colon + draw(VALUES).encode())
    ends = [draw(st.sampled_from([b"\n", b"\r", b"\r\n"])) for _ in lines]
    mark = draw(st.sampled_from([b"", sse.BOM]))
    return mark + b"".join(line + end for line, end in zip(lines, ends, strict=True))


def naive(stream: bytes) -> list[ServerEvent]:
    """Read a whole stream as the standard words it, line by line."""
    text = stream.decode().removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    events, name, data = [], "", []
    for line in text.split("\n")[:-1]:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if line == "":
            if data:
                events.append(ServerEvent(name, "\n".join(data)))
            name, data = "", []
        elif field == "data":
            data.append(value)
        elif field == "event":
            name = value
    return events


@given(streams(), st.lists(st.integers(0, 200)))
@example(b"data: a\r\n\r\n", [9])
def test_where_the_bytes_are_cut_makes_no_difference(stream: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    pieces = [stream[a:b] for a, b in pairwise(places)]
    assert parsed(*pieces) == naive(stream)
    assert parsed(*(stream[at : at + 1] for at in range(len(stream)))) == naive(stream)
