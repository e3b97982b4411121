"""Rows of an outbox's database, as its methods put them in and make room for them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dshloop.memory.outbox_entries import GIVEN_UP, PENDING, Item, Policy

if TYPE_CHECKING:
    import sqlite3


def add(
    connection: sqlite3.Connection, session: str, item: Item, target: str, now: float
) -> Sequence[Any]:
    """Put an item behind what waits; give its row."""
    body = json.dumps(item.body)
    done = connection.execute(
        "INSERT INTO entries (session, kind, target, body, bytes, state, created_at, attempts, "
        "next_at) VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0) RETURNING *",
        (session, item.kind, target, body, len(body), PENDING, now),
    )
    row: Sequence[Any] = done.fetchone()
    return row


def raised(connection: sqlite3.Connection, session: str, mark: int) -> bool:
    """Raise a session's mark; False when it was there already."""
    done = connection.execute(
        "INSERT INTO sessions VALUES (?, ?, NULL, 0) ON CONFLICT (session) DO UPDATE "
        "SET mark = excluded.mark WHERE excluded.mark > mark",
        (session, mark),
    )
    return done.rowcount == 1


def count(connection: sqlite3.Connection, name: str, value: float, text: str | None = None) -> None:
    """Set one of the outbox's numbers."""
    connection.execute("INSERT OR REPLACE INTO counts VALUES (?, ?, ?)", (name, value, text))


def make_room(connection: sqlite3.Connection, policy: Policy) -> None:
    """Drop the oldest entries of a full outbox, given-up ones first."""
    held, size = connection.execute(
        "SELECT count(*), coalesce(sum(bytes), 0) FROM entries"
    ).fetchone()
    if held <= policy.entries and size <= policy.bytes:
        return
    dropped = 0
    rows = connection.execute(
        "SELECT id, bytes FROM entries ORDER BY state <> ?, id", (GIVEN_UP,)
    ).fetchall()
    for id_, weight in rows[:-1]:  # what came last stays
        if held - dropped <= policy.entries and size <= policy.bytes:
            break
        connection.execute("DELETE FROM entries WHERE id = ?", (id_,))
        dropped, size = dropped + 1, size - weight
    connection.execute(
        "INSERT INTO counts VALUES ('dropped', ?, NULL) "
        "ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
        (dropped,),
    )
