"""Windows of text within a budget."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from dshloop.memory.window import Block, body, closing, escaped, fitting, item, opening, tokens_of


def test_a_token_is_a_third_of_the_characters_rounded_up() -> None:
    assert [tokens_of("x" * length) for length in range(5)] == [0, 1, 1, 1, 2]
    assert tokens_of("部署在星期五") == 2


def test_a_block_that_does_not_fit_is_skipped_and_a_smaller_one_enters() -> None:
    blocks = [Block("a", "x" * 30), Block("b", "x" * 300), Block("c", "x" * 60)]
    chosen, spent = fitting(blocks, 35, spent=5)
    assert ([block.kind for block in chosen], spent) == (["a", "c"], 35)


def test_a_heading_is_paid_once_with_the_first_block_that_enters() -> None:
    big, small = Block("a", "x" * 90, heading="y" * 30), Block("a", "x" * 3, heading="y" * 30)
    assert fitting([big, small, small], 12) == ([small, small], 12)
    assert fitting([small], 10) == ([], 0)


def test_blocks_under_one_heading_stand_together() -> None:
    blocks = [
        Block("a", "one", heading="## A"),
        Block("b", "## alone\nrow"),
        Block("a", "two", heading="## A"),
        Block("b", "## other"),
    ]
    assert body(blocks) == "## A\none\ntwo\n\n## alone\nrow\n\n## other"


def test_attributes_are_escaped() -> None:
    assert (
        opening("t", {"project": 'a & "b" <c>'}) == '<t project="a &amp; &quot;b&quot; &lt;c&gt;">'
    )
    assert closing("t") == "</t>"


@given(st.text())
def test_stored_text_can_neither_close_a_wrapper_nor_begin_a_line(text: str) -> None:
    shown = item(text)
    assert not re.search(r"[<>\n\r\x1b\u2028]", shown)
    assert escaped(text).count("<") == 0


@given(st.lists(st.tuples(st.text(max_size=40), st.sampled_from(["", "## A", "## B"])), max_size=8),
       st.integers(min_value=0, max_value=60))  # fmt: skip
def test_what_is_chosen_fits(pairs: list[tuple[str, str]], budget: int) -> None:
    blocks = [Block("x", text, heading=heading) for text, heading in pairs]
    chosen, spent = fitting(blocks, budget)
    assert spent <= budget
    assert all(block in blocks for block in chosen)
    assert sum(tokens_of(block.text) for block in chosen) <= spent
