"""Bringing a database to the schema of this version, and refusing what isn't ours."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from dshloop.errors import StoreCorruptError, StoreNewerError
from dshloop.files import shown
from dshloop.memory.sqlite.connect import transaction
from dshloop.memory.sqlite.schema import APPLICATION_ID, MIGRATIONS


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """Give how many migrations a database has had; 0 is a new, empty file.

    Raises STORE_NEWER for one of a later dshloop, STORE_CORRUPT for another program's.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        foreign = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if foreign or version or application:
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
    return int(version)


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Run the migrations that are missing, all or none; cheap when there is none."""
    if version_of(connection, path) == len(MIGRATIONS):
        return
    with transaction(connection, path):
        # Asked again under the lock: another process may have been faster.
        for number in range(version_of(connection, path), len(MIGRATIONS)):
            for step in MIGRATIONS[number]:
                if isinstance(step, str):
                    connection.execute(step)
                else:
                    step(connection)
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
