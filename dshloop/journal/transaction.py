"""Several changes of a user's files as one step: all of them or none, and one entry at the end."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import EllipsisType
from typing import Any

from dshloop.errors import ChangedSinceReadError, WriteFailedError
from dshloop.files import digest, real_file, shown
from dshloop.journal.entry import Entry
from dshloop.journal.pending import Pending, temporary_name
from dshloop.journal.state import Content, Link, State, Tree, file_state, look, same, tree_state
from dshloop.journal.step import Step, make, missing_folders, remove_folders
from dshloop.journal.store import Store
from dshloop.locks import hold, hold_dsh_files, lock_path


class Transaction:
    """Changes made so far; made by `Journal.transaction`, which commits or rolls back.

    Every change is made at once, after it was noted on the disk, so later ones and other programs
    see it. From its first change on a path is locked against other transactions, and against
    dsh where dsh has a lock. `note` goes into the entry; `entry` is set by the commit.
    """

    def __init__(
        self, root: Path, transaction: str, command: str, wait: float, *, entry: str | None = None
    ) -> None:
        self.id = transaction
        self.command = command
        self.note: dict[str, Any] = {}
        self.entry: Entry | None = None
        self.pending = Pending(root, transaction)
        self.locks = contextlib.ExitStack()
        self._locks_of_dsh = self.locks.enter_context(contextlib.ExitStack())
        self._entry_id = entry or transaction
        self._wait = wait
        self._steps: list[Step] = []
        self._store = Store(root)
        self._locked: set[Path] = set()

    def write(
        self,
        path: Path,
        data: bytes,
        *,
        expected: bytes | EllipsisType | None = ...,
        mode: int | None = None,
    ) -> None:
        """Replace or make a file with the folders it needs; nothing happens when it is so already.

        A link is followed to its file. `expected`, `mode` and errors as in `replace_file`.
        """
        self.lock(path)
        target = real_file(path)
        before, found = look(target)
        _require(path, found, expected)
        if before is not None and before.kind == "tree":
            raise WriteFailedError(f"can't write {shown(path)}: it is a folder", file=shown(path))
        wanted = mode if mode is not None else before.mode if before else None
        after = file_state(data, wanted)
        if before is not None and same(before, after) and before.mode == wanted:
            return
        self._store.put(data)
        self.make(Step(target, before, after, folders=missing_folders(target)), found)

    def delete(self, path: Path, *, expected: bytes | EllipsisType | None = ...) -> None:
        """Remove a file, or a link itself; nothing happens when it is absent."""
        self.lock(path)
        path = _own_path(path)
        before, found = look(path)
        _require(path, found, expected)
        if before is None:
            return
        if before.kind == "tree":
            raise WriteFailedError(f"can't remove {shown(path)}: it is a folder", file=shown(path))
        self.make(Step(path, before, None), found)

    def link(self, path: Path, target: str | Path) -> None:
        """Make a symbolic link in the place of what is there (a folder is set aside)."""
        self.lock(path)
        path = _own_path(path)
        before, found = look(path)
        after = State("link", os.fspath(target))
        if same(before, after):
            return
        self.make(self._with_aside(Step(path, before, after, folders=missing_folders(path))), found)

    def place_tree(self, path: Path, source: Path) -> None:
        """Move the folder `source` to `path`, in the place of what is there.

        By a rename; only where `source` is on another disk it is copied first (`scratch` gives a
        folder of our data's disk). On a rollback it goes back to `source`.
        """
        self.lock(path)
        path, source = _own_path(path), _own_path(source)
        before, found = look(path)
        after = tree_state(source)
        folders = missing_folders(path)
        step = Step(path, before, after, after_tree=source, folders=folders)
        self.make(self._with_aside(step), found)

    def remove_tree(self, path: Path) -> None:
        """Take a whole folder away into the journal; nothing happens when it is absent."""
        self.lock(path)
        path = _own_path(path)
        before, found = look(path)
        if before is None:
            return
        if before.kind != "tree":
            raise WriteFailedError(f"can't remove {shown(path)}: it is no folder", file=shown(path))
        self.make(self._with_aside(Step(path, before, None)), found)

    def watch(self, path: Path) -> None:
        """Keep a file as it is now, because another program is about to change it.

        A rollback restores it; the commit notes what the other program left.
        """
        self.lock(path)
        target = real_file(path)
        before, found = look(target)
        if before is not None and before.kind == "tree":
            raise WriteFailedError(f"can't keep {shown(path)}: it is a folder", file=shown(path))
        self._note(Step(target, before, None, watched=True), found)

    def apply(self, path: Path, before: Content, after: Content, mode: int | None = None) -> None:
        """Bring a path from `before`, else CHANGED_SINCE_READ is raised, to `after`."""
        self.lock(path)
        if isinstance(after, bytes) and (before is None or isinstance(before, bytes)):
            self.write(path, after, expected=before, mode=mode)
            return
        now = _require_content(_own_path(path), before)
        if isinstance(after, bytes):
            self._store.put(after)
            step = Step(_own_path(path), now, file_state(after, mode))
            self.make(self._with_aside(step))
        elif isinstance(after, Link):
            self.link(path, after.target)
        elif isinstance(after, Tree):
            if after.source is None:
                raise ValueError(f"the folder for {path} has no source")
            self.place_tree(path, after.source)
        elif isinstance(before, Tree):
            self.remove_tree(path)
        else:
            self.delete(path)

    def scratch(self) -> Path:
        """Give a private folder on our data's disk that is gone after the transaction."""
        self._begin()
        return self.pending.scratch()

    def lock(self, path: Path) -> None:
        """Lock a path until the end of the transaction; every change does it for its own."""
        named = Path(os.path.realpath(path.parent), path.name)
        if named in self._locked:
            return
        folder = self.pending.root / "locks"
        for lock in {lock_path(folder, named), lock_path(folder, real_file(path))}:
            if lock not in self._locked:
                self.locks.enter_context(
                    hold(lock, command=self.command, wait=self._wait, what=shown(path))
                )
                self._locked.add(lock)
        self._locks_of_dsh.enter_context(
            hold_dsh_files([named], command=self.command, wait=self._wait)
        )
        self._locked.add(named)

    def _with_aside(self, step: Step) -> Step:
        """Give a step that takes a folder away the place to keep it."""
        if step.before is None or step.before.kind != "tree":
            return step
        aside = self._store.tree(self._entry_id, len(self._steps), "before")
        return Step(step.path, step.before, step.after, aside, step.after_tree, step.folders)

    def make(self, step: Step, found: bytes | None = None) -> None:
        """Note a step, with the content it overwrites, then make it."""
        self._note(step, found)
        make(step, self._store, temporary_name(self.id))

    def leave(self, steps: Iterable[Step]) -> None:
        """Remove the folders of steps that were taken back, as far as they are empty.

        dsh's locks are let go first: one of them in a folder would keep it from going.
        """
        self._locks_of_dsh.close()
        for step in steps:
            remove_folders(step.folders)

    def summary(self) -> tuple[Step, ...]:
        """Give one step a path, from what was there first to what is there at the end."""
        merged: dict[Path, Step] = {}
        for number, step in enumerate(self._steps):
            first = merged.get(step.path, step)
            merged[step.path] = Step(
                step.path,
                first.before,
                step.after,
                step.before_tree,
                self._kept_after(number, step),
                first.folders or step.folders,
                first.watched or step.watched,
            )
        settled = (self._settle(step) for step in merged.values())
        return tuple(step for step in settled if _changes_something(step))

    def _kept_after(self, number: int, step: Step) -> Path | None:
        """Where an undo will set the folder aside that this step placed."""
        if step.after is None or step.after.kind != "tree":
            return None
        return self._store.tree(self._entry_id, number, "after")

    def _settle(self, step: Step) -> Step:
        """Find out what another program left at a watched path."""
        if not step.watched:
            return step
        after, found = look(step.path)
        if found is not None:
            self._store.put(found)
        return replace(step, after=after, watched=False)

    def _note(self, step: Step, found: bytes | None) -> None:
        """Put a step, and what it overwrites, on the disk."""
        for other in self._steps:
            _require_apart(step, other)
        if found is not None:
            self._store.put(found)
        self._begin()
        self.pending.add(step)
        self._steps.append(step)

    def _begin(self) -> None:
        if not self.pending.folder.is_dir():
            lock = self.pending.lock
            self.locks.enter_context(hold(lock, command=self.command, what=str(lock)))
            self.pending.begin(self.id, self._entry_id, self.command)


def _changes_something(step: Step) -> bool:
    before, after = step.before, step.after
    if before is None or after is None:
        return before is not after
    return not same(before, after) or before.mode != after.mode


def _own_path(path: Path) -> Path:
    """Give the absolute path of a name itself: its folder's links are followed, its own not."""
    return Path(os.path.realpath(path.parent), path.name)


def _require(path: Path, found: bytes | None, expected: bytes | EllipsisType | None) -> None:
    if isinstance(expected, EllipsisType) or found == expected:
        return
    raise _changed(path, digest(expected), digest(found))


def _require_content(path: Path, expected: Content) -> State | None:
    now, found = look(path)
    if isinstance(expected, bytes) or expected is None:
        matches = found == expected and (now is None) == (expected is None)
    elif isinstance(expected, Link):
        matches = same(now, State("link", expected.target))
    else:
        matches = same(now, State("tree", expected.digest))
    if not matches:
        raise _changed(path, None, now.value if now else None)
    return now


def _changed(path: Path, expected: str | None, found: str | None) -> ChangedSinceReadError:
    return ChangedSinceReadError(
        f"{shown(path)} has changed since it was read; nothing was written",
        file=shown(path),
        expected=expected,
        found=found,
    )


def _require_apart(step: Step, other: Step) -> None:
    """Hold callers to one folder change a path, and to none inside a folder that was moved."""
    moved = [one for one in (step, other) if one.before_tree or one.after_tree]
    if not moved:
        return
    one, two = step.path, other.path
    if one == two or one in two.parents or two in one.parents:
        raise ValueError(f"{one} and {two} can't both be changed by one transaction")
