"""What the words behind a command say."""

from __future__ import annotations

_DIGITS = 9  # more are no count of anything in a conversation


def count_of(words: str) -> int | None:
    """Read a count above 0; None for anything else."""
    count = int(words) if words.isdecimal() and len(words) <= _DIGITS else 0
    return count or None
