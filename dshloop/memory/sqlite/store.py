"""The embedded store as a ``MemoryStore``: one file that appears with the first memory."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dshloop.errors import MemoryEmptyError, MemoryNotFoundError
from dshloop.memory.entries import Entry, NewMemory
from dshloop.memory.sqlite import lookup, search, write
from dshloop.memory.sqlite.connect import (
    explained,
    open_for_reading,
    open_for_writing,
    transaction,
)
from dshloop.memory.sqlite.migrate import migrate, version_of
from dshloop.memory.sqlite.rank import FLOOR
from dshloop.memory.sqlite.rows import Row
from dshloop.memory.sqlite.schema import MIGRATIONS
from dshloop.memory.store import DEFAULT_LIMIT, Filters, Forgotten, Hit, Remembered, Stats
from dshloop.paths import private_folder

_EVERYTHING = Filters()


class SqliteStore:
    """Memories in ``path``. Readers never create the file: without one the store is empty.

    Not for use by several threads at once; several processes are fine.
    """

    name = "embedded"

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock
        self._connection: sqlite3.Connection | None = None
        self._writable = False

    def remember(self, new: NewMemory) -> Remembered:
        new = new.checked()
        with self._writing() as connection:
            return write.insert_or_merge(connection, new, self._clock())

    def recall(
        self,
        query: str,
        filters: Filters = _EVERYTHING,
        *,
        limit: int = DEFAULT_LIMIT,
        offset: int = 0,
        min_score: float | None = None,
        semantic: bool | None = None,  # noqa: ARG002
    ) -> Sequence[Hit]:
        if not query.strip():
            raise MemoryEmptyError("there is nothing to look for: the question is blank")
        floor = FLOOR if min_score is None else min_score
        with self._reading() as connection:
            if connection is None:
                return ()
            return search.recall(connection, query, filters, self._clock(), limit, offset, floor)

    def list(
        self,
        filters: Filters = _EVERYTHING,
        *,
        limit: int | None = DEFAULT_LIMIT,
        offset: int = 0,
        oldest_first: bool = False,
    ) -> Sequence[Entry]:
        with self._reading() as connection:
            if connection is None:
                return ()
            rows = lookup.newest(
                connection, filters, self._clock(), limit, offset, oldest_first=oldest_first
            )
            return [row.entry for row in rows]

    def count(self, filters: Filters = _EVERYTHING) -> int:
        with self._reading() as connection:
            return 0 if connection is None else lookup.count(connection, filters, self._clock())

    def get(self, id: str) -> Entry:  # noqa: A002
        with self._reading() as connection:
            return lookup.find(connection, id, self._clock()).entry

    def forget(self, ids: Sequence[str], *, dry_run: bool = False) -> Forgotten:
        with self._reading() as connection:
            rows, missing = self._look_up(connection, ids)
        if not dry_run:
            with self._writing() as connection:
                rows, missing = self._look_up(connection, ids)  # again: others may have been here
                for row in rows:
                    write.delete(connection, row.seq)
        return Forgotten(tuple(row.entry for row in rows), missing)

    def stats(self) -> Stats:
        where = str(self.path)
        with self._reading() as connection:
            if connection is None:
                return Stats(self.name, where, bytes=0)
            projects = lookup.counts(connection, "project", self._clock())
            types = lookup.counts(connection, "type", self._clock())
            size = sum(
                file.stat().st_size for file in (self.path, _log_of(self.path)) if file.exists()
            )
        return Stats(
            self.name, where, sum(types.values()), projects=projects, types=types, bytes=size
        )

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._writable = False

    def _look_up(
        self, connection: sqlite3.Connection | None, ids: Sequence[str]
    ) -> tuple[Sequence[Row], tuple[str, ...]]:
        """Find what ids name, each once; MEMORY_NOT_FOUND when that is nothing."""
        found: dict[str, Row] = {}
        missing: dict[str, None] = {}
        for id_ in ids:
            try:
                row = lookup.find(connection, id_, self._clock())
            except MemoryNotFoundError:
                missing[id_] = None
            else:
                found[row.entry.id] = row
        if not found:
            named = ", ".join(missing) or "none"
            raise MemoryNotFoundError(
                f"nothing was forgotten: no memory has the id {named}", ids=list(missing)
            )
        return tuple(found.values()), tuple(missing)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """Lend a connection that shows one moment's state, None while there is no database."""
        with explained(self.path, reading=True):
            connection = self._readable()
            if connection is None:
                yield None
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:  # a damaged file may have ended it
                    connection.execute("ROLLBACK")

    def _readable(self) -> sqlite3.Connection | None:
        if self._connection is None and self.path.exists():
            connection = open_for_reading(self.path)
            try:
                version = version_of(connection, self.path)
            except BaseException:
                connection.close()
                raise
            if version == 0:  # a writer has made the file and not yet filled it
                connection.close()
            elif version < len(MIGRATIONS):
                connection.close()
                self._open_writable()
            else:
                self._connection = connection
        return self._connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection inside a transaction that is on disk when the block is done."""
        with explained(self.path):
            connection = self._open_writable()
            with transaction(connection, self.path):
                yield connection

    def _open_writable(self) -> sqlite3.Connection:
        if self._connection is None or not self._writable:
            self.close()
            private_folder(self.path.parent)
            connection = open_for_writing(self.path)
            try:
                migrate(connection, self.path)
            except BaseException:
                connection.close()
                raise
            self._connection, self._writable = connection, True
        return self._connection


def _log_of(path: Path) -> Path:
    """Name the file in which SQLite keeps what it has not yet moved into the database."""
    return path.with_name(path.name + "-wal")
