"""Opening the database file, waiting for others, and telling SQLite's errors apart."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from dshloop.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreUnsupportedError,
    UnreadableFileError,
    WriteFailedError,
)
from dshloop.files import shown, why
from dshloop.memory.sqlite.filters import add_functions

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds that a writer or reader waits for another program before it gives up."""

SQLITE_WAIT = 5.0
"""Seconds that SQLite waits by itself before it says that the database is locked."""

LOG_PAGES = 4_000
"""Pages that the log holds before they are moved into the database: moving seldom is cheaper, for
most pages are written many times."""

FULL_TEXT_MODULE = "fts5"

# A number that no row has, not even one that is forgotten and may come back.
_NEW_SEQ = (
    "SELECT 1 + max(coalesce((SELECT max(seq) FROM entries), 0), "
    "coalesce((SELECT max(seq) FROM forgotten), 0))"
)
_NEW_OPERATION = """
    SELECT 1 + max(
      coalesce((SELECT max(number) FROM operations), 0),
      coalesce((SELECT max(operation) FROM forgotten), 0),
      coalesce((SELECT max(operation) FROM forgotten_sessions), 0)
    )
"""

_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)


class SqliteConnection(sqlite3.Connection):
    """SQLite's connection with what differs between databases (connection.py).

    A transaction that writes has the whole file to itself. The index is loaded by who needs it.
    """

    def findable(self) -> int:
        return int(self.execute("SELECT entries FROM tally").fetchone()[0])

    def new_seq(self, count: int = 1) -> int:  # noqa: ARG002
        return int(self.execute(_NEW_SEQ).fetchone()[0])

    def new_operation(self) -> int:
        return int(self.execute(_NEW_OPERATION).fetchone()[0])

    def alone(self, key: str) -> bool:  # noqa: ARG002
        return False

    def add_words(self, seq: int, indexed: tuple[str, ...]) -> None:
        from dshloop.memory.sqlite import index

        index.add(self, seq, indexed)

    def drop_words(self, seq: int) -> None:
        from dshloop.memory.sqlite import index

        index.drop(self, seq)

    def scrub_words(self) -> None:
        from dshloop.memory.sqlite import index

        index.scrub(self)

    def rows_with(self, forms: Sequence[str], most: int) -> Iterator[int]:
        from dshloop.memory.sqlite import index

        return (index.rows_with(self, form, most) for form in forms)

    def with_all(self, groups: Sequence[Sequence[str]], most: int) -> tuple[str, Sequence[Any]]:
        from dshloop.memory.sqlite import index

        return "SELECT value FROM json_each(?)", [str(index.with_all(self, groups, most))]


def open_for_writing(path: Path) -> SqliteConnection:
    """Open the database, creating the file (0600) when it is missing; its folder must be there."""
    _create(path)
    connection = connect(path, "mode=rw")
    try:
        patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"), path)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
        connection.execute("PRAGMA secure_delete = FAST")
    except BaseException:
        connection.close()
        raise
    return connection


def may_write(path: Path) -> bool:
    """Tell whether the system lets this user write to a database that is there."""
    return os.access(path, os.W_OK) and os.access(path.resolve().parent, os.W_OK)


def _create(path: Path) -> None:
    """Make an empty file, unless it is there.

    One that is there must not even be opened: closing any descriptor of a file ends all locks of
    this process on it, those of another connection too, whose log would then be deleted by the
    next process that closes the database (sqlite.org/howtocorrupt.html, 2.2).
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        if path.is_file() and not may_write(path):
            # SQLite would open it for reading, and leave files that keep others out.
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None


def open_for_reading(path: Path) -> SqliteConnection:
    """Open an existing database so that nothing can be changed through it.

    ``mode=rw`` with ``query_only`` comes before ``mode=ro``: only so does SQLite take its ``-wal``
    and ``-shm`` files away again. Where the file or its folder may not be written to and nobody has
    it open, the file is read as it stands: SQLite would leave files behind that may not be written
    to either, and later keep writers out.
    """
    if not may_write(path) and not path.with_name(path.name + "-wal").exists():
        return _reader(path, "immutable=1")
    if os.access(path, os.W_OK):
        try:
            return _reader(path, "mode=rw")
        except sqlite3.OperationalError as error:
            if not _is(error, (sqlite3.SQLITE_CANTOPEN,)):
                raise
    return _reader(path, "mode=ro")


def _reader(path: Path, mode: str) -> SqliteConnection:
    connection = connect(path, mode)
    try:
        connection.execute("PRAGMA query_only = ON")
        patiently(lambda: connection.execute("PRAGMA schema_version").fetchone(), path)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Hold the write lock; commit durably at the end, roll back on any exception."""
    patiently(lambda: connection.execute("BEGIN IMMEDIATE"), path)
    try:
        yield
        patiently(lambda: connection.execute("COMMIT"), path)
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def patiently(work: Callable[[], T], path: Path) -> T:
    """Run one statement, again with growing pauses while another program holds the database.

    SQLite waits by itself, but not everywhere (changing to WAL, recovery). Raises STORE_BUSY.
    """
    deadline = time.monotonic() + PATIENCE
    pause = 0.005
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            if not _is(error, _LOCKED):
                raise
            if time.monotonic() >= deadline:
                raise StoreBusyError(
                    f"another program has kept {shown(path)} locked for {PATIENCE:.0f} seconds",
                    path=shown(path),
                ) from error
        time.sleep(pause + pause * (os.getpid() % 7) / 7)  # processes must not march in step
        pause = min(pause * 2, 0.25)


@contextmanager
def explained(path: Path, *, reading: bool = False) -> Iterator[None]:
    """Turn SQLite's and the system's errors into ours, naming the file; faults of ours stay."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.DatabaseError as error:
        raise _ours(error, path) from error
    except OSError as error:
        where = shown(path)
        kind = UnreadableFileError if reading else WriteFailedError
        raise kind(f"can't open {where}: {why(error)}", path=where) from error


def _ours(error: sqlite3.DatabaseError, path: Path) -> Exception:
    text, where = str(error), shown(path)
    if f"no such module: {FULL_TEXT_MODULE}" in text:
        return StoreUnsupportedError("this Python's SQLite has no full-text index (FTS5)")
    if _is(error, _LOCKED):
        return StoreBusyError(f"another program keeps {where} locked", path=where)
    if _is(error, (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY)):
        return WriteFailedError(f"can't write {where}: {text}", path=where)
    if _is(error, (sqlite3.SQLITE_TOOBIG,)):
        return WriteFailedError(f"can't write {where}: the text is too long for SQLite", path=where)
    if _is(error, (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH)):
        return UnreadableFileError(f"can't open {where}: {text}", path=where)
    return StoreCorruptError(f"{where} is damaged, or no memory database: {text}", path=where)


def _is(error: sqlite3.Error, codes: tuple[int, ...]) -> bool:
    """Tell by primary result code; the extended ones carry more in their upper bytes."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF in codes


def connect(path: Path, mode: str) -> SqliteConnection:
    """Open a database file that is there; statements run in no transaction but our own."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}",
        uri=True,
        timeout=SQLITE_WAIT,
        isolation_level=None,
        factory=SqliteConnection,
    )
    add_functions(connection)
    return connection
