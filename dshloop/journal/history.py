"""What the journal remembers: its entries, and which of them may be undone or redone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from dshloop.errors import (
    ChangedSinceReadError,
    EntryAmbiguousError,
    EntryNotFoundError,
    EntryStateError,
    JournalDamagedError,
)
from dshloop.files import shown
from dshloop.journal.entry import Entry, load_entry
from dshloop.journal.plan import Plan, plan_of
from dshloop.journal.state import look, same
from dshloop.journal.store import Store


class History:
    """The reading side of a journal; makes and changes nothing."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = Store(root)

    def entries(self, *, under: Path | None = None) -> list[Entry]:
        """List the entries, the newest first; `under` keeps those that changed something there.

        Damaged entries are left out; `damaged` lists them.
        """
        found = [entry for entry, _ in self._load() if entry is not None]
        if under is not None:
            folder = Path(os.path.realpath(under))
            found = [entry for entry in found if any(_within(p, folder) for p in entry.paths)]
        return sorted(found, key=lambda entry: entry.sequence, reverse=True)

    def damaged(self) -> list[JournalDamagedError]:
        """Say which entries can't be read, and why."""
        return [error for _, error in self._load() if error is not None]

    def find(self, prefix: str) -> Entry:
        """Find an entry by its id or a beginning of it that no other has."""
        fitting = [entry for entry in self.entries() if prefix and entry.id.startswith(prefix)]
        if not fitting:
            raise EntryNotFoundError(f"the history has no entry {prefix!r}", id=prefix)
        if len(fitting) > 1:
            ids = [entry.id for entry in fitting]
            raise EntryAmbiguousError(f"{prefix!r} fits {', '.join(ids)}", ids=ids)
        return fitting[0]

    def plan_undo(self, entry_id: str | None = None) -> Plan:
        """Give what `undo` would change, with the same refusals."""
        entry = self.to_undo(entry_id)
        self.require_ready(entry)
        return plan_of(entry, self.store, back=True)

    def plan_redo(self, entry_id: str | None = None) -> Plan:
        """Give what `redo` would change, with the same refusals."""
        entry = self.to_redo(entry_id)
        self.require_ready(entry)
        return plan_of(entry, self.store, back=False)

    def to_undo(self, entry_id: str | None) -> Entry:
        """Choose the entry to undo: the one named, else the newest that is done."""
        if entry_id is not None:
            entry = self.find(entry_id)
            if entry.state == "undone":
                raise EntryStateError(f"{entry.id} ({entry.command}) is undone already")
            return entry
        for entry in self.entries():
            if entry.state == "done":
                return entry
        raise EntryNotFoundError("there is nothing to undo")

    def to_redo(self, entry_id: str | None) -> Entry:
        """Choose the entry to redo: the one named, else the last undone that still fits."""
        if entry_id is not None:
            entry = self.find(entry_id)
            if entry.state == "done":
                raise EntryStateError(f"{entry.id} ({entry.command}) isn't undone")
            return entry
        entries = self.entries()
        undone = [entry for entry in entries if entry.undone is not None]
        for entry in sorted(undone, key=lambda one: one.undone or 0, reverse=True):
            if not any(_supersedes(other, entry) for other in entries):
                return entry
        raise EntryNotFoundError("there is nothing to redo")

    def require_ready(self, entry: Entry) -> None:
        """See that every path is as the entry or its undo left it, and that the rest is kept.

        Raises CHANGED_SINCE_READ, JOURNAL_DAMAGED.
        """
        steps = [s.reversed() if entry.state == "done" else s for s in entry.changes]
        changed = [step.path for step in steps if not same(look(step.path)[0], step.before)]
        if not changed:
            for step in steps:
                self.store.require(step.after, step.after_tree)
            return
        files = [shown(path) for path in changed]
        raise ChangedSinceReadError(
            f"{', '.join(files)} changed since {entry.id} ({entry.command}); nothing was changed",
            hint=self._who_changed(entry, changed),
            files=files,
            id=entry.id,
        )

    def _who_changed(self, entry: Entry, paths: Sequence[Path]) -> str | None:
        for other in self.entries():
            later = other.sequence > entry.sequence and other.state == "done"
            if later and set(other.paths) & set(paths):
                return f"`dshloop undo {other.id}` ({other.command}) first."
        return None

    def _load(self) -> Iterator[tuple[Entry | None, JournalDamagedError | None]]:
        for path in sorted((self.root / "entries").glob("*.json")):
            if path.name.startswith("."):
                continue
            try:
                yield load_entry(path), None
            except JournalDamagedError as error:
                yield None, error

    def entry_file(self, entry_id: str) -> Path:
        """Give the file of an entry."""
        return self.root / "entries" / f"{entry_id}.json"

    def next_count(self) -> int:
        """Give the number of the next commit or undo; only while the journal is locked."""
        counts = [count for e in self.entries() for count in (e.sequence, e.undone or 0)]
        return max(counts, default=0) + 1


def _within(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents


def _supersedes(other: Entry, undone: Entry) -> bool:
    """Whether `other` wrote one of the paths after `undone` was undone."""
    return other.sequence > (undone.undone or 0) and bool(set(other.paths) & set(undone.paths))
