"""Text and words as PostgreSQL takes them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dshloop.memory.postgres.words import asked, fitting, original, vector

ANY = st.text(st.characters(codec=None) | st.sampled_from("\0\ud800\ufdd0\udfff0aé"))


@given(ANY)
def test_any_text_is_made_to_fit_and_given_back(text: str) -> None:
    fit = fitting(text)
    assert "\0" not in fit
    fit.encode()
    assert original(fit) == text


def test_a_word_says_where_it_stands() -> None:
    indexed = ("deploy", "we deploy it's", "", "a\\b.py", "")
    assert vector(indexed) == r"'deploy':1A,2B 'we':2B 'it''s':2B 'a\\b.py':4D"


def test_a_question_can_be_about_one_field() -> None:
    assert asked("it's") == "'it''s'"
    assert asked("deploy", "title", "concepts") == "'deploy':AC"


def test_what_is_too_long_or_too_much_is_left_out() -> None:
    long = "x" * 3_000
    many = " ".join(f"{number:0100}" for number in range(20_000))
    written = vector(("", f"{long} short {many}", "", "", ""))
    assert long not in written
    assert written.startswith("'short':2B")
    assert len(written) < 1_100_000
