"""Reading the fields of rows that other programs wrote: each function takes anything JSON has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MOST = (1 << 63) - 1
"""The largest integer that a store holds."""


class RowError(ValueError):
    """A row can't become a record; the text is the reason, the same for rows alike."""


def text(row: Mapping[str, Any], key: str, default: str = "") -> str:
    """Give a string, numbers as text; anything else is the default."""
    value = row.get(key)
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return default


def some_text(row: Mapping[str, Any], key: str) -> str | None:
    """Give a string that isn't blank, trimmed; None for anything else."""
    return text(row, key).strip() or None


def required(row: Mapping[str, Any], key: str) -> str:
    """Give a string that isn't blank. Raises RowError."""
    value = text(row, key)
    if not value.strip():
        raise RowError(f"it has no {key}")
    return value


def texts(row: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Give the strings of a list, blank ones and repeats left out; a string is split at commas."""
    value = row.get(key)
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, (list, tuple)):
        return ()
    found = (one.strip() for one in value if isinstance(one, str))
    return tuple(dict.fromkeys(one for one in found if one))


def number(row: Mapping[str, Any], key: str, default: float) -> float:
    """Give a finite number."""
    found = finite(row.get(key))
    return default if found is None else found


def finite(value: Any) -> float | None:
    """Give a number as a float; None for one too large for that, and for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def count(row: Mapping[str, Any], key: str, default: int) -> int:
    """Give an integer from 1 that a store holds."""
    return min(MOST, max(1, int(number(row, key, default))))


def moment(row: Mapping[str, Any], key: str) -> float | None:
    """Give Unix seconds of an ISO 8601 text (UTC unless it names an offset), of epoch seconds or
    of epoch milliseconds; None for anything else."""
    value = row.get(key)
    if isinstance(value, str):
        return iso_moment(value)
    found = finite(value)
    if found is None:
        return None
    return found / 1000 if abs(found) >= _MILLISECONDS else found


def iso_moment(value: str) -> float | None:
    """Give Unix seconds of an ISO 8601 text."""
    from datetime import UTC, datetime

    try:
        found = datetime.fromisoformat(value.strip())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


_MILLISECONDS = 1e11  # as seconds the year 5138, as milliseconds 1973
