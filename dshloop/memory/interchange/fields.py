"""Reading the fields of rows that other programs wrote: each function takes anything JSON has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


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
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return default
    return float(value)


def count(row: Mapping[str, Any], key: str, default: int) -> int:
    """Give an integer from 1."""
    return max(1, int(number(row, key, default)))


def moment(row: Mapping[str, Any], key: str) -> float | None:
    """Give Unix seconds of an ISO 8601 text (UTC unless it names an offset), of epoch seconds or
    of epoch milliseconds; None for anything else."""
    value = row.get(key)
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return _epoch(float(value))
    return iso_moment(value) if isinstance(value, str) else None


def iso_moment(value: str) -> float | None:
    """Give Unix seconds of an ISO 8601 text."""
    from datetime import UTC, datetime

    try:
        found = datetime.fromisoformat(value.strip())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


_MILLISECONDS = 1e11  # as seconds the year 5138, as milliseconds 1973


def _epoch(value: float) -> float | None:
    if not math.isfinite(value):
        return None
    return value / 1000 if abs(value) >= _MILLISECONDS else value
