"""Which entries are near a question in meaning, counted so that any model can be used.

Small models find everything alike: their vectors share a direction that says nothing. So the mean
of all vectors is taken off, and nearness is told in standard deviations, less what chance makes of
the nearest of so many entries. Neighbours in the session count in part (vector_math.py), for a
question is about an exchange and its answer is one line of it.

In memory are the signs of the vectors, one bit a dimension; with all else 90 bytes an entry. They
choose (1 ms for 100,000), then what is chosen is measured by the stored vectors.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dshloop.memory.answers import Filters
from dshloop.memory.sqlite.connection import Connection
from dshloop.memory.sqlite.filters import where
from dshloop.memory.sqlite.meaning import vector_math as math
from dshloop.memory.sqlite.meaning.fusion import Nearness, by_chance
from dshloop.memory.sqlite.meaning.vector_math import Floats, Rows, Signs
from dshloop.memory.sqlite.meaning.vectors import (
    NONSENSE,
    Model,
    blobs_of,
    check_length,
    model_of,
    unpacked,
)
from dshloop.memory.sqlite.rows import Stored

if TYPE_CHECKING:
    from dshloop.memory.embedding.embedder import Vector, Vectors

_CHOSEN = 300
"""Entries that signs choose, of which the filters must leave enough."""
_GUESSED = 4
_SENSE = 3.0
"""How near to nonsense real questions come, in standard deviations, in any language."""
_SAMPLE = 1_000
_CENTRE_HOLDS = 500
_AT_ONCE = 8_192


class Usual(NamedTuple):
    """What is usual for a question: the mean cosine and its standard deviation over all vectors;
    ``chance`` in such deviations."""

    mean: float
    deviation: float
    chance: float


class VectorIndex:
    """The vectors of one model in one database, as far as they are kept in memory.

    `refresh` takes in what was stored since; what is gone is noticed when it is measured.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._model: Model | None = None
        self._centre: Vector = np.empty(0, np.float32)
        self._usual: Vectors = np.empty((0, 0), np.float32)
        self._nonsense: Vectors = np.empty((0, 0), np.float32)
        self._groups: dict[Stored | tuple[Stored, str], int] = {}
        self._clear()

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def stored(self) -> int:
        """How many vectors there are."""
        return len(self)

    def refresh(self, connection: Connection) -> None:
        """Bring it up to date, inside the transaction that will ask it."""
        self._model = model_of(connection, self.name)
        added = self._stored_after(connection, int(self._numbers.max(initial=0)))
        if len(self) + len(added) > 2 * self._centred_at:  # the old centre is one of few
            self._clear()
            added = self._stored_after(connection, 0)
            self._take_centre(connection, added[:, 0])
        if len(added):
            self._append(connection, added)

    def ask(
        self, connection: Connection, question: Vector, filters: Filters, now: float
    ) -> Asked | None:
        """Look at the vectors with a question; None when there are none. EMBEDDING_INVALID."""
        if self._model is None or not len(self):
            return None
        check_length(self._model, len(question))
        return Asked(self, connection, math.unit(question - self._centre), filters, now)

    def _clear(self) -> None:
        none = np.empty(0, np.int64)
        self._numbers: Rows = none
        self._seqs: Rows = none
        self._in_group: Rows = none
        self._moments: Rows = none
        self._signs: Signs = np.empty((0, 0), np.uint64)
        self._by_seq: Rows = none
        self._before: Rows = none
        self._after: Rows = none
        self._centred_at = 0

    def _stored_after(self, connection: Connection, number: int) -> Rows:
        """Give (number, seq, group, moment) of the vectors after a number."""
        if self._model is None:
            return np.empty((0, 4), np.int64)
        values = (number, self._model.number)
        return self._placed(connection, "v.number > ? AND v.model = ?", values)

    def _placed(self, connection: Connection, which: str, values: Sequence[Any]) -> Rows:
        """Give (number, seq, group, moment) of some vectors, in the order of their numbers."""
        found = connection.execute(
            "SELECT v.number, v.seq, e.session, e.project, e.kind, CAST(e.created_at AS BIGINT)"
            f" FROM vectors AS v JOIN entries AS e ON e.seq = v.seq WHERE {which}"
            " ORDER BY v.number",
            values,
        )
        parts = [np.empty((0, 4), np.int64)]
        while rows := found.fetchmany(_AT_ONCE):
            parts.append(
                np.array([(n, seq, self._group(*of), at) for n, seq, *of, at in rows], np.int64)
            )
        return np.concatenate(parts)

    def _group(self, session: Stored, project: Stored, kind: str) -> int:
        """Number what entries have neighbours in: sessions from 0 on, others from -1 down."""
        number = self._groups.setdefault(session or (project, kind), len(self._groups))
        return number if session else -1 - number

    def _take_centre(self, connection: Connection, numbers: Rows) -> None:
        """Look at a sample of the vectors and at texts that have nothing to do with them."""
        assert self._model is not None
        step = max(len(numbers) // _SAMPLE, 1)
        _, sample = self._vectors(connection, numbers[::step])
        size = self._model.dimensions
        background = unpacked(blobs_of(self._model.background, size), size)
        sample = np.concatenate([sample, background[: -len(NONSENSE)]])
        self._centre = sample.mean(axis=0)
        self._usual = math.unit(sample - self._centre)
        self._nonsense = math.unit(background[-len(NONSENSE) :] - self._centre)
        self._centred_at = max(len(numbers), _CENTRE_HOLDS)

    def _append(self, connection: Connection, added: Rows) -> None:
        parts = [self._signs] if len(self) else []
        for start in range(0, len(added), _AT_ONCE):
            _, vectors = self._vectors(connection, added[start : start + _AT_ONCE, 0])
            parts.append(math.signs_of(vectors - self._centre))
        self._signs = np.concatenate(parts, axis=1)
        self._numbers = np.concatenate([self._numbers, added[:, 0]])
        self._seqs = np.concatenate([self._seqs, added[:, 1]])
        self._in_group = np.concatenate([self._in_group, added[:, 2]])
        self._moments = np.concatenate([self._moments, added[:, 3]])
        self._leave_out_replaced()
        self._by_seq = np.argsort(self._seqs)
        self._before, self._after = math.links(self._seqs, self._in_group, self._moments)

    def _leave_out_replaced(self) -> None:
        """Keep the last vector of each entry."""
        order = np.lexsort((self._numbers, self._seqs))
        last = np.append(np.diff(self._seqs[order]) != 0, True)
        if not last.all():
            kept = np.sort(order[last])
            self._numbers, self._seqs = self._numbers[kept], self._seqs[kept]
            self._in_group, self._moments = self._in_group[kept], self._moments[kept]
            self._signs = np.ascontiguousarray(self._signs[:, kept])

    def guesses(self, question: Vector) -> Floats:
        """Give the nearness of all rows as their signs let guess it."""
        own = math.guessed(self._signs, question)
        return math.with_neighbours(own, np.arange(len(self)), self._before, self._after)

    def seqs_of(self, rows: Rows) -> Rows:
        """Give the entries' numbers."""
        return np.asarray(self._seqs[rows])

    def rows_of(self, seqs: Rows) -> Rows:
        """Give the rows of those entries that have one."""
        places = np.searchsorted(self._seqs, seqs, sorter=self._by_seq)
        rows = self._by_seq[np.minimum(places, len(self) - 1)]
        return np.asarray(rows[self._seqs[rows] == seqs])

    def usual(self, question: Vector) -> Usual:
        """Give what is usual for a question, and how near the nearest entry is by chance: nearer
        when it is no question."""
        near = np.vecdot(self._usual, question)
        mean, deviation = float(near.mean()), max(float(near.std()), 1e-6)
        nonsense = (float(np.vecdot(self._nonsense, question).max()) - mean) / deviation
        return Usual(mean, deviation, by_chance(self.stored) + max(nonsense - _SENSE, 0.0))

    def measured(
        self, connection: Connection, question: Vector, usual: Usual, rows: Rows
    ) -> tuple[Floats, Floats]:
        """Give the nearness of rows alone and together with their neighbours, NaN where the vector
        is gone."""
        beside = self._before[rows]
        needed = np.unique(np.concatenate([rows, beside, self._before[beside], self._after[rows]]))
        numbers = self._numbers[needed]
        found, vectors = self._vectors(connection, numbers)
        own = np.full(len(self), np.nan, np.float32)
        near = np.vecdot(math.unit(vectors - self._centre), question)
        own[needed[np.isin(numbers, found)]] = (near - usual.mean) / usual.deviation
        together = math.with_neighbours(own, rows, self._before, self._after)
        return own[rows] - np.float32(usual.chance), together - np.float32(usual.chance)

    def _vectors(self, connection: Connection, numbers: Rows) -> tuple[Rows, Floats]:
        """Read vectors by number, in order; some may be gone."""
        assert self._model is not None
        rows = connection.execute(
            "SELECT number, vector FROM vectors WHERE number IN (SELECT value FROM json_each(?))"
            " ORDER BY number",
            (json.dumps(numbers.tolist()),),
        ).fetchall()
        found = np.array([number for number, _ in rows], np.int64)
        return found, unpacked([vector for _, vector in rows], self._model.dimensions)


class Asked:
    """One question's view of the vectors, inside a transaction that reads (fusion.Near)."""

    def __init__(
        self,
        index: VectorIndex,
        connection: Connection,
        question: Vector,
        filters: Filters,
        now: float,
    ) -> None:
        self._index = index
        self._connection = connection
        self._question = question
        self._usual = index.usual(question)
        self._filters = filters
        self._now = now

    def nearest(self, wanted: int) -> list[int]:
        """Give the entries nearest in meaning that pass the filters, by number, nearest first."""
        rows = self._chosen(_GUESSED * wanted)  # a guess may be off: more are measured
        _, values = self._measured(rows)
        order = np.argsort(-values, kind="stable")  # NaN, whose vector is gone, comes last
        kept = order[~np.isnan(values[order])]
        return [int(seq) for seq in self._index.seqs_of(rows[kept[:wanted]])]

    def nearness(self, seqs: Sequence[int]) -> dict[int, Nearness]:
        """Give how near entries are; those without a vector are left out."""
        rows = self._index.rows_of(np.array(seqs, np.int64))
        alone, together = self._measured(rows)
        known = ~np.isnan(alone)
        found = map(Nearness, alone[known].tolist(), together[known].tolist())
        return dict(zip(self._index.seqs_of(rows[known]).tolist(), found, strict=True))

    def _measured(self, rows: Rows) -> tuple[Floats, Floats]:
        return self._index.measured(self._connection, self._question, self._usual, rows)

    def _chosen(self, wanted: int) -> Rows:
        """Give the rows of the best guesses that pass the filters."""
        guesses = self._index.guesses(self._question)
        chosen = math.largest(guesses, max(_CHOSEN, 2 * wanted))
        kept = chosen[np.isin(self._index.seqs_of(chosen), self._passing(chosen))][:wanted]
        if len(kept) == wanted or len(chosen) == len(guesses):
            return kept
        rows = np.sort(self._index.rows_of(self._passing(None)))
        return np.asarray(rows[math.largest(guesses[rows], wanted)])

    def _passing(self, rows: Rows | None) -> Rows:
        """Give the numbers of the entries that pass the filters, of all or of some rows."""
        conditions, values = where(self._filters, self._now)
        if rows is not None:
            conditions += " AND m.seq IN (SELECT value FROM json_each(?))"
            values = [*values, json.dumps(self._index.seqs_of(rows).tolist())]
        found = self._connection.execute(
            f"SELECT m.seq FROM entries AS m WHERE {conditions}", values
        )
        return np.fromiter((seq for (seq,) in found), np.int64)
