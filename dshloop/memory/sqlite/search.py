"""Answering a question: candidates from the index, ranked."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from math import inf

from dshloop.memory.sqlite.filters import where
from dshloop.memory.sqlite.index import quoted
from dshloop.memory.sqlite.lookup import load
from dshloop.memory.sqlite.rank import FIELD_WEIGHTS, Candidate, Corpus, rank, reasons
from dshloop.memory.store import Filters, Hit
from dshloop.text import Word, question

CANDIDATES = 100
"""Rows that the index hands over for ranking."""

# A common word makes the index score a large part of the store and tells little.
_COMMON_FROM_ROWS = 1_000
_COMMON_SHARE = 0.05
# A pasted text is no longer a question: beyond so many words only the rarest that are known count.
_MOST_WORDS = 32
_MOST_LOOKED_UP = 500
_MOST_FORMS = 64
_MOST_ROWS = 1 << 62  # SQLite's integers end a little later

_SEARCH = f"""
    SELECT i.rowid, {", ".join(f"i.{name}" for name in FIELD_WEIGHTS)}
    FROM memory_index AS i CROSS JOIN entries AS m ON m.seq = i.rowid
    WHERE memory_index MATCH ? AND rank MATCH 'bm25({", ".join(map(str, FIELD_WEIGHTS.values()))})'
"""


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
    asked: Sequence[Word] = question(query)[:_MOST_LOOKED_UP]
    corpus = _corpus(connection, asked)
    asked = _shortened(asked, corpus)
    last = offset + limit
    candidates = _candidates(
        connection, corpus, filters, now, min(max(CANDIDATES, 2 * last), _MOST_ROWS)
    )
    ranked = rank(asked, candidates, corpus)[offset:last]
    best = [one for one in ranked if one.score >= floor]
    entries = load(connection, [one.candidate.seq for one in best])
    return [
        Hit(entries[one.candidate.seq], one.score, reasons(asked, one.candidate))
        for one in best
        if one.candidate.seq in entries
    ]


def _corpus(connection: sqlite3.Connection, asked: Iterable[Word]) -> Corpus:
    memories, words = connection.execute("SELECT entries, words FROM tally").fetchone()
    frequency = {}
    for form in {form for word in asked for form in word.forms}:
        row = connection.execute("SELECT doc FROM memory_words WHERE term = ?", (form,)).fetchone()
        if row is not None:
            frequency[form] = row[0]
    return Corpus(memories, words / memories if memories else 0.0, frequency)


def _shortened(asked: Sequence[Word], corpus: Corpus) -> Sequence[Word]:
    """Keep the rarest known words of a very long question."""
    if len(asked) <= _MOST_WORDS:
        return asked
    rarity = {
        word: min((corpus.frequency.get(form, 0) or inf) for form in word.forms) for word in asked
    }
    return sorted(asked, key=rarity.__getitem__)[:_MOST_WORDS]


def _candidates(
    connection: sqlite3.Connection, corpus: Corpus, filters: Filters, now: float, limit: int
) -> list[Candidate]:
    forms = _telling(corpus)
    if not forms:
        return []
    conditions, values = where(filters, now)
    match = " OR ".join(map(quoted, forms))
    rows = connection.execute(
        f"{_SEARCH} AND {conditions} ORDER BY rank LIMIT ?", (match, *values, limit)
    )
    return [Candidate(seq, _by_field(texts)) for seq, *texts in rows]


def _by_field(texts: Sequence[str]) -> dict[str, list[str]]:
    named = zip(FIELD_WEIGHTS, texts, strict=True)
    return {name: text.split(" ") for name, text in named if text}


def _telling(corpus: Corpus) -> list[str]:
    """Choose the forms to look for: those that are in the store, rarest first, few common ones."""
    forms = sorted(corpus.frequency, key=lambda form: (corpus.frequency[form], form))
    if corpus.memories >= _COMMON_FROM_ROWS:
        most = corpus.memories * _COMMON_SHARE
        forms = [form for form in forms if corpus.frequency[form] <= most] or forms
    return forms[:_MOST_FORMS]
