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
from heapq import nlargest
from math import exp
from types import MappingProxyType
from typing import Any, NamedTuple

from dshloop.memory.recall.dates import matches
from dshloop.memory.recall.lines import Corpus, Line, Term, held, occurrences, padded
from dshloop.memory.sqlite.index import ASKS
from dshloop.memory.sqlite.meaning.fusion import Nearness, answers, meant

# An entry answers a question when it and its neighbours have this much of what the question's words
# are worth, and two of its words, unless one word is half of the question. A word nobody stored is
# worth as much as the rarest, so a question about something unknown finds nothing.
_LEAST = 0.3
_HALF = 0.5 - 1e-9
_TRACE = 0.01
"""What an entry without a session must have itself, before its neighbours may speak for it."""

# BM25's constants. Only what is longer than the mean is held against an entry: short lines aren't
# better answers.
_SATURATION = 1.5
_LENGTH = 0.3
# What neighbours have: the line before, the one before that, the line after. A question just before
# makes an entry its answer.
_CONTEXT = 0.45
_CONTEXT_SATURATION = 1.2
_NEAR, _FAR, _ASKED = 1.0, 0.5, 4.0
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

FACTORS = ("recency", "strength", "question", "speaker")

_NOTHING: Mapping[Any, Any] = MappingProxyType({})


class Found(NamedTuple):
    """What a line has of the question's words.

    ``has``: for each word that is there its number, how much of it, and how often times that.
    ``own``: what that is worth; ``covered``: the words' weight that is there at all (both of 1).
    ``factor``: what is known of the line besides its words, all ``FACTORS`` together.
    """

    line: Line
    has: Sequence[tuple[int, float, float]]
    own: float
    covered: float
    factor: float
    asks: bool


Near = Sequence[tuple[Found, float]]
"""Lines around a line, and how much each counts."""


class Beside(NamedTuple):
    """The lines around a line, by seq: before it, nearest first, and after it."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()


class Ranked(NamedTuple):
    """A line and its score in 0..1."""

    line: Line
    score: float


class Ranking:
    """One question's view of the lines that were fetched for it."""

    def __init__(self, terms: Sequence[Term], corpus: Corpus, now: float) -> None:
        self.terms = terms
        self.found: dict[int, Found] = {}
        self._now = now
        self._mean_words = max(corpus.mean_words, 1.0)
        possible = sum(term.weight for term in terms) or 1.0
        self._weights = [term.weight / possible for term in terms]
        self._terms_of: dict[str, list[int]] = {}
        self.forms = [tuple(dict.fromkeys(term.forms)) for term in terms]
        for at, forms in enumerate(self.forms):
            for form in forms:
                self._terms_of.setdefault(form, []).append(at)
        self._names = {term.exact for term in terms}
        self._dated = [at for at, term in enumerate(terms) if term.date is not None]
        self._meant: dict[int, float] = {}
        self._near: set[int] = set()
        self._neighbours: dict[int, Near] = {}

    def add(self, lines: Iterable[Line]) -> None:
        """Look at lines."""
        self._neighbours.clear()
        for line in lines:
            self.found[line.seq] = self._look(line)

    def measure(self, nearness: Mapping[int, Nearness]) -> None:
        """Take in how near lines are in meaning, by seq (fusion.py)."""
        self._meant.update({seq: meant(near) for seq, near in nearness.items()})
        self._near.update(seq for seq, near in nearness.items() if answers(near))

    def meaning(self, line: Line) -> float:
        """Give what a line's meaning is worth."""
        return self._meant.get(line.seq, 0.0)

    def sessions(self) -> dict[str, float]:
        """Give what sessions are worth by the lines that have most of the question: what all
        others have of a common word says nothing."""
        totals: dict[str, dict[int, float]] = {}
        best = sorted(self.found.values(), key=lambda found: -found.own)
        for found in best[:_SPEAK_FOR_SESSION]:
            if found.line.session and found.own:
                total = totals.setdefault(found.line.session, {})
                for at, _, count in found.has:
                    total[at] = total.get(at, 0.0) + count
        return {
            session: _SESSION * self._saturated(total, _SATURATION)
            for session, total in totals.items()
        }

    def best(self, sessions: Mapping[str, float], most: int) -> list[int]:
        """Give the lines whose neighbours are worth a look, by seq, best first."""
        found = [one for one in self.found.values() if one.line.fits]
        return [
            one.line.seq for one in nlargest(most, found, lambda one: self._alone(one, sessions))
        ]

    def ranked(
        self, sessions: Mapping[str, float], beside: Mapping[int, Beside] = _NOTHING
    ) -> list[Ranked]:
        """Order the lines that pass the filters and have anything of the question, best first;
        equal ones newest first."""
        ranked = []
        for seq, found in self.found.items():
            line = found.line
            if not line.fits:
                continue
            around = beside.get(seq)
            near = () if around is None else self.neighbours(line, around)
            meaning = self._meant.get(seq, 0.0)
            if near:
                total = sum(self.parts(found, near, sessions)) * found.factor + meaning
            elif found.own or meaning:
                total = self._alone(found, sessions)
            else:
                continue
            ranked.append(Ranked(line, squeezed(total)))
        ranked.sort(key=lambda one: (-one.score, -one.line.seq))
        return ranked

    def _alone(self, found: Found, sessions: Mapping[str, float]) -> float:
        worth = found.own * (1 + found.covered) + sessions.get(found.line.session, 0.0)
        return worth * found.factor + self._meant.get(found.line.seq, 0.0)

    def parts(
        self, found: Found, near: Near, sessions: Mapping[str, float]
    ) -> tuple[float, float, float, float]:
        """Give what a line's own words, those of its neighbours, having many of them at once and
        its session are worth. Every word of the question once, and nothing else, makes 0.8."""
        counts: dict[int, float] = {}
        for other, weight in near:
            for at, _, count in other.has:
                counts[at] = counts.get(at, 0.0) + weight * count
        context = _CONTEXT * self._saturated(counts, _CONTEXT_SATURATION)
        covered = self._covered(_together(found, near)) if near else found.covered
        session = sessions.get(found.line.session, 0.0)
        return found.own, context, (found.own + context) * covered, session

    def answers(self, line: Line, beside: Mapping[int, Beside]) -> bool:
        """Tell whether a line has enough of the question to be shown unasked."""
        found = self.found[line.seq]
        near = (
            self.neighbours(line, beside.get(line.seq))
            if line.session or found.covered >= _TRACE
            else ()
        )
        together = _together(found, near)
        several = sum(share >= _HALF for share in together.values()) > 1
        least = _LEAST if several else _HALF
        return self._covered(together) >= least or line.seq in self._near

    def neighbours(self, line: Line, beside: Beside | None) -> Near:
        """Give the lines around a line that have a word asked for, and how much they count."""
        if beside is None:
            return ()
        known = self._neighbours.get(line.seq)
        if known is not None:
            return known
        near: list[tuple[Found, float]] = []
        weight = _NEAR
        for seq in beside.before:
            other = self.found.get(seq)
            if other is not None and other.own and _together_in_time(line, other.line):
                asked = weight == _NEAR and other.asks
                near.append((other, _ASKED if asked else weight))
            weight = _FAR
        for seq in beside.after:
            other = self.found.get(seq)
            if other is not None and other.own and _together_in_time(line, other.line):
                near.append((other, _NEAR))
        self._neighbours[line.seq] = near
        return near

    def factors(self, line: Line) -> tuple[float, float, float, float]:
        """Give what is known of a line besides its words (``FACTORS``); 1 says nothing."""
        age = max(self._now - line.at, 0.0) / _HALF_LIFE
        recency = 1 + _RECENT * 2.0**-age
        strength = 1 + _STRENGTH * (line.strength - 5.0) / 5.0
        if not line.manner:
            return recency, strength, 1.0, 1.0
        names = (padded(name) for name in line.manner.split(" "))
        spoken = any(name in self._names for name in names)
        asks = line.manner.endswith(ASKS)
        return recency, strength, _QUESTION if asks else 1.0, _SPEAKER if spoken else 1.0

    def _look(self, line: Line) -> Found:
        counts = occurrences(line.texts, self._terms_of)
        recency, strength, question, speaker = self.factors(line)
        factor, asks = recency * strength * question * speaker, line.manner.endswith(ASKS)
        if not counts and not self._dated:
            return Found(line, (), 0.0, 0.0, factor, asks)
        terms = {at for form in counts for at in self._terms_of[form]}
        terms.update(self._dated)
        length = max(1.0, line.words / self._mean_words)
        steep = _SATURATION * (1 - _LENGTH + _LENGTH * length)
        has, own, covered = [], 0.0, 0.0
        for at in terms:
            term = self.terms[at]
            share, count = held(term, counts)
            if term.date is not None and matches(term.date, line.at):
                share, count = 1.0, count + _DATED
            if share:
                weight = self._weights[at] * share
                # Pieces of an identifier that some entry has whole say nothing for neighbours.
                pieces = term.known and term.parts and share < 1
                has.append((at, share, 0.0 if pieces else share * count))
                own += weight * count / (count + steep)
                covered += weight
        return Found(line, has, own, covered, factor, asks)

    def _saturated(self, counts: Mapping[int, float], steep: float) -> float:
        total = 0.0  # a loop: much faster than a sum over a generator
        for at, count in counts.items():
            total += self._weights[at] * count / (count + steep)
        return total

    def _covered(self, shares: Mapping[int, float]) -> float:
        total = 0.0
        for at, share in shares.items():
            total += self._weights[at] * share
        return total


def _together_in_time(line: Line, other: Line) -> bool:
    return bool(line.session) or abs(line.at - other.at) <= _MINUTES


def _together(found: Found, near: Near) -> dict[int, float]:
    """Give how much of each word a line and its neighbours have, the best of them."""
    shares = {at: share for at, share, _ in found.has}
    for other, _ in near:
        for at, share, _ in other.has:
            if share > shares.get(at, 0.0):
                shares[at] = share
    return shares


def squeezed(total: float) -> float:
    """Bring what a line is worth into 0..1, in the same order."""
    return 1 - exp(-_STEEPNESS * total)
