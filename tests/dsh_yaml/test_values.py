"""JavaScript's rules: truth, numbers, keys, equality, JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.dsh_yaml import (
    JsExpr,
    escape_surrogates,
    identity,
    order_keys,
    set_key,
    stringify,
    to_json,
    truthy,
)
from dshloop.dsh_yaml.values import is_index, number_text, text_of


def test_what_is_false() -> None:
    assert not any(map(truthy, [None, False, 0, -0.0, math.nan, ""]))
    assert all(map(truthy, [True, 1, "0", "false", [], {}, JsExpr(""), math.inf]))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e21, "1e+21"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.5e-10, "1.5e-10"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (-1234.5, "-1234.5"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        (2.0**53, "9007199254740992"),
    ],
)
def test_numbers_print_as_in_javascript(value: float, text: str) -> None:
    assert number_text(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_printed_number_is_the_same_number(value: float) -> None:
    assert float(number_text(value)) == value


def test_index_keys() -> None:
    assert all(map(is_index, ["0", "7", "10", "4294967294"]))
    assert not any(map(is_index, ["", "01", "-1", "1.5", "4294967295", "1e3", "٣", "1 ", "²"]))


def test_index_keys_come_first() -> None:
    mapping: dict[str, Any] = {"b": 1, "10": 2, "a": 3, "9": 4}
    order_keys(mapping)
    assert list(mapping) == ["9", "10", "b", "a"]
    set_key(mapping, "0", 5)
    set_key(mapping, "c", 6)
    set_key(mapping, "a", 7)
    assert list(mapping) == ["0", "9", "10", "b", "a", "c"]


def test_equality_is_strict() -> None:
    assert identity(1) == identity(1.0)
    assert identity(0) == identity(-0.0)
    assert identity(math.inf) == identity(math.inf)
    assert identity(True) != identity(1)
    assert identity("1") != identity(1)
    assert identity(None) != identity(False)
    assert identity([]) != identity([])
    assert identity(JsExpr("a")) != identity(JsExpr("a"))
    same = JsExpr("a")
    assert identity(same) == identity(same)


def test_text_of_keys() -> None:
    values = [None, True, 1.5, [1, None, "a"], {"a": 1}, JsExpr("x")]
    assert [text_of(value) for value in values] == [
        "null",
        "true",
        "1.5",
        "1,,a",
        "[object Object]",
        "[object Object]",
    ]


def test_stringify_is_json_stringify() -> None:
    value = {"a": [math.nan, -0.0, 1e21, None, True], "é\u2028": JsExpr('"\n'), "s": "\ud800\x7f"}
    assert stringify(value) == (
        '{"a":[null,0,1e+21,null,true],"é\u2028":{"__jsExpr":"\\"\\n"},"s":"\\ud800\x7f"}'
    )


def test_json_marks_what_json_cannot_hold() -> None:
    value = [math.nan, -math.inf, -0.0, 0, 1.5, JsExpr("x"), {"k": [math.inf]}]
    assert to_json(value) == [
        {"$num": "NaN"},
        {"$num": "-Infinity"},
        {"$num": "-0"},
        0,
        1.5,
        {"__jsExpr": "x"},
        {"k": [{"$num": "Infinity"}]},
    ]
    assert escape_surrogates('"\udc00😀"') == '"\\udc00😀"'


@given(st.recursive(st.text() | st.integers(-9, 9), lambda inner: st.lists(inner, max_size=3)))
def test_stringify_gives_json(value: Any) -> None:
    assert json.loads(stringify(value)) == value
