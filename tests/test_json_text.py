"""JSON as we print it."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from dshloop.json_text import json_text


def test_what_json_cannot_hold_is_told_apart() -> None:
    values = [float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1.5]
    assert json.loads(json_text(values)) == [
        {"$num": "NaN"},
        {"$num": "Infinity"},
        {"$num": "-Infinity"},
        {"$num": "-0"},
        0.0,
        1.5,
    ]


def test_text_is_kept_and_lone_surrogates_escaped() -> None:
    assert json_text("部署 😀 \ud800") == '"部署 😀 \\ud800"'
    assert json_text("-0.0") == '"-0.0"'


def test_paths_become_text() -> None:
    assert json_text({"path": Path("/a")}) == '{"path": "/a"}'


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_plain_values_come_back(value: object) -> None:
    assert json.loads(json_text(value)) == value
