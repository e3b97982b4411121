"""Counting what the store holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from dshloop.memory.answers import Stats
from dshloop.memory.sqlite.connection import Connection
from dshloop.memory.sqlite.lookup import counts


def stats_of(
    connection: Connection | None, name: str, where: str, now: float, size: Callable[[], int | None]
) -> Stats:
    """Count what is stored; no connection is no database. ``size`` tells its bytes."""
    if connection is None:
        return Stats(name, where, bytes=0)
    from dshloop.memory.sqlite.meaning import vectors

    projects: Counter[str] = Counter()
    types: Counter[str] = Counter()
    for project, type_, number in counts(connection, now):
        projects[project] += number
        types[type_] += number

    def rows(what: str) -> int:
        return int(connection.execute(f"SELECT count(*) FROM {what}").fetchone()[0])

    return Stats(
        name,
        where,
        memories=sum(projects.values()),
        observations=rows("entries WHERE kind = 'observation' AND latest = 1"),
        sessions=rows("sessions"),
        versions=rows("entries WHERE kind = 'memory' AND latest = 0"),
        forgotten=rows("forgotten"),
        projects=_most_first(projects),
        types=_most_first(types),
        semantic=next(iter(vectors.counts(connection)), None),
        bytes=size(),
    )


def bytes_of(path: Path) -> int:
    """Give the bytes of a file of SQLite's and of the log beside it."""
    return sum(file.stat().st_size for file in (path, log_of(path)) if file.exists())


def _most_first(counted: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counted.items(), key=lambda one: (-one[1], one[0])))


def log_of(path: Path) -> Path:
    """Name the file in which SQLite keeps what it has not yet moved into the database."""
    return path.with_name(path.name + "-wal")
