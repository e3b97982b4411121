"""What undo needs to know: the changes that were made, and how each is taken back."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from dshloop.errors import NothingToUndoError
from dshloop.memory.answers import Undone
from dshloop.memory.entries import MEMORY, Entry, Memory, Observation
from dshloop.memory.sqlite import amending, forgetting, write
from dshloop.memory.sqlite.connection import Connection
from dshloop.memory.sqlite.lookup import by_id
from dshloop.memory.sqlite.operation import (
    ADDED,
    AMENDED,
    FORGOT,
    IMPORTED,
    MERGED,
    PURGED,
    RESTORED,
    Operation,
)


class Last(NamedTuple):
    """The change that was made last."""

    number: int
    verb: str
    at: float
    changes: list[list[Any]]


def last(connection: Connection | None) -> Last:
    """Give the last change; NOTHING_TO_UNDO when there is none or it is final."""
    found = None
    if connection is not None:
        found = connection.execute(
            "SELECT number, verb, at, detail FROM operations ORDER BY number DESC LIMIT 1"
        ).fetchone()
    if found is None:
        raise NothingToUndoError("there is no change to take back")
    number, verb, at, detail = found
    changes = json.loads(detail)
    if any(change[0] == PURGED for change in changes):
        raise NothingToUndoError("the last change was a purge, which is final")
    return Last(number, verb, at, changes)


def undo(connection: Connection, now: float) -> Undone:
    """Take back the last change, and forget that it was made. Raises NOTHING_TO_UNDO."""
    number, verb, at, changes = last(connection)
    entries: list[Entry] = []
    for change in reversed(changes):
        entries += _TAKE_BACK[change[0]](connection, Operation(number), change, now)
    connection.execute("DELETE FROM operations WHERE number = ?", (number,))
    return Undone(verb, at, tuple(entries))


def _remove(
    connection: Connection, operation: Operation, change: list[Any], now: float
) -> list[Entry]:
    """Take back that a version was added: the one before is the latest again."""
    _, id_, superseded = change
    added = by_id(connection, id_)
    if added is None:
        return []
    forgetting.put_away(connection, operation, added, now)
    before = by_id(connection, superseded)
    if before is not None:
        write.revive(connection, before)
    return [added.entry]


def _unmerge(
    connection: Connection, _operation: Operation, change: list[Any], _now: float
) -> list[Entry]:
    """Take back that a repeat was counted: the labels are again what they were."""
    _, id_, before = change
    row = by_id(connection, id_)
    if row is None or not isinstance(row.entry, Memory):
        return []
    labels: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in before.items()
    }
    memory = row.entry._replace(**labels)
    write.update(connection, row.seq, memory)
    return [memory]


def _bring_back(
    connection: Connection, operation: Operation, _change: list[Any], _now: float
) -> list[Entry]:
    return forgetting.bring_back(connection, operation.number)


def _forget_again(
    connection: Connection, _operation: Operation, change: list[Any], now: float
) -> list[Entry]:
    """Put away again what was restored, under the number of the change that had forgotten it."""
    _, id_, number = change
    row = by_id(connection, id_)
    if row is None:
        return []
    forgetting.put_away(connection, Operation(number), row, now)
    if isinstance(row.entry, Memory):
        forgetting.make_latest(connection, row.entry.previous)
    return [row.entry]


def _put_back(
    connection: Connection, _operation: Operation, change: list[Any], _now: float
) -> list[Entry]:
    """Write an entry as it was before it was amended, where it still is."""
    _, kind, before = change
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in before.items()
    }
    entry: Entry = Memory(**values) if kind == MEMORY else Observation(**values)
    return [entry] if amending.rewrite(connection, entry) is not None else []


def _take_out(
    connection: Connection, operation: Operation, change: list[Any], now: float
) -> list[Entry]:
    """Take out what an import added."""
    return amending.take_back(connection, operation.number, change, now)


_TAKE_BACK = {
    AMENDED: _put_back,
    IMPORTED: _take_out,
    ADDED: _remove,
    MERGED: _unmerge,
    FORGOT: _bring_back,
    RESTORED: _forget_again,
}
