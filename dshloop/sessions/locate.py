"""What a person means by a session: ``last``, an id, the beginning of one, or a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from dshloop.errors import SessionNotFoundError, SessionReadOnlyError
from dshloop.files import shown
from dshloop.paths import Places, absolute
from dshloop.sessions.catalog import Entry, Home, entry_at, find, find_id, log_in


@dataclass(frozen=True, slots=True)
class Located:
    """A log, and the stored session that it is; ``entry`` is None for a file somewhere else."""

    path: Path
    entry: Entry | None


def locate(places: Places, name: str, cwd: Path) -> Located:
    """Find a log by ``last``, id, beginning of an id, or the path of a log or of its folder.

    Raises SESSION_NOT_FOUND, SESSION_AMBIGUOUS.
    """
    typed = os.sep in name or "/" in name or name.endswith((".jsonl", ".zstd"))
    if not typed and name not in (".", ".."):
        return _stored(find(places, name, cwd))
    path = absolute(name, cwd, os.environ)
    if os.path.isdir(path):  # noqa: PTH112 - Path raises for a name that is too long
        found = log_in(path)
        if found is None:
            raise SessionNotFoundError(f"{shown(path)} holds no session log", file=shown(path))
        return _at(places, found)
    if not os.path.lexists(path):  # an id may look like a path
        entry = find_id(places, name)
        return Located(path, None) if entry is None else _stored(entry)
    return _at(places, path)


def require_ours(entry: Entry, verb: str) -> None:
    """Raise SESSION_READ_ONLY for a session of dsh: those are read, never changed."""
    if entry.home == "dsh":
        raise SessionReadOnlyError(
            f'session "{entry.id}" belongs to dsh and can\'t be {verb}: dshloop only reads it',
            hint=f"Work on a copy of your own: dshloop session fork {entry.id}",
            session=entry.id,
            file=shown(entry.path),
        )


def _stored(entry: Entry) -> Located:
    return Located(entry.path, entry)


def _at(places: Places, path: Path) -> Located:
    homes: tuple[tuple[Path, Home], ...] = (
        (places.sessions, "dshloop"),
        (places.dsh_sessions, "dsh"),
    )
    for root, home in homes:
        if path.parent.parent.parent == root:
            entry = entry_at(path.parent, home)
            if entry is not None and entry.path == path:
                return Located(path, entry)
    return Located(path, None)
