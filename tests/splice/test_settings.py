"""Edits of a YAML mapping that leave every other byte alone."""

from __future__ import annotations

import difflib

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dshloop.errors import SpliceRefusedError
from dshloop.splice import set_value, unset_value

TEXT = """\
# my settings
profile: web   # the usual one

memory:
  # where it is
  store: embedded
  other: 'kept'
list: [1, 2]
"""


def changed_lines(before: str, after: str) -> list[str]:
    diff = difflib.ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True))
    return [line for line in diff if line[0] in "+-"]


def test_set_changes_one_line_and_keeps_its_comment() -> None:
    after = set_value(TEXT, ["profile"], "acp")
    assert changed_lines(TEXT, after) == [
        "- profile: web   # the usual one\n",
        "+ profile: acp   # the usual one\n",
    ]


def test_set_adds_a_key_behind_its_neighbours() -> None:
    after = set_value(TEXT, ["memory", "semantic"], True)
    assert changed_lines(TEXT, after) == ["+   semantic: true\n"]
    assert yaml.safe_load(after)["memory"] == {
        "store": "embedded",
        "other": "kept",
        "semantic": True,
    }


def test_set_makes_missing_mappings() -> None:
    assert set_value("", ["a", "b"], "x") == "a:\n  b: x\n"
    assert set_value("# only a comment\n", ["a"], "x") == "# only a comment\na: x\n"
    assert set_value("a:\n", ["a", "b"], 1) == "a: {b: 1}\n"
    assert set_value("a: {}\n", ["a", "b"], 1) == "a: {b: 1}\n"
    assert set_value("a: {c: 2}  # x\n", ["a", "b"], 1) == "a: {c: 2, b: 1}  # x\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_line_ends_and_byte_order_mark_stay(newline: str, bom: str) -> None:
    before = bom + TEXT.replace("\n", newline)
    after = set_value(before, ["memory", "store"], "postgres")
    assert after == before.replace("embedded", "postgres")
    added = set_value(before, ["memory", "x"], "y")
    assert added.startswith(bom)
    assert "\n" not in added.replace(newline, "")


def test_a_missing_final_newline_stays_missing() -> None:
    assert set_value("a: 1", ["b"], 2) == "a: 1\nb: 2"
    assert set_value("a: 1", ["a"], 2) == "a: 2"


def test_unset_takes_the_line_and_an_emptied_parent() -> None:
    assert changed_lines(TEXT, unset_value(TEXT, ["memory", "other"])) == ["-   other: 'kept'\n"]
    assert unset_value("a:\n  b: 1\nc: 2\n", ["a", "b"]) == "c: 2\n"
    with pytest.raises(KeyError):
        unset_value(TEXT, ["nope"])


def test_text_that_would_read_as_something_else_is_quoted() -> None:
    for value in ("true", "12", "null", "a: b", "- x", "#c", "", " x", "x ", "[a", "'q'", "1e3"):
        assert yaml.safe_load(set_value("", ["k"], value)) == {"k": value}


def test_a_document_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(SpliceRefusedError):
        set_value("- a\n", ["k"], "v")
    with pytest.raises(SpliceRefusedError):
        set_value("a: [1]\n", ["a", "b"], "v")


KEYS = st.sampled_from(["a", "b", "c", "profile"])
SCALARS = st.one_of(st.booleans(), st.integers(), st.text(max_size=12), st.none())
DOCUMENTS = st.dictionaries(KEYS, st.one_of(SCALARS, st.dictionaries(KEYS, SCALARS)), min_size=1)


@settings(max_examples=300)
@given(DOCUMENTS, KEYS, SCALARS, st.booleans())
def test_an_edit_does_what_it_says_and_nothing_else(
    document: dict[str, object], key: str, value: object, flow: bool
) -> None:
    text = yaml.safe_dump(document, default_flow_style=flow, sort_keys=False, allow_unicode=True)
    after = set_value(text, [key], value)
    # PyYAML itself doesn't read back all that it writes (U+0085)
    assert yaml.safe_load(after) == {**yaml.safe_load(text), key: value}
    before_lines, after_lines = text.splitlines(), after.splitlines()
    if not flow and key not in document:
        assert [line for line in after_lines if line in before_lines] == before_lines
