"""Dates that a question names."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dshloop.memory.recall.dates import matches, named
from dshloop.text import question

AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC).timestamp()  # a Monday


def fits(query: str) -> list[bool]:
    """Tell for each part of a date in the question whether AT is in it."""
    return [matches(part, AT) for part in named(question(query)) if part is not None]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("what happened in May 2023", [True, True]),
        ("what happened in June 2023", [False, True]),
        ("8 May", [True, True]),
        ("May 9th, 2022", [True, False, False]),
        ("who came on Monday", [True]),
        ("who came on Sunday", [False]),
        ("the 8 o'clock meeting", []),
        ("port 8080 and 99999", []),
        ("Sept deploy", []),
        ("Sep deploy", [False]),
    ],
)
def test_a_question_names_parts_of_a_date(query: str, expected: list[bool]) -> None:
    assert fits(query) == expected


@pytest.mark.parametrize("at", [float("inf"), float("nan"), -1e30, 1e30])
def test_a_clock_that_was_far_off_matches_nothing(at: float) -> None:
    assert not matches((0, 2023), at)
