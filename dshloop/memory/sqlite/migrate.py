"""Bringing a database to the schema of this version, and refusing what isn't ours."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from dshloop.errors import StoreCorruptError, StoreNewerError
from dshloop.files import shown
from dshloop.memory.sqlite.connect import transaction
from dshloop.memory.sqlite.schema import APPLICATION_ID, MIGRATIONS


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """Give how many migrations a database has had; 0 is a new, empty file.

    Raises STORE_NEWER for one of a later dshloop, STORE_CORRUPT for another program's.
    """
    version, application = _marks(connection)
    if application != APPLICATION_ID:
        # Once more, as of one moment: it may just be made by another process.
        with _one_moment(connection):
            version, application = _marks(connection)
            foreign = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application != APPLICATION_ID and (foreign or version or application):
            raise StoreCorruptError(
                f"{shown(path)} is a database of another program",
                hint="Name another data folder by --data-dir, or move the file aside.",
                path=shown(path),
            )
    if version > len(MIGRATIONS):
        known = len(MIGRATIONS)
        raise StoreNewerError(
            f"{shown(path)} was written by a later dshloop (schema {version}, known {known})",
            path=shown(path),
            schema=version,
            known=known,
        )
    return version


def _marks(connection: sqlite3.Connection) -> tuple[int, int]:
    """Give the numbers that a file bears: its schema's, and its program's."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    return int(version), int(application)


@contextmanager
def _one_moment(connection: sqlite3.Connection) -> Iterator[None]:
    """Hold a read transaction, unless there is one."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def migrate(connection: sqlite3.Connection, path: Path) -> Path | None:
    """Run the migrations that are missing, all or none; cheap when there is none.

    Gives the copy that was made of a database that had something in it.
    """
    if version_of(connection, path) == len(MIGRATIONS):
        return None
    copy: Path | None = None
    with transaction(connection, path):
        # Asked again under the lock: another process may have been faster.
        version = version_of(connection, path)
        if 0 < version < len(MIGRATIONS):
            copy = _copy(path, version)
        run(connection, range(version, len(MIGRATIONS)))
    return copy


def run(connection: sqlite3.Connection, numbers: range) -> None:
    """Run migrations inside a transaction."""
    for number in numbers:
        for step in MIGRATIONS[number]:
            if isinstance(step, str):
                connection.execute(step)
            else:
                step(connection)
        connection.execute(f"PRAGMA user_version = {number + 1}")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def known() -> int:
    """Give how many migrations there are: the schema of this version."""
    return len(MIGRATIONS)


def copy_of(path: Path, version: int) -> Path:
    """Name the copy of a database as it was at a schema: ``memory.db.schema-1``."""
    return path.with_name(f"{path.name}.schema-{version}")


def _copy(path: Path, version: int) -> Path:
    """Copy the database as it is beside it (0600), whole or not at all.

    It is called while the write lock is held, so nobody changes it meanwhile. A copy that is there
    already, from a migration that was cut short, is replaced.
    """
    copy = copy_of(path, version)
    for left in copy.parent.iterdir():  # by one that was killed
        if left.name.startswith(f"{copy.name}.") and ".part" in left.name:
            left.unlink(missing_ok=True)
    part = copy.with_name(f"{copy.name}.{os.getpid()}.part")
    os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600))
    try:
        with (
            closing(sqlite3.connect(path)) as source,
            closing(sqlite3.connect(part)) as target,
        ):
            source.backup(target)
        part.replace(copy)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    return copy
