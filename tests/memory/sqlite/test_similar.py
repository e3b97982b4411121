"""Whether two texts say the same."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies

from dshloop.memory.sqlite.similar import NEAR, difference, replaces, similarity, word_set
from tests.memory import questions

WORDS = strategies.lists(
    strategies.sampled_from(
        ["the", "cache", "is", "slow", "Alice", "runs", "jwt.ts", "8080", "twice"]
    )
)


def near(one: str, other: str) -> float:
    return similarity(word_set(one), word_set(other))


def test_signs_case_and_short_words_do_not_count() -> None:
    assert near("We cache it, always!", "cache always") == 1.0
    assert near("cafe\u0301 au lait", "caf\u00e9 lait") == 1.0


def test_texts_without_words_are_equal_or_not() -> None:
    assert near("a b", " A B ") == 1.0
    assert near("a b", "a c") == 0.0
    assert near("", "a") == 0.0


def test_unspaced_texts_are_compared_by_pairs() -> None:
    assert near("日志保存在目录中", "日志保存在目录中。") == 1.0
    assert 0 < near("日志保存在目录中", "日志不保存在目录中") < 1
    assert near("日志保存在", "完全不同的话") == 0.0


@pytest.mark.parametrize(("one", "other"), questions.APART)
def test_numbers_names_and_identifiers_keep_texts_apart(one: str, other: str) -> None:
    assert difference(one, other) is not None
    assert difference(other, one) is not None


@pytest.mark.parametrize(("one", "other"), questions.SAME)
def test_more_words_and_other_forms_do_not(one: str, other: str) -> None:
    assert near(one, other) > NEAR
    assert difference(one, other) is None
    assert difference(other, one) is None


def test_another_word_is_not_another_fact() -> None:
    assert difference("we deploy each week", "we deploy every week") == "word"
    assert difference("tabs over spaces", "spaces over tabs") == "word"
    assert difference("we deploy on port 80", "we deploy at port 81") == "fact"
    assert difference("it is on", "it is not on") == "fact"
    assert difference("it is on", "It is on: always") is None
    assert difference("Caf\u00e9 au lait", "Cafe\u0301 au lait, daily") is None


def test_what_leaves_words_out_takes_no_place() -> None:
    long, short = "the rota is alice, bob and carol", "the rota is alice and carol"
    assert replaces(long, short)
    assert not replaces(short, long)
    assert replaces("rota: alice and carol", "the rota: alice and carol")
    assert replaces("deploys happen then", "deploys do happen then")
    assert not replaces("deploys happen on Fridays", "deploys happen on Mondays")
    assert not replaces("deploy from main", "deploy only from main")


@given(WORDS)
def test_a_text_is_never_kept_apart_from_itself(words: list[str]) -> None:
    text = " ".join(words)
    assert difference(text, text) is None
    assert near(text, text) == 1.0


@given(WORDS, WORDS)
def test_both_ways_are_the_same(one: list[str], other: list[str]) -> None:
    first, second = " ".join(one), " ".join(other)
    assert near(first, second) == near(second, first)
    assert difference(first, second) == difference(second, first)


@given(strategies.text(), strategies.text())
def test_any_text_can_be_compared(one: str, other: str) -> None:
    assert 0.0 <= near(one, other) <= 1.0
    assert difference(one, other) == difference(other, one)


def test_long_texts_are_compared() -> None:
    words = " ".join(f"straw{number}" for number in range(300_000))
    blob = "x" * 2_000_000
    assert near(words, words + " more") > NEAR
    assert difference(words, words + " 1") is not None
    assert near(blob, blob + "y") == 0.0
    assert difference(blob, blob) is None
    assert difference(f"{blob} then", f"{blob} now") == "word"
    assert difference(blob, blob + "y") == "fact"
    assert difference("\u6570" * 1_000_000, "\u636e" * 1_000_000) == "fact"
