"""Nearest vectors found by the server, where it has pgvector.

Vectors are stored as everywhere (sqlite/meaning/vectors.py); with pgvector a trigger writes each
one again as a ``vector``, and each model has an HNSW index. So a question reads a few hundred
vectors of the server instead of all of them; how near those are is counted as everywhere.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dshloop.memory.answers import Filters
from dshloop.memory.postgres.connection import Lent, given, translated
from dshloop.memory.sqlite.filters import where
from dshloop.memory.sqlite.meaning import vector_math as math
from dshloop.memory.sqlite.meaning.fusion import Nearness
from dshloop.memory.sqlite.meaning.nearness import Asked, VectorIndex
from dshloop.memory.sqlite.meaning.vectors import check_length, model_of

if TYPE_CHECKING:
    from dshloop.memory.embedding.embedder import Vector
    from dshloop.memory.sqlite.connection import Connection

_CHOSEN = 200
"""Entries that the server chooses."""
_SAMPLE = 1_000
_FRESH = 60.0

_NEAREST = """
    SELECT v.seq FROM vectors AS v JOIN entries AS m ON m.seq = v.seq
    WHERE v.model = {model} AND {conditions}
    ORDER BY CAST(v.embedding AS {vector}({size})) OPERATOR({schema}.<=>)
      CAST(%s AS {vector}({size}))
    LIMIT %s
"""
_SAME_SESSION = "a.session <> '' AND b.session = a.session"
_SAME_PROJECT = "a.session = '' AND b.project = a.project AND b.kind = a.kind"
_AROUND = """
    SELECT DISTINCT b.seq FROM unnest(CAST(%s AS bigint[])) AS s (seq)
    JOIN memory_index AS a ON a.seq = s.seq CROSS JOIN LATERAL ({sides}) AS b
""".format(
    sides=" UNION ALL ".join(
        f"(SELECT b.seq FROM memory_index AS b WHERE {same} AND b.seq {side} LIMIT {most})"
        for same in (_SAME_SESSION, _SAME_PROJECT)
        for side, most in (
            ("< a.seq ORDER BY b.seq DESC", 2),
            ("> a.seq ORDER BY b.seq", 1),
        )
    )
)
_WHERE = """
    SELECT n.nspname FROM pg_attribute AS a
    JOIN pg_type AS t ON t.oid = a.atttypid JOIN pg_namespace AS n ON n.oid = t.typnamespace
    WHERE a.attrelid = CAST('vectors' AS regclass) AND a.attname = 'embedding'
"""
_COUNT = "SELECT count(*) FROM vectors WHERE model = ?"
_SOME = """
    SELECT number FROM vectors WHERE model = ? AND number % ? = 0 ORDER BY number LIMIT ?
"""


def index_of(connection: Connection, name: str) -> VectorIndex:
    """Give the index of a model's vectors: the server's, else one in memory."""
    assert isinstance(connection, Lent)
    found = connection.native(_WHERE).fetchone()
    return VectorIndex(name) if found is None else ServerIndex(name, found[0])


class ServerIndex(VectorIndex):
    """The vectors of one model on a server with pgvector; in memory are those of one question."""

    def __init__(self, name: str, schema: str) -> None:
        super().__init__(name)
        self._schema = '"' + schema.replace('"', '""') + '"'
        self._stored = 0
        self._until = 0.0

    @property
    def stored(self) -> int:
        return self._stored

    def refresh(self, connection: Connection) -> None:
        """Forget the last question; look at a sample again when the one there is too old."""
        model, known = model_of(connection, self.name), self._model
        self._clear()
        self._groups.clear()
        self._model = model
        if model is None or (model == known and time.monotonic() < self._until):
            return
        self._stored = int(connection.execute(_COUNT, (model.number,)).fetchone()[0])
        step = max(self._stored // _SAMPLE, 1)
        found = connection.execute(_SOME, (model.number, step, _SAMPLE)).fetchall()
        self._take_centre(connection, np.array([number for (number,) in found], np.int64))
        self._until = time.monotonic() + (_FRESH if self._stored > _SAMPLE else 0.0)

    def ask(
        self, connection: Connection, question: Vector, filters: Filters, now: float
    ) -> Asked | None:
        if self._model is None or not self._stored:
            return None
        check_length(self._model, len(question))
        wanted = math.unit(question - self._centre)
        self.load(connection, self._nearest(connection, wanted, filters, now))
        return ServerAsked(self, connection, wanted, filters, now) if len(self) else None

    def load(self, connection: Connection, seqs: Sequence[int]) -> None:
        """Read where the vectors of entries and of their neighbours stand, unless that is known."""
        assert isinstance(connection, Lent)
        known = set(self._seqs.tolist())
        new = [seq for seq in seqs if seq not in known]
        if not new:
            return
        beside = [seq for (seq,) in connection.native(_AROUND, (new,))]
        needed = sorted({*new, *beside} - known)
        assert self._model is not None
        which = "v.model = ? AND v.seq IN (SELECT value FROM json_each(?))"
        added = self._placed(connection, which, (self._model.number, str(needed)))
        if len(added):
            self._append(connection, added)

    def _nearest(
        self, connection: Connection, question: Vector, filters: Filters, now: float
    ) -> list[int]:
        assert isinstance(connection, Lent)
        assert self._model is not None
        conditions, values = where(filters, now)
        statement = _NEAREST.format(
            model=self._model.number,
            size=self._model.dimensions,
            schema=self._schema,
            vector=f"{self._schema}.vector",
            conditions=translated(conditions),
        )
        written = "[" + ",".join(f"{number:.6g}" for number in question.tolist()) + "]"
        bound: list[Any] = [*map(given, values), written, _CHOSEN]
        return [seq for (seq,) in connection.native(statement, bound)]


class ServerAsked(Asked):
    """One question's view of the vectors that it has read."""

    _index: ServerIndex

    def nearness(self, seqs: Sequence[int]) -> dict[int, Nearness]:
        self._index.load(self._connection, seqs)
        return super().nearness(seqs)
