"""The store's connection: opened late, for reading first, brought forward before writing."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from dshloop.errors import StoreOlderError, StoreReadOnlyError
from dshloop.files import shown
from dshloop.memory.sqlite import migrate as migrations
from dshloop.memory.sqlite.connect import (
    SqliteConnection,
    explained,
    open_for_reading,
    open_for_writing,
    patiently,
    transaction,
)
from dshloop.paths import private_folder


class Database:
    """One database file; ``readonly`` never creates, migrates or writes it."""

    def __init__(
        self,
        path: Path,
        *,
        readonly: bool = False,
        notice: Callable[[str], None] | None = None,
    ) -> None:
        self.path = path
        self._readonly = readonly
        self._notice = notice
        self._connection: SqliteConnection | None = None
        self._writable = False
        self._file: tuple[int, int] | None = None
        self._fault: sqlite3.Error | None = None
        self._writing = False

    @contextmanager
    def reading(self) -> Iterator[SqliteConnection | None]:
        """Lend a connection that shows one moment's state, None while there is no database."""
        with explained(self.path, reading=True):
            connection = self._readable()
            if connection is None or connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                _roll_back(connection)

    looking = reading

    @contextmanager
    def reading_apart(self) -> Iterator[SqliteConnection | None]:
        """Lend a connection of its own, for answers that come piece by piece: what is changed
        between two pieces must not become part of their transaction, which is never committed."""
        with explained(self.path, reading=True):
            if self._readable() is None:
                yield None
                return
            with closing(open_for_reading(self.path)) as connection:
                connection.execute("BEGIN")
                yield connection

    @contextmanager
    def writing(self, *, beside: bool = False) -> Iterator[SqliteConnection]:  # noqa: ARG002
        """Lend a connection inside a transaction that is on disk when the outermost block is done.

        SQLite has one writer at a time, so ``beside`` changes nothing. Raises STORE_READONLY.
        """
        if self._readonly:
            raise StoreReadOnlyError(
                f"{shown(self.path)} was opened for reading only", path=shown(self.path)
            )
        with explained(self.path):
            if self._writing:
                with self._as_part() as connection:
                    yield connection
                return
            connection = self._open_writable()
            self._fault, self._writing = None, True
            try:
                with transaction(connection, self.path):
                    yield connection
                    if self._fault is not None:  # a part may be half done, whoever caught it
                        raise self._fault
            finally:
                self._writing = False

    @contextmanager
    def _as_part(self) -> Iterator[SqliteConnection]:
        assert self._connection is not None
        try:
            yield self._connection
        except sqlite3.Error as error:
            self._fault = error
            raise

    @contextmanager
    def trying(self) -> Iterator[SqliteConnection]:
        """Lend a connection inside a transaction that is always rolled back."""
        with explained(self.path):
            connection = self._open_writable()
            patiently(lambda: connection.execute("BEGIN IMMEDIATE"), self.path)
            try:
                yield connection
            finally:
                _roll_back(connection)

    def raw(self) -> SqliteConnection:
        """Open the file for writing as it is, whatever its schema; the caller closes it."""
        if self._readonly:
            raise StoreReadOnlyError(
                f"{shown(self.path)} was opened for reading only", path=shown(self.path)
            )
        private_folder(self.path.parent)
        return open_for_writing(self.path)

    def scrub(self) -> None:
        """Leave no bytes of what was deleted: in free space of the file, and in the log."""
        with explained(self.path):
            connection = self._open_writable()
            patiently(lambda: connection.execute("VACUUM"), self.path)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._writable = False

    def _let_go_of_another(self) -> None:
        """Close a connection whose file was moved, deleted or replaced: what it writes is lost."""
        connection = self._connection
        if connection is None or connection.in_transaction or self._file == _file_of(self.path):
            return
        self.close()

    def _readable(self) -> SqliteConnection | None:
        self._let_go_of_another()
        if self._connection is None and self.path.exists():
            connection = open_for_reading(self.path)
            try:
                version = migrations.version_of(connection, self.path)
            except BaseException:
                connection.close()
                raise
            if version == migrations.known():
                self._connection, self._file = connection, _file_of(self.path)
                return connection
            connection.close()
            if version and self._readonly:
                raise StoreOlderError(
                    f"{shown(self.path)} has the schema of an earlier dshloop ({version}, now "
                    f"{migrations.known()}), and may only be read",
                    path=shown(self.path),
                    schema=version,
                )
            if version:  # 0: a writer has made the file and not yet filled it
                self._open_writable()
        return self._connection

    def _open_writable(self) -> SqliteConnection:
        self._let_go_of_another()
        if self._connection is None or not self._writable:
            self.close()
            private_folder(self.path.parent)
            connection = open_for_writing(self.path)
            try:
                copy = migrations.migrate(connection, self.path)
            except BaseException:
                connection.close()
                raise
            self._connection, self._writable = connection, True
            self._file = _file_of(self.path)
            if copy is not None and self._notice is not None:
                self._notice(f"the memory database was brought to a new schema; a copy: {copy}")
        return self._connection


def _file_of(path: Path) -> tuple[int, int] | None:
    """Tell which file has a name, None when there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:  # a damaged file may have ended it
        connection.execute("ROLLBACK")
