"""Making the index anew while readers and writers go on.

A second index is filled beside the first, a few hundred entries in a transaction. Triggers note
which entries change meanwhile, whoever changes them. At the end, in one transaction, what changed
is brought in and the second takes the first one's place: a reader sees the whole old index or the
whole new one. What is done is on disk, so that a run that was killed goes on where it was.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from dshloop.memory.entries import Memory
from dshloop.memory.sqlite import index
from dshloop.memory.sqlite.database import Database
from dshloop.memory.sqlite.rows import COLUMNS, digest_of, entry_of

AT_ONCE = 400
"""Entries in one transaction: writers wait some tens of milliseconds for it."""

_FEW = 200
"""So many changed entries are brought in while the two indexes are exchanged."""

_SPARE = "spare_index"
_BEGIN = (
    "CREATE TABLE reindexing (upto INTEGER NOT NULL, manner TEXT NOT NULL)",
    "CREATE TABLE reindex_changed (seq INTEGER PRIMARY KEY)",
    """
    CREATE TRIGGER reindex_added AFTER INSERT ON entries BEGIN
      INSERT OR IGNORE INTO reindex_changed VALUES (new.seq);
    END
    """,
    """
    CREATE TRIGGER reindex_edited
    AFTER UPDATE OF latest, title, subtitle, content, concepts, files ON entries BEGIN
      INSERT OR IGNORE INTO reindex_changed VALUES (new.seq);
    END
    """,
    """
    CREATE TRIGGER reindex_gone AFTER DELETE ON entries BEGIN
      INSERT OR IGNORE INTO reindex_changed VALUES (old.seq);
    END
    """,
)
_END = (
    "DROP TRIGGER IF EXISTS reindex_added",
    "DROP TRIGGER IF EXISTS reindex_edited",
    "DROP TRIGGER IF EXISTS reindex_gone",
    "DROP TABLE IF EXISTS reindex_changed",
    "DROP TABLE IF EXISTS reindexing",
)
# What else of a database follows from its rows.
_MEND = (
    """
    DELETE FROM vectors WHERE NOT EXISTS (
      SELECT 1 FROM entries AS m WHERE m.seq = vectors.seq AND m.latest
    ) OR length(vector) IS NOT (
      SELECT dimensions + 4 FROM embedding_models AS o WHERE o.number = vectors.model
    )
    """,
    """
    DELETE FROM forgotten WHERE EXISTS (
      SELECT 1 FROM entries AS m WHERE m.seq = forgotten.seq OR m.id = forgotten.id
    )
    """,
    """
    INSERT OR IGNORE INTO sessions (
      id, project, cwd, agent, started_at, updated_at, observations
    )
    SELECT session, min(project), '', min(agent), min(created_at), max(updated_at), 0
    FROM entries WHERE session <> '' AND kind = 'observation' GROUP BY session
    """,
    """
    UPDATE sessions SET observations = counted.number FROM (
      SELECT s.id AS id, (
        SELECT count(*) FROM entries AS m
        WHERE m.session = s.id AND m.session <> '' AND m.kind = 'observation'
      ) AS number FROM sessions AS s
    ) AS counted WHERE counted.id = sessions.id AND observations <> counted.number
    """,
)
# An old version without a newer one is the latest; a latest one with a newer one is old.
_VERSIONS = (
    """
    UPDATE entries SET latest = 1 WHERE NOT latest
      AND NOT EXISTS (SELECT 1 FROM entries AS n WHERE n.previous = entries.id)
    """,
    """
    UPDATE entries SET latest = 0 WHERE latest AND kind = 'memory'
      AND EXISTS (SELECT 1 FROM entries AS n WHERE n.previous = entries.id)
    """,
)
_TALLY = "SELECT count(*), coalesce(sum(words), 0) FROM entries WHERE latest"
_ENTRY = f"seq, words, digest, {COLUMNS}"


class Reindexed(NamedTuple):
    """How far it is: entries done, and how many there are."""

    done: int
    total: int


def reindex(database: Database) -> Iterator[Reindexed]:
    """Make the index anew, with all else that follows from the rows; yield after each batch.

    What was begun by a run that was cut short is gone on with.
    """
    with database.reading() as connection:
        if connection is None:
            return
    with database.writing() as connection:
        begun = _begun(connection)
        total = _count(connection, 0)
        left = _count(connection, begun)
    while True:
        with database.writing() as connection:
            more = _fill(connection)
        if not more:
            break
        left = max(left - more, 0)
        yield Reindexed(total - left, total)
    while _catch_up(database):
        yield Reindexed(total, total)
    yield Reindexed(total, total)


def _begun(connection: sqlite3.Connection) -> int:
    """Give the row up to which a run that was cut short has come, else begin."""
    manner = _manner()
    if _is_there(connection, "reindexing") and _is_there(connection, _SPARE):
        upto, begun_as = connection.execute("SELECT upto, manner FROM reindexing").fetchone()
        if begun_as == manner:
            return int(upto)
    connection.execute(f"DROP TABLE IF EXISTS {_SPARE}")
    for statement in (*_END, *_BEGIN):
        connection.execute(statement)
    for statement in _VERSIONS:
        connection.execute(statement)
    index.create_beside(connection, _SPARE)
    connection.execute("INSERT INTO reindexing VALUES (0, ?)", (manner,))
    return 0


def _manner() -> str:
    """Tell what an index was made by: one of another version is not gone on with."""
    from dshloop import __version__

    return f"{__version__} {sha256(index.statement(_SPARE).encode()).hexdigest()[:16]}"


def _is_there(connection: sqlite3.Connection, name: str) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE name = ?"
    return connection.execute(query, (name,)).fetchone() is not None


def _count(connection: sqlite3.Connection, after: int) -> int:
    query = "SELECT count(*) FROM entries WHERE seq > ?"
    (number,) = connection.execute(query, (after,)).fetchone()
    return int(number)


def _fill(connection: sqlite3.Connection) -> int:
    """Index the next entries; give how many there were.

    How far it is is asked each time: another process may be at it too, or be done.
    """
    if not _is_there(connection, "reindexing"):
        return 0
    (upto,) = connection.execute("SELECT upto FROM reindexing").fetchone()
    rows = connection.execute(
        f"SELECT {_ENTRY} FROM entries WHERE seq > ? ORDER BY seq LIMIT ?", (upto, AT_ONCE)
    ).fetchall()
    for row in rows:
        _index(connection, row)
    if rows:
        connection.execute("UPDATE reindexing SET upto = ?", (rows[-1][0],))
    return len(rows)


def _catch_up(database: Database) -> bool:
    """Bring in entries that were changed meanwhile; exchange the indexes when they are few.

    Tells whether there is more to do.
    """
    with database.writing() as connection:
        if not _is_there(connection, "reindexing"):
            return False
        changed = connection.execute(
            "SELECT seq FROM reindex_changed ORDER BY seq LIMIT ?", (AT_ONCE,)
        ).fetchall()
        for (seq,) in changed:
            connection.execute(f"DELETE FROM {_SPARE} WHERE rowid = ?", (seq,))
            row = connection.execute(
                f"SELECT {_ENTRY} FROM entries WHERE seq = ?", (seq,)
            ).fetchone()
            if row is not None:
                _index(connection, row)
            connection.execute("DELETE FROM reindex_changed WHERE seq = ?", (seq,))
        if len(changed) >= _FEW:
            return True
        _exchange(connection)
    return False


def _index(connection: sqlite3.Connection, row: Sequence[Any]) -> None:
    """Put an entry into the second index, and mend the words and the digest of its row.

    One that can't be read is left out: `check` names it.
    """
    seq, counted, digest, *columns = row
    try:
        entry = entry_of(columns)
        indexed = index.index_of(entry)
    except (TypeError, ValueError, AttributeError):
        return
    words = index.length(indexed)
    if not isinstance(entry, Memory) or entry.latest:
        index.add(connection, seq, indexed, _SPARE)
    right = digest_of(entry) if isinstance(entry, Memory) else digest
    if (words, right) != (counted, digest):
        update = "UPDATE entries SET words = ?, digest = ? WHERE seq = ?"
        connection.execute(update, (words, right, seq))


def _exchange(connection: sqlite3.Connection) -> None:
    """Put the second index in the first one's place, and mend the counts."""
    index.replace_by(connection, _SPARE)
    for statement in (*_END, *_MEND):
        connection.execute(statement)
    connection.execute("DELETE FROM tally")
    connection.execute("INSERT INTO tally (entries, words) " + _TALLY)
