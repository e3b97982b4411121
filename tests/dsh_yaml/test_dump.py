"""The writer: js-yaml's text, which reads back."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.dsh_yaml import JsExpr, dump, load, order_keys
from dshloop.dsh_yaml.values import number
from dshloop.errors import DshYamlUnwritableError

LONG = "word " * 30 + "end"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", "''\n"),
        ("yes", "'yes'\n"),
        ("1:20", "'1:20'\n"),
        ("a: b", "'a: b'\n"),
        ("it's", "it's\n"),
        ("'a", "'''a'\n"),
        ("a\tb", '"a\\tb"\n'),
        ("\ud800", '"\\uD800"\n'),
        ("a\nb", "|-\n  a\n  b\n"),
        (" a\nb\n\n", "|2+\n   a\n  b\n\n"),
        ({"k": "a\n"}, "k: |\n  a\n"),
        ([[1, [2]], [], {}], "- - 1\n  - - 2\n- []\n- {}\n"),
        ({"a": {"b": [{"c": 1, "d": {}}]}}, "a:\n  b:\n    - c: 1\n      d: {}\n"),
        ({"y": 1, "1": 2, "a\nb": 3}, "'y': 1\n'1': 2\n\"a\\nb\": 3\n"),
        (JsExpr("x: y"), "!!js 'x: y'\n"),
        ({"f": JsExpr("a\nb\n")}, "f: !!js |\n  a\n  b\n"),
        ({"__jsExpr": "x", "other": 1}, "!!js x\n"),
        ({"v": {"__jsExpr": ["a"]}}, "v: !!js \n  - a\n"),
        ([5e-324, 1e-7, 1.5e-9, 1e21, -0.0, math.inf, math.nan], None),
        ("x" * 90, ">-\n  " + "x" * 90 + "\n"),
        ({"k": " " + LONG}, "k: ' " + LONG + "'\n"),
    ],
)
def test_values_are_written_as_by_js_yaml(value: Any, text: str | None) -> None:
    if text is None:
        text = "- 5.e-324\n- 1.e-7\n- 1.5e-9\n- 1e+21\n- -0.0\n- .inf\n- .nan\n"
    assert dump(value) == text


def test_long_texts_fold_at_the_width_left() -> None:
    lines = dump({"a": {"b": LONG}}).split("\n")
    assert lines[:2] == ["a:", "  b: >-"]
    assert max(map(len, lines)) <= 80
    assert len(lines[2]) > 70


def test_folding_counts_utf16_units() -> None:
    assert dump("😀" * 39 + " a").startswith(">-") is True
    assert dump("é" * 39 + " a").startswith(">-") is False


def test_deep_texts_keep_forty_columns() -> None:
    value: Any = "x" * 38 + " y"
    for _ in range(60):
        value = [value]
    assert dump(value).endswith("x y\n")


def test_keys_longer_than_1024_are_explicit() -> None:
    assert dump({"k" * 1024: 1}) == "k" * 1024 + ": 1\n"
    assert dump({"k" * 1025: {"a": 1}}) == "? " + "k" * 1025 + "\n: a: 1\n"


def test_a_value_that_contains_itself_is_refused() -> None:
    value = load("&a [*a]")
    with pytest.raises(DshYamlUnwritableError, match="contains itself"):
        dump(value)


def test_aliases_that_multiply_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(DshYamlUnwritableError, match="entries"):
        dump(load("\n".join(lines)))


def test_aliases_that_nest_too_deep_are_refused() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 400)]
    with pytest.raises(DshYamlUnwritableError, match="levels deep"):
        dump(load("\n".join(lines)))


def test_a_number_under_js_expr_is_refused() -> None:
    with pytest.raises(DshYamlUnwritableError, match="__jsExpr"):
        dump({"__jsExpr": 5})


def ordered(value: Any) -> Any:
    if isinstance(value, dict):
        value = {key: ordered(item) for key, item in value.items()}
        order_keys(value)
    return [ordered(item) for item in value] if isinstance(value, list) else value


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False).map(number)
    | st.text(st.characters(codec="utf-8"), max_size=100)
    | st.text("ab :#-'\"\n\t\\[]{}0123e.x中😀", max_size=150)
    | st.lists(st.sampled_from(["word", "longerword", "\n", " ", "中文", "- "]), max_size=60).map(
        " ".join
    )
    | st.text(max_size=20).map(JsExpr)
)
KEYS = st.text("abyn019 :#-\n中'é", max_size=8).filter(lambda key: key != "__jsExpr")
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
).map(lambda value: [ordered(value)])  # js-yaml can't read all that it writes for a lone string


def alike(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(alike(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(alike, left, right))
    return type(left) is type(right) and repr(left) == repr(right)


@given(VALUES)
def test_what_is_written_reads_back(value: Any) -> None:
    assert alike(load(dump(value)), value)


@given(VALUES)
def test_writing_twice_gives_the_same_text(value: Any) -> None:
    text = dump(value)
    assert dump(load(text)) == text
