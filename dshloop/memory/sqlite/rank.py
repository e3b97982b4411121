"""Ordering candidates for a question: pure arithmetic over words, no database.

A question word that a memory has counts by how rare it is in the store (idf) and how it stands out
in the memory (BM25's saturated frequency, fields weighted). Divided by what a perfect memory would
get, this is the score: 0..1, comparable between questions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log
from typing import NamedTuple

from dshloop.memory.store import Why
from dshloop.text import Word

FIELD_WEIGHTS = {"title": 1.5, "content": 1.0, "concepts": 1.5, "files": 1.0}
"""The index's columns, in order, and how much a word in each counts."""

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
_UNSEEN = 50.0
# From so many words on it pays to count all words of a field once, not to look for each.
_LONG_FIELD = 400

_Count = Callable[[str], int]
_Field = tuple[_Count, float]


class Corpus(NamedTuple):
    """What ranking knows of the store: rows, mean words of a row, rows that have a given form."""

    memories: int
    mean_words: float
    frequency: Mapping[str, int]

    def idf(self, form: str) -> float:
        """Weigh a form by its rarity; always above 0."""
        rows = self.frequency.get(form, 0)
        return log(1 + (self.memories + _UNSEEN - rows + 0.5) / (rows + 1.5))


class Candidate(NamedTuple):
    """The indexed words of one memory, by the name of the field; empty fields are left out."""

    seq: int
    fields: Mapping[str, Sequence[str]]


class Ranked(NamedTuple):
    """A candidate and its score."""

    candidate: Candidate
    score: float


class _Weighed(NamedTuple):
    """A question word; ``total`` is what finding it whole is worth, its parts share that."""

    word: Word
    total: float
    parts: Sequence[tuple[str, float]]


def rank(question: Sequence[Word], candidates: Sequence[Candidate], corpus: Corpus) -> list[Ranked]:
    """Score every candidate, best first; equal scores newest first."""
    weighed = [_weigh(word, corpus) for word in question]
    possible = sum(one.total for one in weighed) or 1.0  # a question of signs has no words
    ranked = [
        Ranked(candidate, _reached(weighed, candidate, corpus.mean_words) / possible)
        for candidate in candidates
    ]
    ranked.sort(key=lambda one: (-one.score, -one.candidate.seq))
    return ranked


def reasons(question: Sequence[Word], candidate: Candidate) -> Why:
    """Say which words of the question a candidate has, which it lacks, and where they stand."""
    indexed = {form for words in candidate.fields.values() for form in words}
    found: dict[str, bool] = {}
    for word in question:
        found[word.shown] = found.get(word.shown, False) or not indexed.isdisjoint(word.forms)
    forms = {form for word in question for form in word.forms}
    return Why(
        words=tuple(shown for shown, there in found.items() if there),
        missing=tuple(shown for shown, there in found.items() if not there),
        fields=tuple(
            name for name, words in candidate.fields.items() if not forms.isdisjoint(words)
        ),
    )


def _weigh(word: Word, corpus: Corpus) -> _Weighed:
    """Weigh a word by its whole form, or by its parts where no memory has it whole."""
    weights = {part: corpus.idf(part) for part in word.parts}
    whole = sum(weights.values())
    if word.exact is not None and (not weights or corpus.frequency.get(word.exact)):
        total = corpus.idf(word.exact)
    else:
        total = whole / len(weights)
    parts = [(part, weight / whole) for part, weight in weights.items()]
    return _Weighed(word, total * word.size, parts)


def _reached(question: Sequence[_Weighed], candidate: Candidate, mean_words: float) -> float:
    """Add up what a candidate has of the question's words."""
    length = sum(map(len, candidate.fields.values()))
    steep = _SATURATION * (1 - _LENGTH + _LENGTH * length / max(mean_words, 1.0))
    fields = [(_counting(words), FIELD_WEIGHTS[name]) for name, words in candidate.fields.items()]
    return sum(one.total * _value(one, fields, steep) for one in question)


def _counting(words: Sequence[str]) -> _Count:
    """Give the function that counts a form in a field."""
    if len(words) < _LONG_FIELD:
        return words.count
    from collections import Counter

    return Counter(words).__getitem__


def _value(one: _Weighed, fields: Sequence[_Field], steep: float) -> float:
    """Say how well one memory has one word: 0 not at all, 1 whole and prominent."""
    exact = one.word.exact
    whole = _prominence(exact, fields, steep) if exact is not None else 0.0
    if whole or not one.parts:
        return whole
    parts = sum(share * _prominence(part, fields, steep) for part, share in one.parts)
    return parts if exact is None else parts * _IN_PARTS


def _prominence(form: str, fields: Sequence[_Field], steep: float) -> float:
    count = 0.0
    for count_in, weight in fields:
        count += weight * count_in(form)
    return _PRESENCE + (1 - _PRESENCE) * count / (count + steep) if count else 0.0
