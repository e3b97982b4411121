"""Which entries a question is compared with, and what stands around them.

The index tells which entries have which words; the sum of the words' weights orders them. That is a
fifth of what the index's own bm25 takes, which reads a word's whole list twice, and ranking looks
at how often and where a word stands anyway.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from dshloop.memory.answers import Filters
from dshloop.memory.recall.lines import Corpus, Line, Term
from dshloop.memory.recall.rank import Beside
from dshloop.memory.sqlite.filters import where
from dshloop.memory.sqlite.index import FIELDS, quoted

# A common word makes the index read a large part of the store and tells little.
_COMMON_FROM_ROWS = 1_000
_COMMON_SHARE = 0.05
_MOST_FORMS = 64
_MOST_READ = 30_000
"""Rows that the words of a question may have together; the rarest words come first."""
_PAGE = 10
"""With fewer entries than that, what was left out is looked for after all."""
_FEW_FORMS = 2
"""With so few words the field they stand in decides which of many entries are looked at."""
_PROMINENT = 0.5

_WITH_WORD = "SELECT rowid, ? AS weight FROM memory_index WHERE memory_index MATCH ?"
_NEWEST = f"ORDER BY rowid DESC LIMIT {_MOST_READ}"
_HERE = "WITH here (seq) AS (SELECT value FROM json_each(?)) "
_TEXTS = ", ".join(f"i.c{at}" for at in range(len(FIELDS) + 1))
_LINE = f"m.seq, {_TEXTS}, m.words, m.session, m.created_at, m.strength, m.project, m.agent"
# FTS5 keeps what it was given in a table of its own, read by number without asking the index.
_LINES = """
    FROM json_each(?) AS j CROSS JOIN entries AS m ON m.seq = j.value
    CROSS JOIN memory_index_content AS i ON i.id = m.seq
"""
# The two lines before and the one after. Entries without a session stand beside those of the same
# project and kind: notes that are taken one after the other (rank.py looks at the time).
_BEFORE = "SELECT seq FROM entries AS b WHERE {same} AND b.seq < m.seq ORDER BY b.seq DESC LIMIT 1"
_AFTER = "SELECT seq FROM entries AS b WHERE {same} AND b.seq > m.seq ORDER BY b.seq LIMIT 1"
_IN_SESSION = "b.session = m.session AND b.session <> '' AND b.latest"
_IN_PROJECT = "b.project = m.project AND b.kind = m.kind AND b.latest = 1"
_BESIDE = f"""
    SELECT m.seq, ({_BEFORE}), ({_BEFORE} OFFSET 1), ({_AFTER})
    FROM json_each(?) AS j CROSS JOIN entries AS m ON m.seq = j.value
"""


def candidates(
    connection: sqlite3.Connection,
    terms: Sequence[Term],
    corpus: Corpus,
    filters: Filters,
    now: float,
    most: int,
) -> list[Line]:
    """Give the entries that pass the filters and have most of the question's words."""
    weights = {form: weight for form, weight in weights_of(terms) if form in corpus.frequency}
    forms = telling(weights, corpus)
    found = _passing(connection, _heaviest(connection, forms), filters, now, most)
    if len(found) < min(most, _PAGE) and _left_out(weights, forms, corpus):
        here = _members(connection, filters, now)
        if here is not None:
            within = _heaviest(connection, weights, here)
            found = _passing(connection, within, filters, now, most)
    return found


def _passing(
    connection: sqlite3.Connection,
    seqs: Iterator[Sequence[Any]],
    filters: Filters,
    now: float,
    most: int,
) -> list[Line]:
    """Read the entries that pass the filters, in this order."""
    conditions, values = where(filters, now)
    found: list[Line] = []
    size = most
    while len(found) < most:
        batch = [seq for seq, _ in islice(seqs, size)]
        if not batch:
            break
        found += _lines(connection, batch, f"WHERE {conditions}", values)
        size *= 2  # a filter that few entries pass is looked for further down
    return found[:most]


def _left_out(weights: Mapping[str, float], forms: Mapping[str, float], corpus: Corpus) -> bool:
    return len(forms) < len(weights) or any(corpus.frequency[form] > _MOST_READ for form in forms)


def _members(connection: sqlite3.Connection, filters: Filters, now: float) -> list[int] | None:
    """Give the entries of a project or session, None for those of many: what is common in the
    store may be all that a small project has."""
    if filters.project is None and filters.session is None:
        return None
    conditions, values = where(filters, now)
    rows = connection.execute(
        f"SELECT m.seq FROM entries AS m WHERE {conditions} LIMIT {_MOST_READ + 1}", values
    ).fetchall()
    return [seq for (seq,) in rows] if len(rows) <= _MOST_READ else None


def beside(connection: sqlite3.Connection, of: Iterable[Line]) -> dict[int, Beside]:
    """Give the neighbours of lines, and as far as these tell, the neighbours of the neighbours."""
    rows: list[tuple[int, int | None, int | None, int | None]] = []
    here = list(of)
    for same, condition in ((_IN_SESSION, "<> ''"), (_IN_PROJECT, "= ''")):
        seqs = [line.seq for line in here if (line.session == "") == (condition == "= ''")]
        if seqs:
            rows += connection.execute(_BESIDE.format(same=same), (json.dumps(seqs),))
    return around(rows)


def around(
    rows: Iterable[tuple[int, int | None, int | None, int | None]],
) -> dict[int, Beside]:
    """Put lines beside each other: each of the rows has one, the one before it, the one before
    that, and the one after it."""
    before: dict[int, tuple[int, ...]] = {}
    after: dict[int, tuple[int, ...]] = {}
    for seq, near, far, behind in rows:
        before[seq] = _known(near, far)
        after[seq] = _known(behind)
        if behind is not None:
            before.setdefault(behind, _known(seq, near))
        if near is not None:
            before.setdefault(near, _known(far))
            after.setdefault(near, (seq,))
        if near is not None and far is not None:
            after.setdefault(far, (near,))
    return {seq: Beside(before.get(seq, ()), after.get(seq, ())) for seq in {**before, **after}}


def _known(*seqs: int | None) -> tuple[int, ...]:
    return tuple([seq for seq in seqs if seq is not None])


def lines(
    connection: sqlite3.Connection, seqs: Iterable[int], filters: Filters, now: float
) -> list[Line]:
    """Give entries by their numbers, and whether each passes the filters; none that has expired or
    is another project's."""
    fits, values = where(filters, now)
    visible, more = where(Filters(project=filters.project), now)
    rows = connection.execute(
        f"SELECT {_LINE}, ({fits}) AS fits {_LINES} WHERE {visible}",
        (*values, json.dumps(list(seqs)), *more),
    )
    return [_line(row) for row in rows]


def _lines(
    connection: sqlite3.Connection, seqs: Sequence[int], condition: str, values: Sequence[Any]
) -> list[Line]:
    rows = connection.execute(
        f"SELECT {_LINE}, 1 AS fits {_LINES} {condition}", (json.dumps(seqs), *values)
    )
    return [_line(row) for row in rows]


def _line(row: Sequence[Any]) -> Line:
    seq, title, content, concepts, files, manner, words, session, at, strength, *scope, fits = row
    texts = (title, content, concepts, files)
    return Line(seq, texts, manner, words, session, at, strength, scope, fits)


def weights_of(terms: Iterable[Term]) -> Iterator[tuple[str, float]]:
    """Yield the worth of each form; one that speaks for several words counts by the best."""
    weights: dict[str, float] = {}
    for term in terms:
        whole = [] if term.exact is None else [(term.exact, 1.0)]
        for form, worth in (*whole, *term.parts, *term.others):
            name = form.strip(" ")
            weights[name] = max(weights.get(name, 0.0), worth * term.weight)
    yield from weights.items()


def telling(
    weights: Mapping[str, float], corpus: Corpus, most_read: int = _MOST_READ
) -> dict[str, float]:
    """Choose the forms to look for: those in the store, rarest first, few common ones."""
    rows = corpus.frequency
    forms = sorted(weights, key=lambda form: (rows[form], form))
    if corpus.entries >= _COMMON_FROM_ROWS:
        common = corpus.entries * _COMMON_SHARE
        forms = [form for form in forms if rows[form] <= common] or forms
    chosen: dict[str, float] = {}
    read = 0
    for form in forms[:_MOST_FORMS]:
        read += rows[form]
        if chosen and read > most_read:
            break
        chosen[form] = weights[form]
    return chosen


def _heaviest(
    connection: sqlite3.Connection,
    forms: Mapping[str, float],
    here: Sequence[int] | None = None,
) -> Iterator[tuple[int, float]]:
    """Order entries by the weight of the words that they have, then newest first; those ``here``
    when it is given."""
    asked = [(quoted(form), weight) for form, weight in islice(forms.items(), _MOST_FORMS)]
    if not asked:
        return iter(())
    if len(forms) <= _FEW_FORMS:
        asked += [(f"{{title concepts}} : {form}", weight * _PROMINENT) for form, weight in asked]
    values = [value for form, weight in asked for value in (weight, form)]
    if here is not None:
        one = f"{_WITH_WORD} AND +rowid IN here"
        values.insert(0, json.dumps(here))
    elif len(forms) > 1:
        one = _WITH_WORD
    else:  # only a word that stands alone may be in more rows than are read
        one = f"SELECT * FROM ({_WITH_WORD} {_NEWEST})"
    return connection.execute(
        f"{'' if here is None else _HERE}SELECT rowid, sum(weight) "
        f"FROM ({' UNION ALL '.join([one] * len(asked))}) GROUP BY rowid ORDER BY 2 DESC, 1 DESC",
        values,
    )
