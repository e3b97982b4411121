"""JSON values by kind and key, beside the entries (DocumentStore)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dshloop.memory.answers import Document
from dshloop.memory.sqlite.connection import Connection
from dshloop.memory.sqlite.rows import packed, unpacked


def every(connection: Connection, kind: str) -> dict[str, Any]:
    """Give all values of a kind by their keys, in the order they were first stored."""
    rows = connection.execute(
        "SELECT key, value FROM documents WHERE kind = ? ORDER BY number", (kind,)
    )
    return {unpacked(key): json.loads(value) for key, value in rows}


def get(connection: Connection, kind: str, key: str) -> Any:
    """Give one value, None when there is none."""
    found = connection.execute(
        "SELECT value FROM documents WHERE kind = ? AND key = ?", (kind, packed(key))
    ).fetchone()
    return None if found is None else json.loads(found[0])


def keep(connection: Connection, kind: str, key: str, value: Any, now: float) -> None:
    """Store a value in the place of the one that has its kind and key."""
    connection.execute(
        "INSERT INTO documents (kind, key, value, updated_at) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value, "
        "updated_at = excluded.updated_at",
        (kind, packed(key), json.dumps(value), now),
    )


def drop(connection: Connection, kind: str, key: str) -> bool:
    """Take a value away; tell whether there was one."""
    done = connection.execute(
        "DELETE FROM documents WHERE kind = ? AND key = ?", (kind, packed(key))
    )
    return done.rowcount > 0


def records(connection: Connection) -> Iterator[Document]:
    """Give all documents, in the order they were first stored."""
    rows = connection.execute("SELECT kind, key, value, updated_at FROM documents ORDER BY number")
    for kind, key, value, at in rows:
        yield Document(kind, unpacked(key), json.loads(value), at)


def record(connection: Connection, kind: str, key: str) -> Document | None:
    """Give one document, None when there is none."""
    found = connection.execute(
        "SELECT value, updated_at FROM documents WHERE kind = ? AND key = ?", (kind, packed(key))
    ).fetchone()
    return None if found is None else Document(kind, key, json.loads(found[0]), found[1])


def put(connection: Connection, document: Document) -> None:
    """Store a document as it is."""
    keep(connection, document.of, document.key, document.value, document.updated_at)
