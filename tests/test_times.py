"""Moments as text, and ids that sort by time."""

from __future__ import annotations

import uuid

import pytest

from dshloop.times import iso_time, uuid7_digits


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.25, "1970-01-01T00:00:00.250Z"),
        (1e18, "1970-01-01T00:00:00.000Z"),
        (float("nan"), "1970-01-01T00:00:00.000Z"),
        (1_796_048_000, "2026-11-30T14:13:20.000Z"),
    ],
)
def test_a_moment_is_utc_to_the_millisecond(seconds: float, text: str) -> None:
    assert iso_time(seconds) == text


def test_digits_are_those_of_a_uuid7_and_sort_by_time() -> None:
    made = [uuid7_digits(1_700_000_000 + number) for number in range(20)]
    assert made == sorted(made)
    assert {uuid.UUID(each).version for each in made} == {7}
    assert {uuid.UUID(each).variant for each in made} == {uuid.RFC_4122}
    assert uuid7_digits(1) != uuid7_digits(1)
