"""PostgreSQL's connection as the statements of a store want it (sqlite/connection.py).

Statements that only write wait in a queue until something is read or the transaction ends, and go
to the server together: a memory with its words and its change costs one round trip.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dshloop.memory.postgres.statistics import Statistics, counted
from dshloop.memory.postgres.words import asked, fitting, original, vector
from dshloop.memory.sqlite.rows import Packed, unpacked

if TYPE_CHECKING:
    import psycopg

    Server = psycopg.Connection[tuple[Any, ...]]
    Cursor = psycopg.Cursor[tuple[Any, ...]]

Asking = tuple[str, Sequence[Any]]
"""A statement and its values."""

_AT_ONCE = 200
"""Rows of an answer that comes piece by piece, and statements of a queue."""
_ADD_WORDS = """
    INSERT INTO memory_index (
      seq, latest, size, created_at, strength, expires_at, kind, project, agent, session,
      title_words, content_words, concept_words, file_words, manner, words
    )
    SELECT
      seq, latest, words, created_at, strength, expires_at, kind, project, agent, session,
      %s, %s, %s, %s, %s, CAST(%s AS tsvector)
    FROM entries WHERE seq = %s
"""
_ROWS_WITH = """
    SELECT (
      SELECT count(*) FROM (
        SELECT 1 FROM memory_index WHERE words @@ form LIMIT %s
      ) AS found
    )
    FROM unnest(CAST(CAST(%s AS text[]) AS tsquery[])) WITH ORDINALITY AS asked (form, place)
    ORDER BY place
"""
_WITH_ALL = """
    SELECT seq FROM (
      SELECT seq FROM memory_index WHERE words @@ CAST(? AS tsquery) OFFSET 0
    ) AS found
    ORDER BY seq DESC LIMIT ?
"""
# OFFSET 0: else the order would be taken from an index, and every entry looked at.
_BLOCK = """
    SELECT min(number), max(number)
    FROM (SELECT nextval('entry_numbers') AS number FROM generate_series(1, %s)) AS taken
"""
_KEY = "SELECT pg_advisory_xact_lock(hashtextextended(%s, {salt}))"


class Lent:
    """A connection to the server inside one transaction, or outside of any.

    ``piecewise``: answers come piece by piece from the server, for those that are large.
    ``salt`` tells the keys of this store's schema from those of others in the same database.
    """

    def __init__(
        self, server: Server, statistics: Statistics, salt: int = 0, *, piecewise: bool = False
    ) -> None:
        self.server = server
        self.statistics = statistics
        self._salt = salt
        self._piecewise = piecewise
        self._pieces: Any = None
        self._queue: list[Asking] = []
        self._seq: int | None = None
        self._operation: int | None = None

    def provide(self, seq: int, operation: int) -> None:
        """Take numbers that came with the transaction's beginning."""
        self._seq, self._operation = seq, operation

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Answered:
        return self.native(translated(statement), [given(value) for value in values])

    def native(self, statement: str, values: Sequence[Any] = ()) -> Answered:
        """Run a statement that is written for PostgreSQL."""
        if not _reads(statement):
            self._queue.append((statement, values))
            if len(self._queue) >= _AT_ONCE:
                self.flush()
            return Answered(self, None)
        if self._piecewise:
            self.close()
            self._pieces = self.server.cursor(name="records")
            self._pieces.itersize = _AT_ONCE
            return Answered(self, self._pieces.execute(statement, values))
        return Answered(self, self.flush((statement, values)))

    def close(self) -> None:
        """End the answer that came piece by piece."""
        if self._pieces is not None:
            self._pieces.close()
        self._pieces = None

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        for row in rows:
            self.execute(statement, row)

    def flush(self, last: Asking | None = None) -> Cursor | None:
        """Send what waits, and one statement more; give the last one's cursor."""
        queue, self._queue = self._queue, []
        if last is not None:
            queue.append(last)
        cursor: Cursor | None = None
        if len(queue) == 1:
            return self.server.execute(*queue[0])
        if queue:
            with self.server.pipeline():
                for statement, values in queue:
                    cursor = self.server.execute(statement, values)
        return cursor

    def findable(self) -> int:
        self.statistics.refresh(self)
        return (self.statistics.size or counted(self))[0]

    def new_seq(self, count: int = 1) -> int:
        if count == 1:
            if self._seq is None:
                return int(self.native("SELECT nextval('entry_numbers')").fetchone()[0])
            seq, self._seq = self._seq, None
            return seq
        while True:
            first, last = self.native(_BLOCK, (count,)).fetchone()
            if last - first < count:  # nobody took one between
                return int(first)

    def new_operation(self) -> int:
        if self._operation is None:
            return int(self.native("SELECT nextval('operation_numbers')").fetchone()[0])
        number, self._operation = self._operation, None
        return number

    def alone(self, key: str) -> bool:
        self.native(_KEY.format(salt=self._salt), (fitting(key),))
        return True

    def add_words(self, seq: int, indexed: tuple[str, ...]) -> None:
        self.native(_ADD_WORDS, (*map(fitting, indexed), vector(indexed), seq))

    def drop_words(self, seq: int) -> None:
        self.execute("DELETE FROM memory_index WHERE seq = ?", (seq,))

    def scrub_words(self) -> None:
        """Nothing to do: what was deleted is overwritten when the server vacuums the table."""

    def rows_with(self, forms: Sequence[str], most: int) -> list[int]:
        self.statistics.refresh(self)
        counts = self.statistics.counts
        rest = [form for form in forms if form not in counts]
        if not rest:
            return [counts[form] for form in forms]
        # Anywhere: which field it stands in isn't known without looking at each entry.
        found = self.native(_ROWS_WITH, (most, [asked(form) for form in rest]))
        counts = {**counts, **{form: one for form, (one,) in zip(rest, found, strict=True)}}
        return [counts[form] for form in forms]

    def with_all(self, groups: Sequence[Sequence[str]], most: int) -> tuple[str, Sequence[Any]]:
        either = " | ".join(
            f"({' & '.join(asked(form, 'content') for form in forms)})" for forms in groups
        )
        return _WITH_ALL, (either, most)


class Answered:
    """The rows that a statement gave; a statement that writes is sent when somebody asks."""

    def __init__(self, lent: Lent, cursor: Cursor | None) -> None:
        self._lent = lent
        self._sent = cursor

    @property
    def rowcount(self) -> int:
        return self._cursor().rowcount

    def fetchone(self) -> Any:
        row = self._cursor().fetchone()
        return None if row is None else _read(row)

    def fetchall(self) -> list[Any]:
        return [_read(row) for row in self._cursor().fetchall()]

    def fetchmany(self, size: int) -> list[Any]:
        return [_read(row) for row in self._cursor().fetchmany(size)]

    def __iter__(self) -> Iterator[Any]:
        return map(_read, self._cursor())

    def _cursor(self) -> Cursor:
        if self._sent is None:
            self._sent = self._lent.flush()
            assert self._sent is not None, "nothing was asked"
        return self._sent


@lru_cache(maxsize=500)
def translated(statement: str) -> str:
    return statement.replace("%", "%%").replace("?", "%s")


@lru_cache(maxsize=500)
def _reads(statement: str) -> bool:
    """Tell whether a statement's rows are wanted; waiting for a lock gives none."""
    start = statement.lstrip()
    return start.startswith(("SELECT", "WITH")) and "pg_advisory_xact_lock(" not in start


def given(value: Any) -> Any:
    if type(value) is str:
        return fitting(value)
    return fitting(unpacked(value)) if isinstance(value, Packed) else value


def _read(row: tuple[Any, ...]) -> tuple[Any, ...]:
    for value in row:
        if type(value) is str and "\ufdd0" in value:
            return tuple([original(one) if type(one) is str else one for one in row])
    return row
