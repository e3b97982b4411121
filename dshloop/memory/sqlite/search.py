"""Reading the store: candidates for a question, lists, single rows, counts."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any

from dshloop.errors import AmbiguousIdError, MemoryNotFoundError
from dshloop.memory.sqlite.rank import FIELD_WEIGHTS, Candidate, Corpus, rank, reasons
from dshloop.memory.sqlite.rows import COLUMNS, memory_of, packed, unpacked
from dshloop.memory.store import Filters, Hit, Memory
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
_SHOWN_CANDIDATES = 10
_MOST_ROWS = 1 << 62  # SQLite's integers end a little later

_SEARCH = f"""
    SELECT i.rowid, {", ".join(f"i.{name}" for name in FIELD_WEIGHTS)}
    FROM memory_index AS i CROSS JOIN memories AS m ON m.seq = i.rowid
    WHERE memory_index MATCH ? AND rank MATCH 'bm25({", ".join(map(str, FIELD_WEIGHTS.values()))})'
"""


def recall(
    connection: sqlite3.Connection, query: str, filters: Filters, limit: int, floor: float
) -> list[Hit]:
    """Find the memories that answer a question, best first, none that scores below ``floor``."""
    asked: Sequence[Word] = question(query)[:_MOST_LOOKED_UP]
    corpus = _corpus(connection, asked)
    asked = _shortened(asked, corpus)
    wanted = min(max(CANDIDATES, 2 * limit), _MOST_ROWS)
    candidates = _candidates(connection, corpus, filters, wanted)
    best = [one for one in rank(asked, candidates, corpus)[:limit] if one.score >= floor]
    memories = _load(connection, [one.candidate.seq for one in best])
    return [
        Hit(memories[one.candidate.seq], one.score, reasons(asked, one.candidate))
        for one in best
        if one.candidate.seq in memories
    ]


def newest(
    connection: sqlite3.Connection, filters: Filters, limit: int | None, offset: int
) -> list[Memory]:
    """List memories, the last one stored first."""
    where, values = _where(filters)
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM memories AS m WHERE 1 {where} ORDER BY seq DESC LIMIT ? OFFSET ?",
        (*values, -1 if limit is None else min(limit, _MOST_ROWS), min(offset, _MOST_ROWS)),
    )
    return [memory_of(row) for row in rows]


def find(connection: sqlite3.Connection, id_: str) -> Memory:
    """Give the memory with this id or beginning, ``mem_`` left out or not."""
    start = id_ if id_.startswith("mem_") else f"mem_{id_}"
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM memories WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
        (packed(start), packed(start + "\uffff"), _SHOWN_CANDIDATES),
    ).fetchall()
    if not rows or not id_:
        raise MemoryNotFoundError(f"no memory has the id {id_}", id=id_)
    exact = [row for row in rows if row[0] == start]
    if len(rows) > 1 and not exact:
        raise AmbiguousIdError(
            f"{id_} begins the ids of several memories",
            id=id_,
            candidates=[row[0] for row in rows],
        )
    return memory_of((exact or rows)[0])


def counts(connection: sqlite3.Connection, column: str) -> Mapping[str, int]:
    """Count memories by ``project`` or ``type``, most first."""
    rows = connection.execute(
        f"SELECT {column}, count(*) FROM memories GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    return {unpacked(name): number for name, number in rows}


def _corpus(connection: sqlite3.Connection, asked: Iterable[Word]) -> Corpus:
    memories, words = connection.execute("SELECT memories, words FROM tally").fetchone()
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
    connection: sqlite3.Connection, corpus: Corpus, filters: Filters, limit: int
) -> list[Candidate]:
    forms = _telling(corpus)
    if not forms:
        return []
    where, values = _where(filters)
    match = " OR ".join('"' + form.replace('"', '""') + '"' for form in forms)
    rows = connection.execute(f"{_SEARCH} {where} ORDER BY rank LIMIT ?", (match, *values, limit))
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


def _load(connection: sqlite3.Connection, seqs: Sequence[int]) -> dict[int, Memory]:
    # One JSON parameter: the number of parameters is limited.
    rows = connection.execute(
        f"SELECT seq, {COLUMNS} FROM memories WHERE seq IN (SELECT value FROM json_each(?))",
        (str(list(seqs)),),
    )
    return {row[0]: memory_of(row[1:]) for row in rows}


def _where(filters: Filters) -> tuple[str, list[Any]]:
    clauses: list[str] = []
    values: list[Any] = []
    for column, value in (
        ("project", filters.project),
        ("type", filters.type),
        ("agent", filters.agent),
    ):
        if value is not None:
            clauses.append(f"AND m.{column} = ?")
            values.append(packed(value))
    return " ".join(clauses), values
