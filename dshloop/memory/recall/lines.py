"""Words of a question and lines that may have them: what there is, before anything is ordered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log
from typing import Any, NamedTuple

from dshloop.memory.recall.dates import Part
from dshloop.text import Word

FIELD_WEIGHTS = (1.5, 1.0, 1.5, 1.0)
"""How much a word counts in each of ``index.FIELDS``."""

# A small store says little about which words are rare; so many unseen entries are added to it.
_UNSEEN = 50.0


class Corpus(NamedTuple):
    """What ranking knows of the store: rows, mean words of a row, rows that have a given form."""

    entries: int
    mean_words: float
    frequency: Mapping[str, int]

    def idf(self, form: str) -> float:
        """Weigh a form by its rarity; always above 0."""
        return self.rarity(self.frequency.get(form, 0))

    def rarity(self, rows: float) -> float:
        """Weigh what stands in so many rows; what stands in none is as rare as what one has."""
        rows = max(rows, 1)
        return log(1 + (max(self.entries - rows, 0) + _UNSEEN + 0.5) / (rows + 1.5))


class Term(NamedTuple):
    """A word of the question.

    ``weight``: what it is worth. It is found by ``exact``, else by ``parts`` (each with its share
    of the word), else by the first of ``others`` (synonyms, and words that it begins) at less
    worth. Forms stand between blanks, as they are looked for.
    """

    word: Word
    weight: float
    exact: str | None
    parts: tuple[tuple[str, float], ...] = ()
    others: tuple[tuple[str, float], ...] = ()
    date: Part | None = None
    known: bool = False
    """Whether some entry has the word whole."""

    @property
    def itself(self) -> Iterator[str]:
        """The forms that are the word: whole and in parts."""
        if self.exact is not None:
            yield self.exact
        for form, _ in self.parts:
            yield form

    @property
    def forms(self) -> Iterator[str]:
        """Every form that speaks for the word."""
        yield from self.itself
        for form, _ in self.others:
            yield form


class Line(NamedTuple):
    """An entry as ranking sees it; ``texts`` are the words of ``index.FIELDS``."""

    seq: int
    texts: Sequence[str]
    manner: str
    words: int
    session: str
    at: float
    strength: float
    scope: Sequence[Any] = ()
    """Its project and agent."""
    fits: bool = True
    """Whether it passes the filters, and not only stands beside something that does."""


def padded(form: str) -> str:
    """Put a form between the blanks that separate words."""
    return f" {form} "


def occurrences(texts: Sequence[str], forms: Iterable[str]) -> dict[str, float]:
    """Count padded forms, each by the weight of the field that it stands in.

    A word twice in a row may count once: that is as good, and much faster than splitting.
    """
    whole = f" {'  '.join(texts)} "
    here = [form for form in forms if form in whole]
    if not here:
        return {}
    counts: dict[str, float] = dict.fromkeys(here, 0.0)
    for text, weight in zip(texts, FIELD_WEIGHTS, strict=True):
        if text:
            whole = f" {text} "
            for form in here:
                counts[form] += weight * whole.count(form)
    return counts


def held(term: Term, counts: Mapping[str, float]) -> tuple[float, float]:
    """Say how much of a word there is (0 nothing, 1 all of it) and how often."""
    if not counts:
        return 0.0, 0.0
    if term.exact is not None and term.exact in counts:
        return 1.0, counts[term.exact]
    share = count = 0.0
    for part, worth in term.parts:
        if part in counts:
            share += worth
            count += worth * counts[part]
    if share:  # parts of an identifier that stand apart name it once at most
        return share, count / share if term.exact is None else min(count / share, 1.0)
    for other, worth in term.others:
        if other in counts:
            return worth, counts[other]
    return 0.0, 0.0
