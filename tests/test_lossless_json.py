"""Properties of lossless JSON: what is accepted reads back the same, and copies are detached."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.lossless_json import NotLossless, js_number, js_text, js_trim, snapshot

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_categories=())),
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


@given(values)
def test_what_is_accepted_reads_back_as_the_same_value(value: Any) -> None:
    copy = accepted(value)
    if copy is _MISSING:
        return
    assert copy == value
    read = json.loads(js_text(copy), parse_int=float)
    assert read == json.loads(json.dumps(value), parse_int=float)
    assert js_text(read) == js_text(copy)


_MISSING = object()


def accepted(value: Any) -> Any:
    """Give a copy; of a refused value nothing, after looking at the place that is named."""
    try:
        return snapshot(value)
    except NotLossless as fault:
        place = _at(value, fault.pointer)
    assert place is not _MISSING
    return _MISSING


def _at(value: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        value = value[int(name)] if isinstance(value, list) else value.get(name, _MISSING)
    return value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_keep_their_value(number: float) -> None:
    text = js_number(number)
    assert float(text) == number
    assert not text.endswith(".0")
    if 1e-6 <= abs(number) < 1e21:
        assert "e" not in text


def test_a_copy_is_detached() -> None:
    inner = [1]
    value = {"a": inner, "b": inner}
    copy = snapshot(value)
    inner.append(2)
    value["c"] = []
    assert copy == {"a": [1], "b": [1]}
    assert copy["a"] is not copy["b"]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1e21, "1e+21"),
        (1.5e-7, "1.5e-7"),
        (1e-6, "0.000001"),
        (-2.50, "-2.5"),
        (2**60, "1152921504606847000"),
        (10**22, "1e+22"),
        (12e20, "1.2e+21"),
    ],
)
def test_numbers_are_spelled_as_javascript_spells_them(number: float, text: str) -> None:
    assert js_number(number) == text


def test_trimming_is_javascripts() -> None:
    assert js_trim("\ufeff\u00a0 a\u0085 \u3000") == "a\u0085"
