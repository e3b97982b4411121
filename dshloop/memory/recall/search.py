"""Answering a question: candidates from the index, ranked together with what surrounds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from dshloop.memory.answers import Hit, Why
from dshloop.memory.recall.folding import folded
from dshloop.memory.recall.rank import Beside, Ranked, Ranking
from dshloop.memory.recall.reasons import reasons
from dshloop.memory.recall.source import Source
from dshloop.memory.recall.terms import weighed
from dshloop.memory.sqlite.meaning.fusion import NEAREST, Near
from dshloop.memory.synonyms import synonyms as known
from dshloop.text import question

_DEPTH = 20
"""Entries whose neighbours are looked at."""
_COMPARED = 1.7
"""So many times more are compared with the question; twice as many find no more."""
_DEEPER = 5
_LONGEST_QUESTION = 10_000
"""Characters of a question that count; a pasted text has said by then what it is about."""
_MOST_ROWS = 1 << 60  # a multiple of it is still an integer of SQLite's


class Answer(NamedTuple):
    """What a question was compared with, best first, and what is needed to say why."""

    ranked: Sequence[Ranked]
    ranking: Ranking
    sessions: Mapping[str, float]
    beside: Mapping[int, Beside]
    considered: int
    """How many of the best are looked at for an answer; further down there is none."""

    def above(self, floor: float | None) -> Iterator[Ranked]:
        """Give what is good enough to be shown, best first."""
        if floor is not None:
            return (one for one in self.ranked if one.score >= floor)
        considered = islice(self.ranked, self.considered)
        return (one for one in considered if self.ranking.answers(one.line, self.beside))

    def why(self, one: Ranked) -> Why:
        """Say why an entry was found."""
        return reasons(self.ranking, one, self.sessions, self.beside)


def recall(
    source: Source,
    query: str,
    now: float,
    limit: int,
    offset: int,
    floor: float | None,
    near: Near | None = None,
    synonyms: Path | None = None,
) -> list[Hit]:
    """Find the entries that answer a question, best first.

    None that scores below ``floor``; without one, those that have enough of the question
    (Ranking.answers). With ``near`` their meaning counts too; ``synonyms`` is a user's
    file of them.
    """
    last = min(offset + limit, _MOST_ROWS)
    answer = ranked(source, query, now, last, near, synonyms)
    best = folded(answer.above(floor), last)[offset:]
    seqs = [one.best.line.seq for one in best] + [seq for one in best for seq in one.others]
    entries = source.load(seqs)
    return [
        Hit(
            entries[one.best.line.seq],
            one.best.score,
            partial(answer.why, one.best),
            tuple(entries[seq].id for seq in one.others if seq in entries),
        )
        for one in best
        if one.best.line.seq in entries
    ]


def ranked(
    source: Source,
    query: str,
    now: float,
    last: int,
    near: Near | None = None,
    synonyms: Path | None = None,
) -> Answer:
    """Rank candidates, then the best of them again with their neighbours, which may be hits
    themselves; ``last`` is how many are wanted."""
    terms, corpus = weighed(source, question(query[:_LONGEST_QUESTION]), known(synonyms))
    ranking = Ranking(terms, corpus, now)
    depth = _depth(last)
    ranking.add(source.candidates(terms, corpus, int(_COMPARED * depth)))
    surrounded = depth
    if near is not None:
        nearest = [seq for seq in near.nearest(max(NEAREST, depth)) if seq not in ranking.found]
        ranking.add(source.lines(nearest))
        ranking.measure(near.nearness(list(ranking.found)))
        surrounded += NEAREST // 2
    sessions = ranking.sessions()
    best = ranking.best(sessions, surrounded)
    around = source.beside([ranking.found[seq].line for seq in best])
    missing = [seq for seq in around if seq not in ranking.found]
    ranking.add(source.lines(missing))
    if near is not None:
        ranking.measure(near.nearness(missing))
    return Answer(ranking.ranked(sessions, around), ranking, sessions, around, 2 * surrounded)


def _depth(last: int) -> int:
    """Say how deep to look so that ``last`` are found; in few steps, so that the pages of one
    question are cut from the same order."""
    depth = _DEPTH
    while depth < last and depth < _MOST_ROWS:
        depth *= _DEEPER
    return min(depth, _MOST_ROWS)
