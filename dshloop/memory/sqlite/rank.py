"""Ordering candidates for a question: pure arithmetic over words, no database.

A question word that a memory has counts by how rare it is in the store (idf) and how it stands out
in the memory (BM25's saturated frequency, fields weighted). Divided by what a perfect memory would
get, this is the score: 0..1, comparable between questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

from dshloop.memory.store import Why
from dshloop.text import Word

FIELDS = ("title", "content", "concepts", "files")
FIELD_WEIGHTS = (1.5, 1.0, 1.5, 1.0)

FLOOR = 0.18
"""Scores below it are no answer; see benchmarks/recall.py for what it silences."""

# BM25's two constants: how soon repeating a word stops to count, and how much length matters.
_SATURATION = 1.2
_LENGTH = 0.3
# The share of the score that having a word at all earns, the rest is for how it stands out.
_PRESENCE = 0.5
# What an identifier found only by its parts counts for: jwt.ts where the memory has jwt and ts.
_IN_PARTS = 0.8
# A small store says little about which words are rare; so many unseen memories are added to it.
_UNSEEN = 20.0


@dataclass(frozen=True, slots=True)
class Corpus:
    """What ranking knows of the store: rows, mean words of a row, rows that have a given form."""

    memories: int
    mean_words: float
    frequency: Mapping[str, int]

    def idf(self, form: str) -> float:
        """Weigh a form by its rarity; always above 0."""
        rows = self.frequency.get(form, 0)
        return log(1 + (self.memories + _UNSEEN - rows + 0.5) / (rows + 1.5))


@dataclass(frozen=True, slots=True)
class Candidate:
    """The indexed words of one memory, a list for each of ``FIELDS``."""

    seq: int
    fields: tuple[Sequence[str], ...]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate's score and the reasons for it."""

    seq: int
    score: float
    why: Why


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A question word with its parts' shares; ``total`` is what finding it whole is worth."""

    word: Word
    total: float
    parts: Mapping[str, float]


def rank(question: Sequence[Word], candidates: Sequence[Candidate], corpus: Corpus) -> list[Ranked]:
    """Score every candidate, best first; equal scores newest first."""
    weighed = [_weigh(word, corpus) for word in question]
    ranked = [_score(weighed, candidate, corpus.mean_words) for candidate in candidates]
    ranked.sort(key=lambda one: (-one.score, -one.seq))
    return ranked


def _weigh(word: Word, corpus: Corpus) -> _Weighed:
    """Weigh a word by its whole form, or by its parts where no memory has it whole."""
    shares = {part: corpus.idf(part) for part in word.parts}
    if word.exact is not None and (not shares or corpus.frequency.get(word.exact)):
        total = corpus.idf(word.exact)
    else:
        total = sum(shares.values()) / len(shares)
    whole = sum(shares.values())
    return _Weighed(
        word, total * word.size, {part: share / whole for part, share in shares.items()}
    )


def _score(question: Sequence[_Weighed], candidate: Candidate, mean_words: float) -> Ranked:
    length = sum(map(len, candidate.fields))
    steep = _SATURATION * (1 - _LENGTH + _LENGTH * length / max(mean_words, 1.0))
    reached = possible = 0.0
    found: list[str] = []
    missing: list[str] = []
    for weighed in question:
        value = _value(weighed, candidate, steep)
        reached += weighed.total * value
        possible += weighed.total
        (found if value else missing).append(weighed.word.shown)
    why = Why(tuple(dict.fromkeys(found)), tuple(dict.fromkeys(missing)))
    return Ranked(candidate.seq, reached / possible if possible else 0.0, why)


def _value(weighed: _Weighed, candidate: Candidate, steep: float) -> float:
    """Say how well one memory has one word: 0 not at all, 1 whole and prominent."""
    word = weighed.word
    whole = _prominence(word.exact, candidate, steep) if word.exact is not None else 0.0
    if whole or not weighed.parts:
        return whole
    parts = sum(
        share * _prominence(part, candidate, steep) for part, share in weighed.parts.items()
    )
    return parts if word.exact is None else parts * _IN_PARTS


def _prominence(form: str, candidate: Candidate, steep: float) -> float:
    count = 0.0
    for words, weight in zip(candidate.fields, FIELD_WEIGHTS, strict=True):
        count += weight * words.count(form)
    return _PRESENCE + (1 - _PRESENCE) * count / (count + steep) if count else 0.0


def fields_of(question: Sequence[Word], candidate: Candidate) -> tuple[str, ...]:
    """Name the fields in which any form of the question stands."""
    forms = {form for word in question for form in word.forms}
    named = zip(FIELDS, candidate.fields, strict=True)
    return tuple(name for name, words in named if not forms.isdisjoint(words))
