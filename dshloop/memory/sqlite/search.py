"""Answering a question: candidates from the index, ranked together with what surrounds them."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dshloop.memory.sqlite.candidates import beside, candidates, lines, neighbours_of
from dshloop.memory.sqlite.lookup import load
from dshloop.memory.sqlite.rank import Beside, Ranked, Ranking
from dshloop.memory.sqlite.reasons import reasons
from dshloop.memory.sqlite.terms import weighed
from dshloop.memory.store import Filters, Hit, Why
from dshloop.text import question

CANDIDATES = 60
"""Entries that the index hands over for ranking."""
_SURROUNDED = 30
"""The best of them, whose neighbours are looked at."""
_MOST_ROWS = 1 << 62  # SQLite's integers end a little later


class Answer(NamedTuple):
    """What a question was compared with, best first, and what is needed to say why."""

    ranked: Sequence[Ranked]
    ranking: Ranking
    sessions: Mapping[str, float]
    beside: Mapping[int, Beside]

    def why(self, one: Ranked) -> Why:
        """Say why an entry was found."""
        return reasons(self.ranking, one, self.sessions, self.beside)


def recall(
    connection: sqlite3.Connection,
    query: str,
    filters: Filters,
    now: float,
    limit: int,
    offset: int,
    floor: float,
) -> list[Hit]:
    """Find the entries that answer a question, best first, none that scores below ``floor``."""
    last = min(offset + limit, _MOST_ROWS)
    answer = ranked(connection, query, filters, now, last)
    best = [one for one in answer.ranked[offset:last] if one.score >= floor]
    entries = load(connection, [one.line.seq for one in best])
    return [
        Hit(entries[one.line.seq], one.score, answer.why(one))
        for one in best
        if one.line.seq in entries
    ]


def ranked(
    connection: sqlite3.Connection, query: str, filters: Filters, now: float, last: int
) -> Answer:
    """Rank candidates, then the best of them again with their neighbours, which may be hits
    themselves; ``last`` is how many are wanted."""
    terms, corpus = weighed(connection, question(query))
    ranking = Ranking(terms, corpus, now)
    most = min(max(CANDIDATES, 2 * last), _MOST_ROWS)
    ranking.add(candidates(connection, terms, corpus, filters, now, most))
    sessions = ranking.sessions()
    first = ranking.ranked(sessions)
    best = [one.line.seq for one in first[: max(_SURROUNDED, last)] if one.line.session]
    if not best:
        return Answer(first, ranking, sessions, {})
    around = beside(connection, best)
    missing = [seq for seq in neighbours_of(around) if seq not in ranking.found]
    ranking.add(lines(connection, missing, filters, now))
    around.update(beside(connection, missing))
    return Answer(ranking.ranked(sessions, around), ranking, sessions, around)
