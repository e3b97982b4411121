"""Ordering entries for a question: pure arithmetic over words, no database.

A word of the question counts by how rare it is in the store. An entry is worth what it has of these
words, each by how it stands out (BM25's saturated frequency), and what its neighbours in the
session and the session as a whole have of them: a question is about an exchange, its answer is one
line of it. Having more of the question's words at once counts more than one of them often.

The constants were measured on dialogues (benchmarks/recall.py); each is round, and neighbouring
values do as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import exp, log, prod
from operator import mul
from types import MappingProxyType
from typing import Any, NamedTuple

from dshloop.memory.sqlite.dates import Part, matches
from dshloop.memory.sqlite.fusion import ANSWERS, meant
from dshloop.memory.sqlite.index import ASKS
from dshloop.text import Word

# An entry answers a question when it and its neighbours have this much of what the question's words
# are worth, and two of its words, unless one word is half of the question. A word nobody stored is
# worth as much as the rarest, so a question about something unknown finds nothing.
_LEAST = 0.3
_HALF = 0.5 - 1e-9

FIELD_WEIGHTS = (1.5, 1.0, 1.5, 1.0)
"""How much a word counts in each of ``index.FIELDS``."""

# BM25's constants. Only what is longer than the mean is held against an entry: short lines aren't
# better answers.
_SATURATION = 1.5
_LENGTH = 0.3
# What neighbours have: the line before, the one before that, the line after. A question just before
# makes an entry its answer.
_CONTEXT = 0.45
_CONTEXT_SATURATION = 1.2
_NEAR, _FAR, _ASKED = 1.0, 0.5, 3.0
_MINUTES = 600.0
"""How far apart entries without a session may be stored and still belong together, in seconds."""
# What the session as a whole has.
_SESSION = 0.35
_SPEAK_FOR_SESSION = 15
_DATED = 0.3
"""What an entry of the asked date has of the word that names it, in occurrences."""
_SPEAKER = 1.3
"""An entry spoken by somebody the question names."""
_QUESTION = 0.8
"""An entry that ends in a question: it asks, it doesn't tell."""
_RECENT = 0.03
_HALF_LIFE = 30 * 86_400.0
_STRENGTH = 0.03
_STEEPNESS = 1.25

# A small store says little about which words are rare; so many unseen entries are added to it.
_UNSEEN = 50.0

_NOTHING: Mapping[Any, Any] = MappingProxyType({})


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


class Line(NamedTuple):
    """An entry as ranking sees it; ``texts`` are the words of ``index.FIELDS``."""

    seq: int
    texts: Sequence[str]
    manner: str
    words: int
    session: str
    at: float
    strength: float
    scope: tuple[Any, Any] = ("", "")
    """Its project and agent."""
    fits: bool = True
    """Whether it passes the filters, and not only stands beside something that does."""


class Found(NamedTuple):
    """What a line has of the question's words, in shares of what all of them are worth.

    ``shares`` and ``counts``: how much of each word, and how often times that. ``own``: what that
    is worth; ``covered``: the words' weight that is there at all. ``factor``: what is known of the
    line besides its words (Ranking.factors).
    """

    line: Line
    shares: Sequence[float]
    counts: Sequence[float]
    own: float
    covered: float
    factor: float
    asks: bool


class Beside(NamedTuple):
    """The lines around a line, by seq: before it, nearest first, and after it."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()


class Ranked(NamedTuple):
    """A line and its score in 0..1."""

    line: Line
    score: float


def padded(form: str) -> str:
    """Put a form between the blanks that separate words."""
    return f" {form} "


class Ranking:
    """One question's view of the lines that were fetched for it."""

    def __init__(self, terms: Sequence[Term], corpus: Corpus, now: float) -> None:
        self.terms = terms
        self.found: dict[int, Found] = {}
        self._now = now
        self._mean_words = max(corpus.mean_words, 1.0)
        possible = sum(term.weight for term in terms) or 1.0
        self._weights = [term.weight / possible for term in terms]
        self._forms = list(dict.fromkeys(form for term in terms for form in _forms(term)))
        self._names = {term.exact for term in terms}
        self._dated = any(term.date is not None for term in terms)
        self._none = [0.0] * len(terms)
        self._meant: dict[int, float] = {}

    def add(self, lines: Iterable[Line]) -> None:
        """Look at lines."""
        for line in lines:
            self.found[line.seq] = self._look(line)

    def measure(self, nearness: Mapping[int, float]) -> None:
        """Take in how near lines are in meaning, by seq (fusion.py)."""
        self._meant.update({seq: meant(near) for seq, near in nearness.items()})

    def meaning(self, line: Line) -> float:
        """Give what a line's meaning is worth."""
        return self._meant.get(line.seq, 0.0)

    def sessions(self) -> dict[str, float]:
        """Give what sessions are worth by the lines that have most of the question: what all
        others have of a common word says nothing."""
        totals: dict[str, list[float]] = {}
        best = sorted(self.found.values(), key=lambda found: -found.own)
        for found in best[:_SPEAK_FOR_SESSION]:
            if found.line.session and found.own:
                total = totals.setdefault(found.line.session, list(self._none))
                for at, count in enumerate(found.counts):
                    total[at] += count
        return {
            session: _SESSION * self._saturated(total, _SATURATION)
            for session, total in totals.items()
        }

    def ranked(
        self, sessions: Mapping[str, float], beside: Mapping[int, Beside] = _NOTHING
    ) -> list[Ranked]:
        """Order the lines that pass the filters, best first; equal ones newest first."""
        ranked = [
            Ranked(
                found.line,
                squeezed(
                    sum(self.parts(found, sessions, beside)) * found.factor
                    + self.meaning(found.line)
                ),
            )
            for found in self.found.values()
            if found.line.fits
        ]
        ranked.sort(key=lambda one: (-one.score, -one.line.seq))
        return ranked

    def parts(
        self, found: Found, sessions: Mapping[str, float], beside: Mapping[int, Beside]
    ) -> tuple[float, float, float, float]:
        """Give what a line's own words, those of its neighbours, having many of them at once and
        its session are worth. Every word of the question once, and nothing else, makes 0.8."""
        near = self.neighbours(found.line, beside.get(found.line.seq))
        context, covered = self._context(found, near) if near else (0.0, found.covered)
        session = sessions.get(found.line.session, 0.0) if sessions else 0.0
        return found.own, context, (found.own + context) * covered, session

    def answers(self, line: Line, beside: Mapping[int, Beside]) -> bool:
        """Tell whether a line has enough of the question to be shown unasked."""
        found = self.found[line.seq]
        near = self.neighbours(line, beside.get(line.seq)) if line.session or found.own else []
        shares = _together(found, near)
        covered = sum(map(mul, self._weights, shares))
        several = sum(share >= _HALF for share in shares) > 1
        return covered >= (_LEAST if several else _HALF) or self.meaning(line) >= ANSWERS

    def neighbours(self, line: Line, beside: Beside | None) -> list[tuple[Found, float]]:
        """Give the lines around a line that have a word asked for, and how much they count."""
        if beside is None:
            return []
        around = [*zip(beside.before, (_NEAR, _FAR), strict=False)]
        around += [(seq, _NEAR) for seq in beside.after[:1]]
        near = []
        for at, (seq, weight) in enumerate(around):
            other = self.found.get(seq)
            if other is not None and other.own and _together_in_time(line, other.line):
                asked = at == 0 and other.asks and bool(beside.before)
                near.append((other, _ASKED if asked else weight))
        return near

    def factors(self, line: Line) -> dict[str, float]:
        """Give what is known of a line besides its words; 1 says nothing."""
        age = max(self._now - line.at, 0.0) / _HALF_LIFE
        factors = {
            "recency": 1 + _RECENT * 2.0**-age,
            "strength": 1 + _STRENGTH * (line.strength - 5.0) / 5.0,
        }
        if line.manner:
            if line.manner.endswith(ASKS):
                factors["question"] = _QUESTION
            if any(padded(name) in self._names for name in line.manner.split(" ")):
                factors["speaker"] = _SPEAKER
        return factors

    def _look(self, line: Line) -> Found:
        counts = occurrences(line.texts, self._forms)
        asks, factor = line.manner.endswith(ASKS), prod(self.factors(line).values())
        if not counts and not self._dated:
            return Found(line, self._none, self._none, 0.0, 0.0, factor, asks)
        length = max(1.0, line.words / self._mean_words)
        steep = _SATURATION * (1 - _LENGTH + _LENGTH * length)
        shares, often, own, covered = list(self._none), list(self._none), 0.0, 0.0
        for at, term in enumerate(self.terms):
            share, count = held(term, counts)
            if term.date is not None and matches(term.date, line.at):
                share, count = 1.0, count + _DATED
            if share:
                weight = self._weights[at] * share
                shares[at], often[at] = share, share * count
                own += weight * count / (count + steep)
                covered += weight
        return Found(line, shares, often, own, covered, factor, asks)

    def _context(self, found: Found, near: Sequence[tuple[Found, float]]) -> tuple[float, float]:
        """Give what the neighbours have, and how much of the question all have together."""
        total = list(self._none)
        for other, weight in near:
            for at, count in enumerate(other.counts):
                total[at] += weight * count
        covered = sum(map(mul, self._weights, _together(found, near)))
        return _CONTEXT * self._saturated(total, _CONTEXT_SATURATION), covered

    def _saturated(self, counts: Sequence[float], steep: float) -> float:
        pairs = zip(self._weights, counts, strict=True)
        return sum(weight * count / (count + steep) for weight, count in pairs if count)


def _together_in_time(line: Line, other: Line) -> bool:
    return bool(line.session) or abs(line.at - other.at) <= _MINUTES


def _together(found: Found, near: Iterable[tuple[Found, float]]) -> Sequence[float]:
    """Give how much of each word a line and its neighbours have, the best of them."""
    return [
        max(shares) for shares in zip(found.shares, *(one.shares for one, _ in near), strict=True)
    ]


def squeezed(total: float) -> float:
    """Bring what a line is worth into 0..1, in the same order."""
    return 1 - exp(-_STEEPNESS * total)


def occurrences(texts: Sequence[str], forms: Iterable[str]) -> dict[str, float]:
    """Count padded forms, each by the weight of the field that it stands in.

    A word twice in a row may count once: that is as good, and much faster than splitting.
    """
    counts: dict[str, float] = {}
    for text, weight in zip(texts, FIELD_WEIGHTS, strict=True):
        if text:
            whole = f" {text} "
            for form in forms:
                if form in whole:
                    counts[form] = counts.get(form, 0.0) + weight * whole.count(form)
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


def _forms(term: Term) -> Iterable[str]:
    if term.exact is not None:
        yield term.exact
    yield from (form for form, _ in term.parts)
    yield from (form for form, _ in term.others)
