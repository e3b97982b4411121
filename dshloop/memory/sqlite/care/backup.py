"""Copying a database while it is used, and bringing such a copy back."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from dshloop.errors import (
    OutputExistsError,
    OutputRefusedError,
    StoreCorruptError,
    UnreadableFileError,
)
from dshloop.files import shown, sync_folder
from dshloop.memory.sqlite.connect import explained, open_for_reading, patiently
from dshloop.memory.sqlite.database import Database
from dshloop.memory.sqlite.migrate import version_of
from dshloop.memory.sqlite.schema import APPLICATION_ID
from dshloop.memory.sqlite.stats import log_of


class Copied(NamedTuple):
    """A copy that was made and verified: where, how long, and how many entries are in it."""

    path: Path
    bytes: int
    entries: int


def backup(database: Database, target: Path, *, force: bool = False) -> Copied:
    """Copy the database as it is at one moment (0600); writers go on meanwhile.

    The copy appears whole or not at all. Raises OUTPUT_EXISTS (without ``force``), OUTPUT_REFUSED
    when the target is the database itself or is in use, UNREADABLE_FILE when there is nothing to
    copy, WRITE_FAILED, STORE_CORRUPT when the copy is not sound.
    """
    require_free(database.path, target, force=force)
    with database.reading() as connection:
        if connection is None:
            raise UnreadableFileError(
                f"there is nothing to copy: no memory was stored in {shown(database.path)} yet",
                path=shown(database.path),
            )
        with new_database(target, force=force) as copy, explained(copy):
            with closing(sqlite3.connect(copy)) as written:
                connection.backup(written)
            entries = _verified(copy)
    return Copied(target, target.stat().st_size, entries)


def restore(database: Database, source: Path) -> Copied:
    """Put a copy in the database's place; other processes see the one or the other.

    What was there is copied first, to ``<database>.before-restore`` or, where that is taken,
    ``.before-restore-2`` and so on. A database that is too damaged to be copied is moved there.
    Raises STORE_CORRUPT when the copy is not sound, STORE_NEWER, UNREADABLE_FILE.
    """
    if not source.is_file():
        raise UnreadableFileError(f"there is no file {shown(source)}", path=shown(source))
    if _same(source, database.path):
        raise OutputRefusedError("the copy is the database itself", path=shown(source))
    with explained(source, reading=True):
        entries = _verified(source)
    if database.path.exists():
        _put_aside(database)
    database.close()
    with (
        explained(database.path),
        closing(database.raw()) as target,
        closing(open_for_reading(source)) as copy,
    ):
        patiently(lambda: copy.backup(target), database.path)
    return Copied(database.path, database.path.stat().st_size, entries)


def _put_aside(database: Database) -> None:
    name = f"{database.path.name}.before-restore"
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    kept = next(one for one in map(database.path.with_name, names) if not one.exists())
    try:
        backup(database, kept)
    except StoreCorruptError:
        database.close()
        for end in ("-wal", "-shm", ""):
            with suppress(FileNotFoundError):
                part = database.path.with_name(database.path.name + end)
                part.rename(kept.with_name(kept.name + end))


def require_free(path: Path, target: Path, *, force: bool) -> None:
    """Refuse a target that is taken, that is the database, or that is another one in use."""
    named = {path.with_name(path.name + end) for end in ("", "-wal", "-shm", "-journal")}
    if any(_same(target, one) for one in named):
        raise OutputRefusedError(
            f"{shown(target)} belongs to the memory database itself", path=shown(target)
        )
    if target.is_dir():
        raise OutputExistsError(f"{shown(target)} is a folder", path=shown(target))
    if target.exists() and not target.is_file():  # a device, a pipe: never replaced
        raise OutputRefusedError(f"{shown(target)} is no ordinary file", path=shown(target))
    if (target.exists() or target.is_symlink()) and not force:
        raise OutputExistsError(f"{shown(target)} is there already", path=shown(target))
    if log_of(target).exists():
        raise OutputRefusedError(
            f"{shown(target)} is a database in use: {shown(log_of(target))} is beside it",
            path=shown(target),
        )


@contextmanager
def new_database(target: Path, *, force: bool) -> Iterator[Path]:
    """Lend a name beside a target for a file (0600) that gets its place when all went well."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    with explained(part):
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        yield part
        with explained(target):
            _to_disk(part)
            if force:
                part.replace(target)
            else:
                _move_new(part, target)
            sync_folder(target.parent)
    finally:
        for end in ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                part.with_name(part.name + end).unlink()


def _move_new(part: Path, target: Path) -> None:
    """Rename, but never over a file that came meanwhile (where the system knows links)."""
    try:
        os.link(part, target)
    except FileExistsError as error:
        raise OutputExistsError(f"{shown(target)} is there already", path=shown(target)) from error
    except OSError:
        part.replace(target)


def _verified(path: Path) -> int:
    """Count the entries of a copy. Raises STORE_CORRUPT when it is not sound, STORE_NEWER."""
    with closing(open_for_reading(path)) as connection:
        version = version_of(connection, path)
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (state,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if application != APPLICATION_ID or not version or state != "ok":
            why = state if state != "ok" else "it is no memory database"
            raise StoreCorruptError(f"{shown(path)} is damaged: {why}", path=shown(path))
        table = "entries WHERE latest" if version > 1 else "memories"
        (entries,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(entries)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return one.resolve() == other.resolve()


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
