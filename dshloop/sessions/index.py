"""What listings and searches remember of sessions: a database that can be removed at any time.

A log is known by its path, size and modification time; when one of them differs it is read anew.
A database that is damaged, of another version or not ours is made anew, one that is locked or
can't be written counts as none.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dshloop.paths import private_folder
from dshloop.sessions.catalog import Entry, Summary
from dshloop.transcripts.header import read_header

if TYPE_CHECKING:
    import sqlite3  # loaded when a database is opened

VERSION = 1
KEPT_EVENT = "agent-preset/selected"
"""The only events of a summary that are kept: they tell what a session runs on."""

_WAIT = 2.0  # seconds for another process that writes
_SCHEMA = (
    "CREATE TABLE summary (path TEXT PRIMARY KEY, size INT, updated REAL, value TEXT)",
    "CREATE TABLE searched (log INTEGER PRIMARY KEY, path TEXT UNIQUE, size INT, updated REAL,"
    " session TEXT, home TEXT, through INT, tail BLOB)",
    "CREATE TABLE passage (id INTEGER PRIMARY KEY, log INT, turn INT, seq INT, time INT,"
    " kind TEXT, said TEXT)",
    "CREATE INDEX passage_log ON passage (log)",
    "CREATE VIRTUAL TABLE passage_index USING fts5 (words, content = '', tokenize ="
    " \"unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'\", detail = none)",
    f"PRAGMA user_version = {VERSION}",
)

T = TypeVar("T")


class SessionIndex:
    """The database at one path; nothing is opened or made before it is needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None

    def close(self) -> None:
        """Close the database; it can be used again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def exists(self) -> bool:
        """Whether there is a file to ask."""
        return self.path.is_file()

    def attempt(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Do something with the database; ``otherwise`` when it can't be used.

        One that is damaged is made anew and tried once more.
        """
        import sqlite3

        for again in (True, False):
            try:
                return work(self._open())
            except sqlite3.OperationalError:
                return otherwise  # locked, read-only, a full disk
            except (sqlite3.DatabaseError, ValueError, KeyError, TypeError):
                if not again:
                    return otherwise
                self._discard()
            except OSError:
                return otherwise
        return otherwise

    # --- summaries -----------------------------------------------------------------------------

    def summaries(self, found: Iterable[Entry]) -> dict[str, Summary]:
        """Give the summaries that are known and still right, by file."""
        listed = list(found)
        if not self.exists:
            return {}
        return self.attempt(lambda connection: dict(_summaries(connection, listed)), {})

    def remember(self, summaries: Iterable[Summary]) -> None:
        """Keep summaries, as well as that can be done."""
        rows = [(*_key(each.entry), _summary_text(each)) for each in summaries]
        if rows:
            self.attempt(lambda connection: _insert(connection, rows), None)

    # --- the file ------------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        import sqlite3

        if self._connection is None:
            private_folder(self.path.parent)
            made = not self.exists
            connection = sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)
            try:
                if made:
                    self.path.chmod(0o600)
                connection.execute("PRAGMA synchronous = OFF")
                _require_schema(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _discard(self) -> None:
        self.close()
        for name in (self.path, *(Path(f"{self.path}{end}") for end in ("-journal", "-wal"))):
            with contextlib.suppress(OSError):
                name.unlink()


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Make the changes of the block all or none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _require_schema(connection: sqlite3.Connection) -> None:
    import sqlite3

    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == VERSION:
        return
    with transaction(connection):
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if version == VERSION:
            return
        if tables:
            raise sqlite3.DatabaseError("another version")
        for statement in _SCHEMA:
            connection.execute(statement)


def _key(entry: Entry) -> tuple[str, int, float]:
    return entry.file, entry.size, entry.updated


def _summaries(connection: sqlite3.Connection, found: list[Entry]) -> Iterator[tuple[str, Summary]]:
    for entry in found:
        row = connection.execute(
            "SELECT value FROM summary WHERE path = ? AND size = ? AND updated = ?", _key(entry)
        ).fetchone()
        if row is not None:
            yield entry.file, _summary(entry, json.loads(row[0]))


def _insert(connection: sqlite3.Connection, rows: list[tuple[str, int, float, str]]) -> None:
    with transaction(connection):
        connection.executemany("INSERT OR REPLACE INTO summary VALUES (?, ?, ?, ?)", rows)


def _summary_text(summary: Summary) -> str:
    kept = [event for event in summary.events if event["type"] == KEPT_EVENT]
    return json.dumps(
        {
            "header": None if summary.header is None else dict(summary.header.raw),
            "events": kept,
            "title": summary.title,
            "turns": summary.turns,
            "state": summary.state,
            "fault": summary.fault,
            "fault_code": summary.fault_code,
        }
    )


def _summary(entry: Entry, value: dict[str, Any]) -> Summary:
    return Summary(
        entry=entry,
        header=None if value["header"] is None else read_header(value["header"]),
        events=value["events"],
        title=value["title"],
        turns=value["turns"],
        state=value["state"],
        fault=value["fault"],
        fault_code=value["fault_code"],
    )
