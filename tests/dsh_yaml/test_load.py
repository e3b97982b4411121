"""The reader: values, shared references, errors at js-yaml's places."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.dsh_yaml import JsExpr, load
from dshloop.errors import DshYamlInvalidError


def refusal(text: str | bytes) -> str:
    with pytest.raises(DshYamlInvalidError) as raised:
        load(text, source="f.yml")
    details = raised.value.details
    assert details["file"] == "f.yml"
    return f"{details['reason']} ({details['line']}:{details['column']})"


def test_empty_texts_are_null() -> None:
    for text in ("", "\n", "# only a comment\n", "---\n...\n", "~"):
        assert load(text) is None


def test_numbers_are_doubles() -> None:
    value = load("[9007199254740993, -0, -00, -0.0, 1e400, 0x1F, 08, 1_0, -.5, .5, '1']")
    assert value[0] == 9007199254740992
    assert isinstance(value[0], float)
    assert [math.copysign(1, number) for number in value[1:4]] == [1, -1, -1]
    assert value[4:] == ["1e400", 31, 8, "1_0", "-.5", 0.5, "1"]


def test_more_digits_than_a_double_has_are_text() -> None:
    digits = "9" * 5000
    assert load(digits) == digits
    assert load("0x" + "f" * 300) == "0x" + "f" * 300
    assert load("0" * 5000 + "7") == 7


def test_an_alias_is_the_very_object() -> None:
    value = load("a: &x {k: 1}\nb: *x\nc: &l [1]\nd: *l\n")
    assert value["a"] is value["b"]
    assert value["c"] is value["d"]


def test_a_reordered_mapping_stays_the_object_its_alias_names() -> None:
    value = load("- &x {b: 1, 0: 2}\n- *x\n")
    assert value[0] is value[1]
    assert list(value[0]) == ["0", "b"]


def test_a_mapping_may_contain_itself() -> None:
    value = load("&a\nself: *a\n")
    assert value["self"] is value


def test_keys_are_strings_in_the_order_of_javascript() -> None:
    value = load(
        "{z: 1, 10: 2, 9: 3, 01: 4, 1.50: 5, .inf: 6, ~: 7, true: 8, [1, ~]: 9, {a: 1}: 0}"
    )
    assert list(value) == [
        "1",
        "9",
        "10",
        "z",
        "1.5",
        "Infinity",
        "null",
        "true",
        "1,",
        "[object Object]",
    ]


def test_expressions_keep_their_source() -> None:
    assert load("a: !!js process.env.X\nb: !!js |\n  f()\n") == {
        "a": JsExpr("process.env.X"),
        "b": JsExpr("f()\n"),
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: 1\na: 2\n", "duplicated mapping key (2:1)"),
        ("{1: a, '1': b}", "duplicated mapping key (1:8)"),
        ("a: *b\n", 'unidentified alias "b" (1:6)'),
        ("a:\n\t- b\n", "tab characters must not be used in indentation (2:1)"),
        ("a: - b\n", "bad indentation of a mapping entry (1:4)"),
        ("a: @b\n", "bad indentation of a mapping entry (1:4)"),
        ("a: %b\n", "bad indentation of a mapping entry (1:4)"),
        ("[a, , b]\n", "expected the node content, but found ',' (1:5)"),
        ("[a b\n", "unexpected end of the stream within a flow collection (2:1)"),
        ('"a\x01"\n', "expected valid JSON character (1:4)"),
        ("a: b\x7f\n", "the stream contains non-printable characters (1:6)"),
        ("a: 1\nb: c\x00d\n", "null byte is not allowed in input (2:5)"),
        ("a: !!set {b}\n", "unknown tag !<tag:yaml.org,2002:set> (1:13)"),
        ("a: !!js [b]\n", "unknown tag !<tag:yaml.org,2002:js> (1:12)"),
        ("a: !!js\n", "cannot resolve a node with !<tag:yaml.org,2002:js> explicit tag (2:1)"),
        ("a: !!int x\n", "cannot resolve a node with !<tag:yaml.org,2002:int> explicit tag (1:11)"),
        ("a: |x\n", "a line break is expected (1:5)"),
        (
            "a: |0\n",
            "bad explicit indentation width of a block scalar; it cannot be less than one (1:5)",
        ),
        ("%YAML 2.0\n---\na\n", "unacceptable YAML version of the document (2:1)"),
        ("%TAG !e! ,a\n", "ill-formed tag prefix (second argument) of the TAG directive (2:1)"),
        ("- a\n---\n- b\n", "expected a single document in the stream, but found more (2:1)"),
        ('"\\ud"', "expected hexadecimal character (1:5)"),
        ("'😀😀' x\n", "end of the stream or a document separator is expected (1:8)"),
    ],
)
def test_refusals_name_the_place(text: str, reason: str) -> None:
    assert refusal(text) == reason


def test_the_snippet_points_at_the_place() -> None:
    with pytest.raises(DshYamlInvalidError) as raised:
        load("a: 1\nb: @x\nc: 2\n", source="f.yml")
    assert raised.value.details["snippet"] == " 1 | a: 1\n 2 | b: @x\n--------^\n 3 | c: 2"


def test_a_snippet_shortens_long_lines() -> None:
    with pytest.raises(DshYamlInvalidError) as raised:
        load("a: '" + "x" * 200 + "' y " + "z" * 200)
    lines = raised.value.details["snippet"].split("\n")
    assert max(map(len, lines)) < 85
    assert " ... " in lines[0]
    assert lines[0][len(lines[1]) - 1] == "y"


@pytest.mark.parametrize(
    ("depth", "text"),
    [
        (99, "[" * 99 + "]" * 99),
        (99, "".join("  " * n + "a:\n" for n in range(98)) + "  " * 98 + "a: 1\n"),
        (99, "- " * 98 + "-\n"),
    ],
)
def test_ninety_nine_levels_pass(depth: int, text: str) -> None:
    value = load(text)
    for _ in range(depth - 1):
        value = value[0] if isinstance(value, list) else value["a"]
    assert value in ([], [None], {"a": 1})


@pytest.mark.parametrize("text", ["[" * 100 + "]" * 100, "- " * 99 + "- a\n", "{a: " * 200_000])
def test_deeper_texts_are_refused_without_exhausting_the_stack(text: str) -> None:
    assert refusal(text).startswith("nesting exceeded maxDepth (100)")


def test_bytes_that_are_no_utf8_become_the_replacement_character() -> None:
    assert load(b"a: \xff\xfe b\n") == {"a": "\ufffd\ufffd b"}
    assert load(b"\xef\xbb\xbfa: 1\r\nb: |\r\n  x\r\n  y\r\n") == {"a": 1, "b": "x\ny\n"}


def test_surrogate_escapes_join() -> None:
    assert load('"\\ud83d\\ude00 \\ud83d \\U0001F600"') == "😀 \ud83d 😀"


def test_reading_needs_no_other_yaml_library() -> None:
    assert "yaml" not in sys.modules or load("a: 1") == {"a": 1}


CHARACTERS = "a1é😀 \n\t[]{},'\"#%@\\\x00"
MARKERS = ["  ", "- ", ": ", "? ", "&x ", "*x", "<<", "\r\n", "!!js ", "|\n", ">\n", "---\n"]
FRAGMENTS = st.sampled_from([*CHARACTERS, *MARKERS])


def read_or_refused(text: str) -> DshYamlInvalidError | None:
    try:
        load(text)
    except DshYamlInvalidError as error:
        return error
    return None


@given(st.lists(FRAGMENTS, max_size=30).map("".join))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    refused = read_or_refused(text)
    if refused is not None:
        assert 1 <= refused.details["line"] <= text.count("\n") + text.count("\r") + 2
        assert refused.details["column"] >= 1


@given(st.text(max_size=60))
def test_any_characters_are_read_or_refused(text: str) -> None:
    refused = read_or_refused(text)
    assert refused is None or refused.details["reason"]
