"""The file of an outbox: opening it, and its tables."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dshloop.errors import OutboxUnusableError
from dshloop.files import shown

if TYPE_CHECKING:
    import sqlite3

_VERSION = 1
_WAIT = 30.0  # seconds for another process to end its transaction
_SCHEMA = """
CREATE TABLE entries (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, kind TEXT NOT NULL,
  target TEXT NOT NULL, body TEXT NOT NULL, bytes INTEGER NOT NULL, state TEXT NOT NULL,
  created_at REAL NOT NULL, attempts INTEGER NOT NULL, next_at REAL NOT NULL, error TEXT) STRICT;
CREATE INDEX entries_in_order ON entries (state, session, id);
CREATE TABLE sessions (
  session TEXT PRIMARY KEY, mark INTEGER NOT NULL, owner TEXT, claimed_until REAL NOT NULL) STRICT;
CREATE TABLE counts (name TEXT PRIMARY KEY, value REAL NOT NULL, text TEXT) STRICT;
"""
_SIZES = "CREATE INDEX IF NOT EXISTS entries_by_size ON entries (state, bytes, created_at)"
"""How much there is is told by it: the table itself has all bodies on the way."""


class OutboxFile:
    """A SQLite file that appears with the first change; for several threads.

    Raises OUTBOX_UNUSABLE when it can't be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def close(self) -> None:
        """Let go of the file. May be called twice."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        with self._lock, self._told():
            there = self._connection is not None or self.path.exists()
            yield self._opened() if there else None

    @contextmanager
    def _changing(self, *, lasting: bool = True) -> Iterator[sqlite3.Connection]:
        """Lend a transaction; without ``lasting`` its end doesn't wait for the disk.

        Such a one outlives the process; when the machine loses its power it may be undone.
        """
        with self._lock, self._told():
            connection = self._opened()
            if not lasting:
                connection.execute("PRAGMA synchronous = NORMAL")
            try:
                with _transaction(connection):
                    yield connection
            finally:
                if not lasting:
                    connection.execute("PRAGMA synchronous = FULL")

    @contextmanager
    def _told(self) -> Iterator[None]:
        import sqlite3

        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise unusable(self.path, str(error)) from None

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = open_outbox(self.path)
        return self._connection


def unusable(path: Path, reason: str) -> OutboxUnusableError:
    """Make the error for a file that can't be used."""
    file = shown(path)
    return OutboxUnusableError(f"the outbox {file} can't be used: {reason}", file=file)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def open_outbox(path: Path) -> sqlite3.Connection:
    """Open the file, made with mode 0600 in a folder of ours when it is missing."""
    import sqlite3
    from contextlib import suppress

    from dshloop.paths import private_folder

    private_folder(path.parent)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    connection = sqlite3.connect(path, timeout=_WAIT, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        _require_schema(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _require_schema(connection: sqlite3.Connection) -> None:
    """Make the tables of a new file. Raises sqlite3.DatabaseError for those of a later dshloop."""
    import sqlite3

    with _transaction(connection):
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            for statement in filter(str.strip, _SCHEMA.split(";")):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {_VERSION}")
        elif version != _VERSION:
            raise sqlite3.DatabaseError(f"it has schema {version}, of another dshloop")
        connection.execute(_SIZES)
