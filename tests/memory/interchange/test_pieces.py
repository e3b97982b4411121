"""A big JSON object is read bit by bit, and gives what is whole of it."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.memory.interchange import pieces as pieces_
from dshloop.memory.interchange.pieces import BrokenError, pieces

TORN = b'{"a": [1, {"b": 2}, {"c": "tor'
values: Any = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner)),
    max_leaves=8,
)


def read(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for piece in pieces(io.BytesIO(data)):
        if piece.at is None:
            found[piece.key] = piece.value
        elif isinstance(piece.at, int):
            found.setdefault(piece.key, []).append(piece.value)
        else:
            found.setdefault(piece.key, {})[piece.at] = piece.value
    return found


@given(st.dictionaries(st.text(), values), st.integers(1, 9), st.sampled_from([None, 1]))
def test_it_reads_what_a_json_reader_reads(value: Any, chunk: int, indent: Any) -> None:
    data = json.dumps(value, indent=indent, ensure_ascii=chunk % 2 == 0).encode()
    before = pieces_._CHUNK
    pieces_._CHUNK = chunk
    try:
        expected = {key: one for key, one in value.items() if one not in ([], {})}
        assert read(data) == expected
    finally:
        pieces_._CHUNK = before


@pytest.mark.parametrize("data", ["", "[]", "nothing", '{"a": tru', '{"a" 1}', "{1: 2}", "{\xff"])
def test_what_is_no_object_is_refused(data: str) -> None:
    with pytest.raises(BrokenError):
        read(data.encode("latin-1"))


def test_what_stands_before_damage_is_given() -> None:
    reading = pieces(io.BytesIO(TORN))
    assert [next(reading).value, next(reading).value] == [1, {"b": 2}]
    with pytest.raises(BrokenError, match="cut off"):
        next(reading)


def test_a_fault_in_the_middle_is_told_at_once() -> None:
    with pytest.raises(BrokenError, match="no JSON"):
        list(pieces(io.BytesIO(b'{"a": [1, {"b": }, 3' + b", 4" * 100_000 + b"]}")))
