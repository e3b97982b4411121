"""One change of the store as `undo` will read it; written in the change's own transaction."""

from __future__ import annotations

import json
from typing import Any

from dshloop.memory.entries import Entry, Memory
from dshloop.memory.sqlite.connection import Connection

ADDED, MERGED, FORGOT, RESTORED, PURGED = "added", "merged", "forgot", "restored", "purged"
AMENDED = "amended"
IMPORTED = "imported"
"""Written by bulk.py, read by amending.py: the run, the first and last row, the sessions begun,
whether it is final."""

KEPT = 200
"""How many changes can be taken back."""

_LABELS = ("type", "title", "concepts", "files", "strength", "expires_at", "updated_at", "repeats")


class Operation:
    """A change under way: its number, and step by step what was done."""

    __slots__ = ("changes", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.changes: list[tuple[Any, ...]] = []

    def added(self, id_: str, superseded: str | None) -> None:
        """Note that a version was stored, and which one it took the place of."""
        self.changes.append((ADDED, id_, superseded))

    def merged(self, before: Memory) -> None:
        """Note that a repeat was counted, with the labels as they were before."""
        labels = {name: getattr(before, name) for name in _LABELS}
        self.changes.append((MERGED, before.id, labels))

    def amended(self, before: Entry) -> None:
        """Note that an entry was written over, with all that it was before."""
        self.changes.append((AMENDED, before.kind, before._asdict()))

    def forgot(self) -> None:
        """Note that entries were put away under this change's number.

        Once and last: all come back before the steps that may have made them are taken back.
        """
        if self.changes[-1:] != [(FORGOT,)]:
            self.changes = [step for step in self.changes if step != (FORGOT,)]
            self.changes.append((FORGOT,))

    def restored(self, id_: str, number: int) -> None:
        """Note that an entry was brought back, which the change of a number had put away."""
        self.changes.append((RESTORED, id_, number))

    def purged(self) -> None:
        """Note that something is gone for good: nothing before it can be taken back."""
        if self.changes[-1:] != [(PURGED,)]:
            self.changes.append((PURGED,))


def begin(connection: Connection) -> Operation:
    """Begin a change, inside its transaction."""
    return Operation(connection.new_operation())


def finish(connection: Connection, operation: Operation, verb: str, now: float) -> None:
    """Write a change down, when there was one, and drop those that are too many."""
    if not operation.changes:
        return
    connection.execute(
        "INSERT INTO operations (number, verb, at, detail) VALUES (?, ?, ?, ?)",
        (operation.number, verb, now, json.dumps(operation.changes)),
    )
    if operation.number % 50 == 0:
        connection.execute(
            "DELETE FROM operations WHERE number <= "
            "(SELECT number FROM operations ORDER BY number DESC LIMIT 1 OFFSET ?)",
            (KEPT,),
        )
