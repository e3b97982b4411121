"""The entries of the journal: one committed transaction each, one JSON file each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dshloop.errors import JournalDamagedError, UnreadableFileError
from dshloop.files import read_bytes, replace_file, shown
from dshloop.journal.step import Step, step_from
from dshloop.journal.store import lasting_folder

EntryState = Literal["done", "undone"]

_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
_END_OF_TIME = 253402300800.0  # the year 10000, which no date can show


@dataclass(frozen=True, slots=True)
class Entry:
    """What one command did.

    `sequence` counts commits, `undone` is the count at which it was undone (None = it is done);
    `writer` is the transaction that wrote the entry last; `time` is in epoch seconds; `note` is
    whatever the command wants to know again on undo.
    """

    id: str
    sequence: int
    time: float
    command: str
    cwd: str | None
    changes: tuple[Step, ...]
    note: Mapping[str, Any]
    undone: int | None
    writer: str

    @property
    def state(self) -> EntryState:
        """Whether the changes are in place."""
        return "done" if self.undone is None else "undone"

    @property
    def paths(self) -> tuple[Path, ...]:
        """The paths that it changed, in the order of the changes."""
        return tuple(step.path for step in self.changes)

    @property
    def size(self) -> int:
        """How many bytes the contents before and after take."""
        states = (state for step in self.changes for state in (step.before, step.after))
        return sum(state.size for state in states if state is not None)

    def as_json(self) -> dict[str, Any]:
        """Give what `--json` shows."""
        return {
            "id": self.id,
            "time": iso_time(self.time),
            "command": self.command,
            "cwd": self.cwd,
            "state": self.state,
            "changes": [_public(step) for step in self.changes],
            "note": dict(self.note),
        }


def iso_time(seconds: float) -> str:
    """Give epoch seconds as ``2026-11-30T13:33:29.000Z``."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def load_entry(path: Path) -> Entry | None:
    """Read an entry's file; None when it is absent, JOURNAL_DAMAGED when it is no entry."""
    try:
        data = read_bytes(path)
        return None if data is None else _entry_from(json.loads(data))
    except (*_DAMAGE, UnreadableFileError) as error:
        raise JournalDamagedError(
            f"the journal's entry {shown(path)} is damaged: {error}", file=shown(path)
        ) from None


def save_entry(path: Path, entry: Entry) -> None:
    """Write an entry's file in one lasting step: this is what commits a transaction."""
    values = {
        "id": entry.id,
        "sequence": entry.sequence,
        "time": entry.time,
        "command": entry.command,
        "cwd": entry.cwd,
        "changes": [step.as_json() for step in entry.changes],
        "note": dict(entry.note),
        "undone": entry.undone,
        "writer": entry.writer,
    }
    lasting_folder(path.parent)
    replace_file(path, json.dumps(values, indent=1).encode() + b"\n", mode=0o600)


def _entry_from(values: Mapping[str, Any]) -> Entry:
    undone = values["undone"]
    if not 0 <= float(values["time"]) < _END_OF_TIME:
        raise ValueError(f"{values['time']} is no time")
    return Entry(
        id=str(values["id"]),
        sequence=int(values["sequence"]),
        time=float(values["time"]),
        command=str(values["command"]),
        cwd=values["cwd"],
        changes=tuple(step_from(step) for step in values["changes"]),
        note=dict(values["note"]),
        undone=None if undone is None else int(undone),
        writer=str(values["writer"]),
    )


def _public(step: Step) -> dict[str, Any]:
    """Leave out where the journal keeps folders: that is its own business."""
    values = step.as_json()
    return {key: values[key] for key in ("path", "before", "after")}
