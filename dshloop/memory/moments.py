"""Moments as users type them: ISO dates, and ages such as ``7d``; in UTC, as all that we print."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, datetime
from typing import NamedTuple

from dshloop.errors import DateInvalidError

_AGE = re.compile(r"(\d{1,9})\s*(m|min|h|d|w|y)", re.I)
_SECONDS = {"m": 60, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "y": 365 * 86400}
_DAY = re.compile(r"(\d{4})-(\d\d?)(?:-(\d\d?))?")
HINT = "For example 2026-01-31, 2026-01-31T12:00Z, 2026-01, or an age: 90m, 24h, 7d, 2w."


class Moment(NamedTuple):
    """What a text names, in Unix seconds: a day or month is the span from its ``start`` to just
    before its ``end``; for what has no length both are the same."""

    start: float
    end: float


def read_moment(text: str, now: float) -> Moment:
    """Read a date, a date with a time (UTC unless it names an offset), or an age before ``now``.

    Raises DATE_INVALID.
    """
    asked = text.strip()
    found = _age(asked, now) or _days(asked) or _instant(asked)
    if found is None:
        raise DateInvalidError(f'"{text}" is no date', hint=HINT, value=text)
    return found


def read_seconds(text: str) -> float:
    """Read a length of time such as ``30d``, in seconds. Raises DATE_INVALID."""
    match = _AGE.fullmatch(text.strip())
    if match is None or not int(match[1]):
        raise DateInvalidError(
            f'"{text}" is no length of time', hint="For example 90m, 24h, 7d, 2w, 1y.", value=text
        )
    return int(match[1]) * float(_SECONDS[match[2].lower()])


def looks_like_date(text: str) -> bool:
    """Tell a date or an age from words to look for (agentmemory 3.8)."""
    asked = text.strip()
    return bool(re.match(r"\d{4}-\d\d?-\d\d?(?!\w)|\d{4}-\d\d?-\d\d?T", asked)) or bool(
        _AGE.fullmatch(asked)
    )


def _age(text: str, now: float) -> Moment | None:
    match = _AGE.fullmatch(text)
    if match is None:
        return None
    then = now - int(match[1]) * _SECONDS[match[2].lower()]
    return Moment(then, then)


def _days(text: str) -> Moment | None:
    match = _DAY.fullmatch(text)
    if match is None:
        return None
    year, month, day = int(match[1]), int(match[2]), int(match[3] or 1)
    try:
        start = datetime(year, month, day, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    days = 1 if match[3] else monthrange(year, month)[1]
    return Moment(start.timestamp(), start.timestamp() + days * 86400)


def _instant(text: str) -> Moment | None:
    if not re.match(r"\d{4}-\d\d-\d\d[T ]\d", text):
        return None
    try:
        found = datetime.fromisoformat(text)
        found = found if found.tzinfo else found.replace(tzinfo=UTC)
        return Moment(found.timestamp(), found.timestamp())
    except (ValueError, OverflowError):
        return None
