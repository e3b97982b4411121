"""Text from elsewhere on a terminal."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from dshloop.terminal import one_line, visible


def test_escape_sequences_are_shown() -> None:
    assert visible("a\x1b]0;title\x07b\x9bc") == "a\\x1b]0;title\\x07b\\x9bc"


def test_plain_text_stays() -> None:
    text = "tab\there\nnext 部署 😀 é ‍"
    assert visible(text) == text


@given(st.text(st.characters(codec=None)))
def test_nothing_that_moves_the_cursor_is_left(text: str) -> None:
    shown = visible(text)
    for char in shown:
        assert char in "\t\n" or unicodedata.category(char) not in ("Cc", "Cs")
    shown.encode("utf-8")


def test_one_line_folds_and_cuts() -> None:
    assert one_line(" a\n\n b\tc ") == "a b c"
    assert one_line("abcdef", 4) == "abc…"
