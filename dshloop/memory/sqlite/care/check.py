"""Looking whether a database is whole: file, rows, index, counts, vectors, versions, sessions.

All is read in one transaction, so it fits together whatever is written meanwhile, and row by row,
so that a million rows need no more memory than one. Last the index is asked to check itself; that
takes the write lock, so writers wait for it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from dshloop.memory.entries import Memory
from dshloop.memory.sqlite.care.findings import Checked, Found
from dshloop.memory.sqlite.connect import may_write
from dshloop.memory.sqlite.database import Database
from dshloop.memory.sqlite.index import FIELDS, index_of, length
from dshloop.memory.sqlite.rows import COLUMNS, digest_of, entry_of

Progress = Callable[[int, int], None]
"""Told how many rows are done, and of how many."""

_EVERY = 1_000
_MESSAGES = 20
_TEXTS = ", ".join(f"i.c{at}" for at in range(len(FIELDS) + 1))
_ENTRIES = f"""
    SELECT m.words, m.digest, i.id, {_TEXTS}, {", ".join(f"m.{c}" for c in COLUMNS.split(", "))}
    FROM entries AS m LEFT JOIN memory_index_content AS i ON i.id = m.seq ORDER BY m.seq
"""
_INDEXED = 3 + len(FIELDS) + 1  # columns in front of the entry's own

# Each gives an example a row.
_QUERIES = {
    "INDEX_ORPHAN": """
        SELECT 'row ' || i.id FROM memory_index_content AS i
        WHERE NOT EXISTS (SELECT 1 FROM entries AS m WHERE m.seq = i.id AND m.latest)
    """,
    "VECTOR_ORPHAN": """
        SELECT 'row ' || v.seq FROM vectors AS v
        WHERE NOT EXISTS (SELECT 1 FROM entries AS m WHERE m.seq = v.seq AND m.latest)
           OR NOT EXISTS (SELECT 1 FROM embedding_models AS o WHERE o.number = v.model)
    """,
    "VECTOR_INVALID": """
        SELECT 'row ' || v.seq FROM vectors AS v JOIN embedding_models AS o ON o.number = v.model
        WHERE length(v.vector) <> o.dimensions + 4
    """,
    "VERSION_HIDDEN": """
        SELECT id FROM entries AS m WHERE NOT m.latest
          AND NOT EXISTS (SELECT 1 FROM entries AS n WHERE n.previous = m.id)
    """,
    "VERSION_TWICE": """
        SELECT id FROM entries AS m WHERE m.latest AND m.kind = 'memory'
          AND EXISTS (SELECT 1 FROM entries AS n WHERE n.previous = m.id)
    """,
    "SESSION_COUNT": """
        SELECT id FROM sessions AS s WHERE s.observations <> (
          SELECT count(*) FROM entries AS m
          WHERE m.session = s.id AND m.session <> '' AND m.kind = 'observation'
        )
    """,
    "SESSION_MISSING": """
        SELECT DISTINCT m.session FROM entries AS m
        WHERE m.session <> '' AND m.kind = 'observation'
          AND NOT EXISTS (SELECT 1 FROM sessions AS s WHERE s.id = m.session)
    """,
    "FORGOTTEN_TWICE": """
        SELECT m.id FROM forgotten AS f JOIN entries AS m ON m.seq = f.seq OR m.id = f.id
    """,
    "REINDEX_UNFINISHED": "SELECT name FROM sqlite_master WHERE name = 'reindexing'",
}
_SIZES = """
    SELECT (SELECT count(*) FROM entries WHERE latest),
      (SELECT count(*) FROM entries WHERE NOT latest),
      (SELECT count(*) FROM forgotten), (SELECT count(*) FROM sessions),
      (SELECT count(*) FROM vectors)
"""


class _Sizes(NamedTuple):
    entries: int = 0
    versions: int = 0
    forgotten: int = 0
    sessions: int = 0
    vectors: int = 0


def check(database: Database, *, verify: bool, progress: Progress | None = None) -> Checked:
    """Look at a whole database; without one nothing is wrong.

    ``verify`` lets the index check itself, where the file may be written to. What is damaged
    becomes a finding; raises STORE_* where the database can't be opened at all.
    """
    found, sizes = Found(), _Sizes()
    with database.reading() as connection:
        if connection is None:
            return Checked(database.path, *sizes, False, ())
        with found.damage():
            _check_file(connection, found)
        with found.damage():
            sizes = _Sizes(*connection.execute(_SIZES).fetchone())
        with found.damage():
            _check_entries(connection, found, progress or _silent, sizes)
        for code, query in _QUERIES.items():
            with found.damage():
                for (example,) in connection.execute(query):
                    found.add(code, example)
    verify = verify and may_write(database.path)
    if verify:
        _verify_index(database, found)
    return Checked(database.path, *sizes, verify, found.all())


def _silent(_done: int, _total: int) -> None:
    """Tell nobody."""


def _check_file(connection: sqlite3.Connection, found: Found) -> None:
    for (message,) in connection.execute(f"PRAGMA integrity_check({_MESSAGES})"):
        if message != "ok":
            for line in message.splitlines():
                found.add("DATABASE_DAMAGED", line)


def _check_entries(
    connection: sqlite3.Connection, found: Found, progress: Progress, sizes: _Sizes
) -> None:
    """Compare every row with its index entry, its digest and the tally."""
    entries = words = 0
    for done, (counted, digest, number, *rest) in enumerate(connection.execute(_ENTRIES), 1):
        latest = rest[_INDEXED - 3 + 2]
        entries, words = entries + latest, words + counted * latest
        _check_entry(found, counted, digest, number, rest)
        if done % _EVERY == 0:
            progress(done, sizes.entries + sizes.versions)
    tally = tuple(connection.execute("SELECT entries, words FROM tally").fetchone() or ())
    if tally != (entries, words):
        found.add("COUNT_WRONG", f"tally {tally}, counted {(entries, words)}")


def _check_entry(
    found: Found, counted: int, digest: bytes, number: int | None, rest: Sequence[Any]
) -> None:
    texts, row = rest[: _INDEXED - 3], rest[_INDEXED - 3 :]
    try:
        entry = entry_of(row)
        indexed = index_of(entry)
    except (TypeError, ValueError, AttributeError) as error:
        found.add("ROW_UNREADABLE", f"{row[0]}: {error}")
        return
    if isinstance(entry, Memory) and digest_of(entry) != digest:
        found.add("DIGEST_WRONG", entry.id)
    if isinstance(entry, Memory) and not entry.latest:
        return  # whether it is in the index asks INDEX_ORPHAN
    if number is None:
        found.add("INDEX_MISSING", entry.id)
    elif tuple(texts) != indexed:
        found.add("INDEX_STALE", entry.id)
    if length(indexed) != counted:
        found.add("COUNT_WRONG", entry.id)


def _verify_index(database: Database, found: Found) -> None:
    """Let FTS5 compare its index with what it was given; nothing is changed."""
    with database.trying() as connection, found.damage("INDEX_DAMAGED"):
        connection.execute(
            "INSERT INTO memory_index (memory_index, rank) VALUES ('integrity-check', 1)"
        )


def lines(checked: Checked) -> Iterator[str]:
    """Tell people what was found."""
    from dshloop.memory.sqlite.care.findings import KINDS

    for finding in checked.findings:
        kind = KINDS[finding.code]
        yield f"{kind.severity:<7} {finding.code} ({finding.cases}): {kind.meaning}"
        yield from (f"          {example}" for example in finding.examples)
        if kind.mend:
            yield f"        mend: {kind.mend}"
    parts = {
        "entries": checked.entries,
        "older versions": checked.versions,
        "forgotten": checked.forgotten,
        "sessions": checked.sessions,
        "vectors": checked.vectors,
    }
    said = ", ".join(f"{count} {name}" for name, count in parts.items() if count or name[0] == "e")
    yield f"{'sound' if checked.sound else 'not sound'}: {said}"
    if not checked.index_verified and checked.entries:
        yield "the index was not asked to check itself, for that needs the right to write"
