"""Dates that a question names: an entry of that day answers it, whatever its words are."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dshloop.text import Word, fold

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

Part = tuple[int, int]
"""A part of ``time.struct_time`` by its position, and the value it must have."""

_YEAR, _MONTH, _DAY, _WEEKDAY = 0, 1, 2, 6
_NAMES: dict[str, Part] = {
    **{name: (_MONTH, number) for number, name in enumerate(_MONTHS, 1)},
    **{name[:3]: (_MONTH, number) for number, name in enumerate(_MONTHS, 1)},
    **{name: (_WEEKDAY, number) for number, name in enumerate(_DAYS)},
}


def named(question: Sequence[Word]) -> list[Part | None]:
    """Give for each word of a question the part of a date that it names.

    A year has four digits; a number is a day only where a month is named too.
    """
    parts = [_NAMES.get(fold(word.shown)) for word in question]
    months = any(part is not None and part[0] == _MONTH for part in parts)
    return [
        part or _number(fold(word.shown), months)
        for part, word in zip(parts, question, strict=True)
    ]


def _number(text: str, months: bool) -> Part | None:
    digits = text.removesuffix("st").removesuffix("nd").removesuffix("rd").removesuffix("th")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 4):
        return None
    number = int(digits)
    if len(digits) == 4 and digits == text and 1900 <= number < 2200:
        return _YEAR, number
    return (_DAY, number) if months and 1 <= number <= 31 else None


def matches(part: Part, at: float) -> bool:
    """Tell whether a moment (Unix seconds, read in UTC) is in the year, month or day."""
    try:
        return time.gmtime(at)[part[0]] == part[1]
    except (OverflowError, OSError, ValueError):  # a clock that was far off
        return False
