"""Connections to the server: from a pool that a process shares, again when the server was away."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from dshloop.errors import StoreReadOnlyError
from dshloop.memory.postgres import pools
from dshloop.memory.postgres.connection import Lent
from dshloop.memory.postgres.faults import explained, hopeless, lost
from dshloop.memory.postgres.migrate import add_pgvector, migrate, refuse_older, version_of
from dshloop.memory.postgres.schema import MIGRATIONS
from dshloop.memory.postgres.statistics import Statistics

if TYPE_CHECKING:
    from dshloop.memory.postgres.connection import Server
    from dshloop.memory.postgres.pools import Place

PATIENCE = 10.0
"""Seconds that a server may be away before a command gives up."""

_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_NUMBERS = "SELECT nextval('entry_numbers'), nextval('operation_numbers')"


class PostgresDatabase:
    """One schema on a server; ``readonly`` never creates, migrates or writes it.

    Whole-store changes (an import, a batch, forgetting, undo) hold a lock of the store for
    themselves; what may go on beside others shares it.
    """

    def __init__(self, place: Place, *, readonly: bool = False, patience: float = PATIENCE) -> None:
        self.place = place
        self._readonly = readonly
        self._patience = patience
        self._pool: pools.Pool | None = None
        self._known = False
        self._writer: Lent | None = None
        self._fault: Exception | None = None
        self._statistics = Statistics()
        self._salt = _number(f"keys {place.schema}")
        self._lock = _number(f"store {place.schema}")

    @property
    def where(self) -> str:
        """Say where it is, for people; it has no password."""
        return self.place.where

    @contextmanager
    def reading(self) -> Iterator[Lent | None]:
        """Lend a connection that shows one moment's state, None while there is no schema."""
        if self._writer is not None:
            yield self._writer
            return
        with self._lent(_READ) as lent:
            yield lent

    @contextmanager
    def looking(self) -> Iterator[Lent | None]:
        """Lend a connection each of whose statements sees what is there when it is run."""
        if self._writer is not None:
            yield self._writer
            return
        with self._lent(None) as lent:
            yield lent

    @contextmanager
    def reading_apart(self) -> Iterator[Lent | None]:
        """Lend a connection of its own, whose answers come piece by piece."""
        with self._lent(_READ, piecewise=True) as lent:
            try:
                yield lent
            finally:
                if lent is not None:
                    lent.close()

    @contextmanager
    def _lent(self, begin: str | None, *, piecewise: bool = False) -> Iterator[Lent | None]:
        with explained(self.where):
            if not self._there():
                yield None
                return
            with self._begun(begin) as (server, _):
                yield Lent(server, self._statistics, self._salt, piecewise=piecewise)

    @contextmanager
    def writing(self, *, beside: bool = False) -> Iterator[Lent]:
        """Lend a connection inside a transaction that is on disk when the outermost block is done.

        Raises STORE_READONLY.
        """
        if self._readonly:
            raise StoreReadOnlyError(f"{self.where} was opened for reading only", where=self.where)
        with explained(self.where):
            if self._writer is not None:
                with self._as_part(self._writer) as lent:
                    yield lent
                return
            self._there(make=True)
            shared = "_shared" if beside else ""
            begin = f"BEGIN; SELECT pg_advisory_xact_lock{shared}({self._lock}); {_NUMBERS}"
            with self._begun(begin) as (server, numbers):
                yield from self._written(server, numbers)

    def add_pgvector(self) -> bool:
        """Let the server find nearest vectors where it can; tell whether it does."""
        with explained(self.where):
            if not self._there(make=True):
                return False
            with self._begun(None) as (server, _):
                return add_pgvector(server, self.place.schema)

    def scrub(self) -> None:
        """Nothing to do: the server overwrites what was deleted when it vacuums."""

    def close(self) -> None:
        """Let go of the pool; the last one closes it."""
        if self._pool is not None:
            self._pool.leave()
        self._pool = None

    def _written(self, server: Server, numbers: tuple[int, int]) -> Iterator[Lent]:
        lent = Lent(server, self._statistics, self._salt)
        lent.provide(*numbers)
        self._writer, self._fault = lent, None
        try:
            yield lent
            if self._fault is not None:  # a part may be half done, whoever caught it
                raise self._fault
            lent.flush(("COMMIT", ()))
        finally:
            self._writer = None

    @contextmanager
    def _as_part(self, lent: Lent) -> Iterator[Lent]:
        import psycopg

        try:
            yield lent
            lent.flush()
        except psycopg.Error as error:
            self._fault = error
            raise

    @contextmanager
    def _begun(self, begin: str | None) -> Iterator[tuple[Server, Any]]:
        """Take a connection and begin a transaction on it, with another one when it is broken;
        lend it with the last row that beginning gave."""
        pool = self._opened()
        server, row = self._again(lambda: pool.begin(begin))
        try:
            yield server, row
        finally:
            pool.give_back(server)

    def _there(self, *, make: bool = False) -> bool:
        """Tell whether there is a schema of this version, once; make or mend it where that is
        allowed. Raises STORE_NEWER, STORE_OLDER."""
        if self._known:
            return True
        pool = self._opened()
        server, _ = self._again(lambda: pool.begin(None))
        try:
            version = version_of(server, self.place.schema)
            if self._readonly:
                refuse_older(version, self.place.schema)
            elif 0 < version < len(MIGRATIONS) or (version == 0 and make):
                migrate(server, self.place.schema)
                version = len(MIGRATIONS)
        finally:
            pool.give_back(server)
        self._known = version == len(MIGRATIONS)
        return self._known

    def _opened(self) -> pools.Pool:
        if self._pool is None:
            self._pool = pools.join(self.place)
        return self._pool

    def _again(self, work: Callable[[], tuple[Server, Any]]) -> tuple[Server, Any]:
        """Do it, again with growing pauses while the server is away."""
        import psycopg

        deadline, pause = time.monotonic() + self._patience, 0.02
        while True:
            try:
                return work()
            except psycopg.OperationalError as error:
                if not lost(error) or hopeless(error) or time.monotonic() >= deadline:
                    raise
            time.sleep(pause * (1 + random.random()))  # clients must not march in step
            pause = min(pause * 2, 1.0)


def _number(text: str) -> int:
    """Give the number that PostgreSQL's advisory locks take for a name."""
    return int.from_bytes(sha256(f"dshloop {text}".encode()).digest()[:8], "big", signed=True)
