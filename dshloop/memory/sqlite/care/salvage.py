"""Reading what is whole out of a damaged database, into a new one.

Each table is read by ranges of row numbers; a range that can't be read is halved until the rows
that are lost stand alone. The index is made anew, counts are taken anew. The damaged file is only
read. Which rows there should be is asked of the tables' indexes, which stand on other pages.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from dshloop.errors import StoreCorruptError, UnreadableFileError
from dshloop.files import shown
from dshloop.memory.sqlite.care.backup import new_database, require_free
from dshloop.memory.sqlite.care.reindex import reindex
from dshloop.memory.sqlite.connect import connect, explained, open_for_writing, transaction
from dshloop.memory.sqlite.database import Database
from dshloop.memory.sqlite.migrate import copy_of, migrate, run, version_of
from dshloop.memory.sqlite.rows import COLUMNS, entry_of
from dshloop.memory.sqlite.stats import log_of

_AT_ONCE = 500
# Tables, and the indexes of each that say which rows there should be. That of ids is first.
_TABLES = {
    "memories": ("sqlite_autoindex_memories_1",),
    "sessions": ("sqlite_autoindex_sessions_1",),
    "entries": ("sqlite_autoindex_entries_1", "entries_by_kind", "entries_by_digest"),
    "forgotten": ("sqlite_autoindex_forgotten_1", "forgotten_by_operation"),
    "forgotten_sessions": ("sqlite_autoindex_forgotten_sessions_1",),
    "operations": (),
    "documents": ("sqlite_autoindex_documents_1",),
    "embedding_models": ("sqlite_autoindex_embedding_models_1",),
    "vectors": ("sqlite_autoindex_vectors_1",),
}
_OF_ENTRIES = ("entries", "forgotten")
_BEYOND = 10_000
"""Row numbers that are tried behind the last one that was seen, where no index is whole."""

_EXAMPLES = 20


class Salvaged(NamedTuple):
    """What was saved and what was lost, table by table; ``lost_ids`` names the first of the lost
    entries whose id is known."""

    path: Path
    saved: dict[str, int]
    lost: dict[str, int]
    lost_ids: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows."""
        return {**self._asdict(), "path": str(self.path), "lost_ids": list(self.lost_ids)}


def salvage(
    source: Path, target: Path, progress: Callable[[str, int], None] | None = None
) -> Salvaged:
    """Make a new database of what can be read; ``progress`` is told table and rows.

    Raises OUTPUT_EXISTS, OUTPUT_REFUSED, STORE_CORRUPT when nothing at all can be read,
    STORE_NEWER, WRITE_FAILED.
    """
    if not source.is_file():
        raise UnreadableFileError(f"there is no file {shown(source)}", path=shown(source))
    source = source.resolve()  # the log stands beside the file itself, not beside a link
    require_free(source, target, force=False)
    with new_database(target, force=False) as part:
        with explained(source, reading=True), closing(_open_damaged(source)) as damaged:
            version = version_of(damaged, source)
            with explained(part), closing(open_for_writing(part)) as new:
                _prepare(new, part, version)
                result = _copy_all(damaged, new, part, progress or _silent)
                migrate(new, part)
        with suppress(FileNotFoundError):
            copy_of(part, version).unlink()
        again = Database(part)
        for _ in reindex(again):
            pass
        again.close()
    return result._replace(path=target)


def _silent(_table: str, _rows: int) -> None:
    """Tell nobody."""


def _open_damaged(path: Path) -> sqlite3.Connection:
    """Open a file so that SQLite refuses as little as it can, and changes nothing.

    Where there is a log, ``mode=ro`` keeps it from being moved into the damaged file at the end;
    where there is none, ``mode=rw`` leaves none behind.
    """
    connection = connect(path, "mode=ro" if log_of(path).exists() else "mode=rw")
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA writable_schema = ON")  # a file that was cut short is read too
        connection.execute("BEGIN")
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables:
            raise StoreCorruptError(f"there is nothing in {shown(path)}", path=shown(path))
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(new: sqlite3.Connection, path: Path, version: int) -> None:
    """Make the tables as the damaged database has them."""
    with transaction(new, path):
        run(new, range(version))


def _copy_all(
    damaged: sqlite3.Connection,
    new: sqlite3.Connection,
    path: Path,
    progress: Callable[[str, int], None],
) -> Salvaged:
    saved: dict[str, int] = {}
    lost: dict[str, int] = {}
    ids: list[str] = []
    for name, indexes in _TABLES.items():
        columns = [row[1] for row in new.execute(f"PRAGMA table_info({name})")]
        if not columns:
            continue
        saved[name] = 0
        for some in _in_parts(_rows(damaged, name, columns, _last(damaged, name, indexes))):
            with transaction(new, path):
                saved[name] += sum(_insert(new, name, columns, row) for row in some)
            progress(name, saved[name])
        missing = _missing(damaged, new, name, indexes)
        if missing:
            lost[name] = len(missing)
            ids += [id_ for id_ in missing if name in _OF_ENTRIES and id_]
    return Salvaged(path, saved, lost, tuple(ids[:_EXAMPLES]))


def _last(damaged: sqlite3.Connection, name: str, indexes: Sequence[str]) -> int:
    """Give the highest row number that the table or one of its indexes knows of."""
    queries = [f"SELECT rowid FROM {name} ORDER BY rowid DESC LIMIT 1"]
    queries += [f"SELECT max(rowid) FROM {name} INDEXED BY {index}" for index in indexes]
    for query in queries:
        with suppress(sqlite3.DatabaseError):
            found = damaged.execute(query).fetchone()
            return (found or (0,))[0] or 0
    return -1


def _rows(
    damaged: sqlite3.Connection, name: str, columns: Sequence[str], last: int
) -> Iterator[Sequence[Any]]:
    """Yield rowid and columns of the rows that can be read, in no order.

    A range that breaks off is halved behind the last row that was read, until what can't be read
    is one row.
    """
    query = (
        f"SELECT rowid, {', '.join(columns)} FROM {name} WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
    )
    seen = 0
    waiting = [(0, last)] if last >= 0 else [(0, _BEYOND)]
    while waiting:
        low, high = waiting.pop()
        try:
            for row in damaged.execute(query, (low, high)):
                yield row
                seen, low = max(seen, row[0]), row[0] + 1
        except sqlite3.DatabaseError:
            if low < high:
                middle = (low + high) // 2
                waiting += [(middle + 1, high), (low, middle)]
        if not waiting and last < 0 and high < seen + _BEYOND:
            waiting = [(high + 1, seen + _BEYOND)]


def _insert(new: sqlite3.Connection, name: str, columns: Sequence[str], row: Sequence[Any]) -> int:
    """Store a row, unless it is nonsense or there already."""
    if name in _OF_ENTRIES:
        values = dict(zip(columns, row[1:], strict=True))
        try:
            entry_of([values[column] for column in COLUMNS.split(", ")])
        except (TypeError, ValueError, AttributeError):
            return 0
    numbers = "?, " * len(columns)
    cursor = new.execute(
        f"INSERT OR IGNORE INTO {name} ({', '.join(columns)}, rowid) VALUES ({numbers}?)",
        (*row[1:], row[0]),
    )
    return cursor.rowcount


def _missing(
    damaged: sqlite3.Connection, new: sqlite3.Connection, name: str, indexes: Sequence[str]
) -> list[str]:
    """Give the ids ("" where unknown) of rows that an index has and the new table has not."""
    ids = "CAST(id AS TEXT)" if name in ("memories", *_OF_ENTRIES) else "''"
    for at, index in enumerate(indexes):
        id_ = ids if at == 0 else "''"
        query = f"SELECT {id_}, rowid FROM {name} INDEXED BY {index}"
        there = f"SELECT 1 FROM {name} WHERE rowid = ?"
        with suppress(sqlite3.DatabaseError):
            return [
                found
                for found, number in damaged.execute(query)
                if new.execute(there, (number,)).fetchone() is None
            ]
    return []


def _in_parts(rows: Iterator[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    while some := list(islice(rows, _AT_ONCE)):
        yield some
