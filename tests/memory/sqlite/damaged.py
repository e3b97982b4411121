"""Databases with something of everything, and ways to damage them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from dshloop.memory.entries import NewMemory, NewObservation, NewSession
from dshloop.memory.sqlite.care.check import check
from dshloop.memory.sqlite.care.findings import Checked
from dshloop.memory.sqlite.database import Database
from dshloop.memory.sqlite.store import SqliteStore


def filled(path: Path, count: int = 30) -> SqliteStore:
    """Make a store with memories, versions, observations, sessions and forgotten entries."""
    store = SqliteStore(path)
    store.start_session(NewSession("s1", "web", title="Deploy"))
    with store.batch():
        for number in range(count):
            store.remember(NewMemory(f"finding n{number} on the deploy", "web", concepts=("ops",)))
            store.observe(
                NewObservation("s1", "web", "note", "note", f"turn t{number}", f"key {number}")
            )
    edited = store.remember(NewMemory("the draft of it", "web")).memory
    store.edit(edited.id, content="the final text of it")
    store.forget([store.remember(NewMemory("a passing thought", "web")).memory.id])
    store.observe(NewObservation("s2", "api", "note", "note", "elsewhere \ud800", "k"))
    store.end_session("s1")
    return store


def looked_at(path: Path, *, verify: bool = True) -> Checked:
    """Check a database."""
    database = Database(path)
    try:
        return check(database, verify=verify)
    finally:
        database.close()


def codes(path: Path) -> dict[str, int]:
    """Check a database; give how often each finding was found."""
    return {finding.code: finding.cases for finding in looked_at(path).findings}


def change(path: Path, *statements: str) -> None:
    """Change a database behind the store's back."""
    database = sqlite3.connect(path)
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()


def page_of(path: Path, table: str, wanted: int = 1) -> int:
    """Give where in the file a page of a table begins; ``wanted`` counts its leaves from 1."""
    database = sqlite3.connect(path)
    (root,) = database.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)
    ).fetchone()
    (size,) = database.execute("PRAGMA page_size").fetchone()
    database.close()
    data = path.read_bytes()
    pages = [root]
    while data[(pages[0] - 1) * size] == 0x05:  # an inner page of a table: its first 12 bytes
        pages = [child for page in pages for child in _children(data, (page - 1) * size)]
    return int((pages[wanted - 1] - 1) * size)


def _children(data: bytes, start: int) -> list[int]:
    count = int.from_bytes(data[start + 3 : start + 5], "big")
    cells = [
        int.from_bytes(data[start + 12 + 2 * at : start + 14 + 2 * at], "big")
        for at in range(count)
    ]
    last = int.from_bytes(data[start + 8 : start + 12], "big")
    return [int.from_bytes(data[start + at : start + at + 4], "big") for at in cells] + [last]


def overwrite(path: Path, start: int, data: bytes) -> None:
    """Write bytes over a file in place."""
    with path.open("r+b") as file:
        file.seek(start)
        file.write(data)
