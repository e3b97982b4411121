"""How much of a question an entity holds. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dshloop.memory.answers import Hit, Why
from dshloop.memory.entries import Memory
from dshloop.stop_words import STOP_WORDS

_WORD = re.compile(r"\w+")


def words_of(query: str) -> list[str]:
    """Give the words that a question is about, as typed but in small letters."""
    found = list(dict.fromkeys(word.casefold() for word in _WORD.findall(query)))
    telling = [word for word in found if word not in STOP_WORDS]
    return telling or found


def hit_of(memory: Memory, query: str, words: Sequence[str]) -> Hit:
    """Make the hit of an entry: 1 for the whole question as it stands, else the share of words."""
    text = f"{memory.title}\n{memory.content}\n{' '.join(memory.files)}".casefold()
    there = [word for word in words if word in text]
    whole = query.strip().casefold() in text
    score = 1.0 if whole else len(there) / len(words) * 0.95 if words else 0.0
    missing = tuple(word for word in words if word not in there)
    return Hit(memory, score, Why(tuple(there), missing, parts={"words": score}))
