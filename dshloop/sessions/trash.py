"""Deleted sessions: their folders, moved to where they can come back from.

``trash/<epoch ms>/<folder of the cwd>/<id>/``: one rename deletes, one restores, so a killed
process has done either all of it or nothing, and where a session belongs is in its path.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.errors import (
    SessionAmbiguousError,
    SessionExistsError,
    SessionNotFoundError,
    TrashNotFoundError,
)
from dshloop.files import shown, sync_folder, writing
from dshloop.locks import hold
from dshloop.paths import Places, private_folder
from dshloop.sessions.catalog import Entry, begins, entry_at, find_id
from dshloop.sessions.locate import require_ours
from dshloop.sessions.naming import LOCK_NAME
from dshloop.times import iso_time


@dataclass(frozen=True, slots=True)
class Deleted:
    """A session in the trash; ``when`` in epoch seconds."""

    entry: Entry
    when: float

    def as_json(self) -> dict[str, Any]:
        """Give it as a JSON object."""
        return {
            "id": self.entry.id,
            "deleted_at": iso_time(self.when),
            "size": self.entry.size,
            "path": shown(self.entry.path),
        }


def delete(places: Places, entry: Entry, *, now: float, command: str) -> Deleted:
    """Move a session to the trash.

    Raises SESSION_READ_ONLY for one of dsh, LOCK_HELD while somebody writes to it, WRITE_FAILED.
    """
    require_ours(entry, "deleted")
    source = entry.path.parent
    with hold(source / LOCK_NAME, command=command, what=f"session {entry.id}"):
        if not entry.path.exists():
            raise SessionNotFoundError(f'there is no session "{entry.id}"', session=entry.id)
        target = _free_place(places.trash, now) / source.parent.name / source.name
        _move(source, target)
    moved = entry_at(target, "dshloop")
    assert moved is not None, "it was moved with its log"
    return Deleted(moved, now)


def deleted(places: Places) -> list[Deleted]:
    """List what is in the trash, the newest first."""
    return sorted(_deleted(places.trash), key=lambda each: each.when, reverse=True)


def find_deleted(places: Places, name: str) -> Deleted:
    """Find a deleted session by its id or the beginning of it; of several deletions the last.

    Raises TRASH_NOT_FOUND, SESSION_AMBIGUOUS.
    """
    everything = deleted(places)
    if name == "last" and everything:
        return everything[0]
    exact = [each for each in everything if each.entry.id == name]
    fitting = exact or [each for each in everything if begins(each.entry.id, name)]
    ids = sorted({each.entry.id for each in fitting})
    if len(ids) > 1:
        raise SessionAmbiguousError(f'"{name}" fits {len(ids)} deleted sessions', sessions=ids[:20])
    if not fitting:
        raise TrashNotFoundError(f'there is no deleted session "{name}"', session=name)
    return fitting[0]


def restore(places: Places, found: Deleted) -> Entry:
    """Move a session back to where it was. Raises SESSION_EXISTS, WRITE_FAILED."""
    source = found.entry.path.parent
    taken = find_id(places, found.entry.id)
    target = places.sessions / source.parent.name / source.name
    if taken is not None:
        raise SessionExistsError(
            f'session "{found.entry.id}" exists again',
            hint="Delete or export that one first.",
            session=found.entry.id,
            file=shown(taken.path),
        )
    _move(source, target)
    for emptied in (source.parent, source.parent.parent):
        with contextlib.suppress(OSError):
            emptied.rmdir()
    back = entry_at(target, "dshloop")
    assert back is not None, "it was moved with its log"
    return back


def _move(source: Path, target: Path) -> None:
    with writing(target):
        private_folder(target.parent)
        if target.is_dir() and not any(each.name != LOCK_NAME for each in target.iterdir()):
            (target / LOCK_NAME).unlink(missing_ok=True)  # of a session that never was
            target.rmdir()
        source.rename(target)
        sync_folder(target.parent)
        sync_folder(source.parent)


def _free_place(trash: Path, now: float) -> Path:
    """Give a folder for a deletion of this moment."""
    moment = int(now * 1000)
    while (trash / str(moment)).exists():
        moment += 1
    return trash / str(moment)


def _deleted(trash: Path) -> Iterator[Deleted]:
    if not trash.is_dir():
        return
    for moment in trash.iterdir():
        if not moment.name.isdecimal():
            continue
        for folder in moment.glob("*/*"):
            entry = entry_at(folder, "dshloop")
            if entry is not None:
                yield Deleted(entry, int(moment.name) / 1000)
