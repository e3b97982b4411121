"""Counting what the store holds."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from dshloop.memory.entries import MEMORY, OBSERVATION
from dshloop.memory.sqlite.lookup import count, counts
from dshloop.memory.store import Filters, Stats


def stats_of(connection: sqlite3.Connection | None, name: str, path: Path, now: float) -> Stats:
    """Count what is stored; no connection is no file."""
    where = str(path)
    if connection is None:
        return Stats(name, where, bytes=0)
    projects = counts(connection, "project", now)
    with_old = count(connection, Filters(kinds=(MEMORY,), old=True), now)
    memories = sum(projects.values())
    return Stats(
        name,
        where,
        memories=memories,
        observations=count(connection, Filters(kinds=(OBSERVATION,)), now),
        sessions=connection.execute("SELECT count(*) FROM sessions").fetchone()[0],
        versions=with_old - memories,
        forgotten=connection.execute("SELECT count(*) FROM forgotten").fetchone()[0],
        projects=projects,
        types=counts(connection, "type", now),
        bytes=sum(file.stat().st_size for file in (path, log_of(path)) if file.exists()),
    )


def log_of(path: Path) -> Path:
    """Name the file in which SQLite keeps what it has not yet moved into the database."""
    return path.with_name(path.name + "-wal")
