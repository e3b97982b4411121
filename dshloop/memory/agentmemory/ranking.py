"""How much of a question an entry holds: pure.

The daemon's own scores can't be compared between questions (agentmemory 8), and have no floor; the
score here is mostly the share of the question's words that the entry has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dshloop.memory.answers import Hit, Why
from dshloop.memory.entries import Entry, Observation
from dshloop.text import Word, words

FLOOR = 0.3
"""The score below which a hit isn't shown."""

_BY_WORDS = 0.9
_BY_RANK = 0.09
"""The parts of the score that words make, and how the daemon ranked the entry."""
_BY_BEGINNING = 0.6  # what a word counts that is only the beginning of another one
_SHORTEST_BEGINNING = 4
_BY_MEANING = 0.5  # the best that an entry can get which has none of the words
_LOOKED_AT = 60_000  # characters of a text


def hit_of(entry: Entry, asked: Sequence[Word], share: float, *, by_meaning: bool = False) -> Hit:
    """Make the hit of an entry; ``share`` is its score at the daemon as a part of the best one's.

    ``by_meaning``: the daemon has vectors, so an entry without any of the words may answer too.
    """
    fields = {name: set(words(text[:_LOOKED_AT])) for name, text in _fields(entry)}
    forms = set().union(*fields.values())
    there = {word.shown: weight for word in asked if (weight := _weight(word, forms))}
    size = sum(word.size for word in asked) or 1.0
    covered = sum(word.size * there.get(word.shown, 0.0) for word in asked) / size
    parts = {"words": _BY_WORDS * covered, "daemon": _BY_RANK * share}
    if not there:
        parts = {"vector": _BY_MEANING * share} if by_meaning else {}
    return Hit(entry, sum(parts.values()), _why(asked, there, fields, parts))


def _why(
    asked: Sequence[Word],
    there: dict[str, float],
    fields: dict[str, set[str]],
    parts: dict[str, float],
) -> Why:
    named = [word for word in asked if word.shown in there]
    return Why(
        words=tuple(word.shown for word in named),
        missing=tuple(word.shown for word in asked if word.shown not in there),
        fields=tuple(
            name for name, forms in fields.items() if any(_weight(word, forms) for word in named)
        ),
        prefixes=tuple(word.shown for word in named if there[word.shown] == _BY_BEGINNING),
        parts=parts,
    )


def _weight(word: Word, forms: set[str]) -> float:
    """Tell how far a word is there: 1 whole, less in part or as a beginning, 0 not at all."""
    if word.exact is not None and word.exact in forms:
        return 1.0
    if word.parts:
        found = sum(part in forms for part in word.parts) / len(word.parts)
        if found:
            return found
    begun = word.exact is not None and len(word.exact) >= _SHORTEST_BEGINNING
    if begun and any(form.startswith(word.exact or "") for form in forms):
        return _BY_BEGINNING
    return 0.0


def _fields(entry: Entry) -> Iterator[tuple[str, str]]:
    yield "title", entry.title
    yield "content", entry.content
    if isinstance(entry, Observation):
        yield "subtitle", entry.subtitle
    yield "concepts", " ".join(entry.concepts)
    yield "files", " ".join(entry.files)
