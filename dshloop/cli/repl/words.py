"""What the words behind a command say."""

from __future__ import annotations

_QUOTES = ("'", '"')
_DIGITS = 9  # more are no count of anything in a conversation


def count_of(words: str) -> int | None:
    """Read a count above 0; None for anything else."""
    count = int(words) if words.isdecimal() and len(words) <= _DIGITS else 0
    return count or None


def file_of(words: str) -> str:
    """Read the name of a file, blanks and all; quotes around it are those of a shell."""
    quoted = len(words) > 2 and words[0] in _QUOTES and words[0] == words[-1]
    return words[1:-1] if quoted else words
