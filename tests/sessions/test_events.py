"""Writing events."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.sessions.events import encode_line, new_event, new_header

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES)
def test_lines_come_back_and_hold_one_line_end(data: object) -> None:
    line = encode_line({"data": data})
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"data": data}


def test_lone_surrogates_become_escapes() -> None:
    assert encode_line({"a": "\ud800é"}) == b'{"a":"\\ud800\xc3\xa9"}\n'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.0])
def test_lossy_numbers_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"JSON|kept"):
        encode_line({"a": [value]})


def test_text_that_looks_like_minus_zero_is_fine() -> None:
    assert json.loads(encode_line({"a": "-0.0"})) == {"a": "-0.0"}


def test_surface_events_are_appended_to_the_surface() -> None:
    assert new_event("user/message", {}, seq=0, time=1)["surfaceOp"] == "append"
    assert "surfaceOp" not in new_event("turn/start", {}, seq=0, time=1)
    with pytest.raises(ValueError, match="surfaceOp"):
        new_event("turn/start", {}, seq=0, time=1, surface_op="append")


def test_unknown_types_must_be_ignorable() -> None:
    with pytest.raises(ValueError, match="no event type"):
        new_event("mine/own", {}, seq=0, time=1)
    assert new_event("mine/own", {}, seq=0, time=1, ignorable=True)["ignorable"] is True


def test_absent_header_values_are_left_out() -> None:
    assert new_header("s", created_at=5, cwd=None) == {
        "type": "session",
        "version": 0,
        "id": "s",
        "createdAt": 5,
        "delegationDepth": 0,
    }
