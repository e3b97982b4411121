"""A transaction on its way: what it is about to do is on the disk before it is done.

``pending/<id>/intent.jsonl`` holds a header and then one line a step, each flushed to the disk
before the step is made. The lock ``locks/tx-<id>.lock`` tells whether its process still lives.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.errors import DshloopError
from dshloop.files import read_bytes, shown, sync_folder, writing
from dshloop.journal.entry import Entry, load_entry
from dshloop.journal.step import Step, discard, step_from, take_back
from dshloop.journal.store import Store, lasting_folder


@dataclass(frozen=True, slots=True)
class Recovered:
    """What became of a transaction that didn't come to its end.

    `restored` are as before; `kept` were changed by somebody else in the meantime and left
    alone; `fault` says why the work isn't finished (it is tried again by the next command).
    """

    id: str
    command: str
    restored: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()
    fault: str | None = None

    @property
    def message(self) -> str:
        """Say it in a sentence."""
        parts = [f"restored {_listed(self.restored)}"] if self.restored else []
        if self.kept:
            parts.append(f"left {_listed(self.kept)}, which changed since, as it is")
        if self.fault:
            parts.append(f"it isn't finished: {self.fault}")
        found = f"`{self.command}` had ended halfway and was rolled back"
        return f"{found}: {'; '.join(parts)}" if parts else found


@dataclass(frozen=True, slots=True)
class Intent:
    """A transaction as its header and steps tell; its commit is `entry` being written by it."""

    id: str
    entry: str
    command: str
    steps: tuple[Step, ...]


def temporary_name(transaction: str) -> str:
    """Name what a transaction puts beside a path, so that it can be found after a crash."""
    return f".dshloop-{transaction}.tmp"


class Pending:
    """The folder of one transaction under way."""

    def __init__(self, root: Path, transaction: str) -> None:
        self.root = root
        self.folder = root / "pending" / transaction
        self.lock = root / "locks" / f"tx-{transaction}.lock"
        self._intent = self.folder / "intent.jsonl"

    def begin(self, transaction: str, entry: str, command: str) -> None:
        """Make the folder with its header; only while the lock is held."""
        lasting_folder(self.folder)
        self._append({"id": transaction, "entry": entry, "command": command})
        sync_folder(self.folder)

    def add(self, step: Step) -> None:
        """Note a step lastingly, before it is made."""
        self._append(step.as_json())

    def scratch(self) -> Path:
        """Give a folder that goes with the transaction."""
        return lasting_folder(self.folder / "scratch")

    def load(self) -> Intent | None:
        """Read the intent; None when the process ended before its header was written."""
        lines = (read_bytes(self._intent) or b"").split(b"\n")[:-1]  # the last one is torn
        try:
            header, *steps = (json.loads(line) for line in lines)
        except ValueError:
            return None
        return Intent(
            id=header["id"],
            entry=header["entry"],
            command=header["command"],
            steps=tuple(step_from(step) for step in steps),
        )

    def committed(self, intent: Intent) -> Entry | None:
        """Give the entry when the transaction wrote it: then all its steps are made."""
        entry = load_entry(self.root / "entries" / f"{intent.entry}.json")
        return entry if entry is not None and entry.writer == intent.id else None

    def clear(self) -> None:
        """Forget the transaction; its lock goes last, while it is still held."""
        with writing(self.folder):
            self._intent.unlink(missing_ok=True)
            discard(self.folder)
            self.lock.unlink(missing_ok=True)

    def _append(self, values: dict[str, Any]) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with (
            writing(self._intent),
            os.fdopen(os.open(self._intent, flags, 0o600), "ab") as file,
        ):
            file.write(json.dumps(values).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def roll_back(intent: Intent, store: Store) -> Recovered:
    """Take the steps back, the last one first; a fault leaves the rest for another try."""
    restored: list[Path] = []
    kept: list[Path] = []
    fault: str | None = None
    for step in reversed(intent.steps):
        try:
            with writing(step.path):
                done = take_back(step, store, temporary_name(intent.id))
        except DshloopError as error:
            fault = fault or error.message
            continue
        (restored if done else kept).append(step.path)
    return Recovered(intent.id, intent.command, tuple(restored), tuple(kept), fault)


def _listed(paths: tuple[Path, ...]) -> str:
    names = list(dict.fromkeys(shown(path) for path in paths))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
