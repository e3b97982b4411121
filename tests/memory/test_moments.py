"""Dates and ages as users type them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.errors import DateInvalidError
from dshloop.memory.moments import looks_like_date, read_moment, read_seconds

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()


def at(*parts: int) -> float:
    return datetime(*parts, tzinfo=UTC).timestamp()  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026-01-31", at(2026, 1, 31), at(2026, 2, 1)),
        ("2026-1-5", at(2026, 1, 5), at(2026, 1, 6)),
        (" 2026-01-31 ", at(2026, 1, 31), at(2026, 2, 1)),
        ("2026-02", at(2026, 2, 1), at(2026, 3, 1)),
        ("2025-12", at(2025, 12, 1), at(2026, 1, 1)),
        ("2026-01-31T12:30", at(2026, 1, 31, 12, 30), None),
        ("2026-01-31 12:30", at(2026, 1, 31, 12, 30), None),
        ("2026-01-31T12:30:05.000Z", at(2026, 1, 31, 12, 30, 5), None),
        ("2026-01-31T12:30+02:00", at(2026, 1, 31, 10, 30), None),
        ("7d", at(2026, 2, 22, 12), None),
        ("24h", at(2026, 2, 28, 12), None),
        ("90m", at(2026, 3, 1, 10, 30), None),
        ("2W", at(2026, 2, 15, 12), None),
        ("0d", NOW, None),
    ],
)
def test_dates_and_ages_are_read(text: str, start: float, end: float | None) -> None:
    assert read_moment(text, NOW) == (start, start if end is None else end)


@pytest.mark.parametrize(
    "text",
    ["", " ", "soon", "2026-13-01", "2026-02-30", "20260131", "-7d", "7", "7 parsecs", "NaN",
     "2026-01-31T25:00", "0000-01-01", "１日", "9999-12-31T23:59:60", "2026-01-31Tx"],
)  # fmt: skip
def test_what_is_no_date_is_refused_with_examples(text: str) -> None:
    with pytest.raises(DateInvalidError) as caught:
        read_moment(text, NOW)
    assert "2026-01-31" in (caught.value.hint or "")


def test_the_ends_of_the_calendar_are_no_crash() -> None:
    assert read_moment("9999-12-31", NOW).end == read_moment("9999-12", NOW).end
    assert read_moment("999999999y", NOW).start < 0


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = read_moment(text, NOW)
    except DateInvalidError:
        return
    assert found.start <= found.end


def test_lengths_of_time() -> None:
    assert read_seconds("30d") == 30 * 86400
    for text in ("", "0d", "30", "1.5h", "-1d", "2026-01-31"):
        with pytest.raises(DateInvalidError):
            read_seconds(text)


def test_words_are_told_from_dates() -> None:
    assert all(map(looks_like_date, ("2026-01-31", "2026-01-31T10:00Z", "2026-13-45", "7d")))
    assert not any(map(looks_like_date, ("deploy", "2026", "7 days ago", "2026-01-31st", "1d3")))
