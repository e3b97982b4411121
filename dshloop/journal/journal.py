"""The journal: transactions on a user's files, their history, undo and redo."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dshloop.errors import DshloopError, LockHeldError, WriteFailedError
from dshloop.journal.entry import Entry, load_entry, save_entry
from dshloop.journal.history import History
from dshloop.journal.pending import Intent, Pending, Recovered, roll_back
from dshloop.journal.plan import Change
from dshloop.journal.prune import MAX_AGE, MAX_SIZE, expired, wanted_blobs
from dshloop.journal.step import Step, discard, missing_folders, remove_folders
from dshloop.journal.transaction import Transaction
from dshloop.locks import hold, owner_of

_COMMIT_WAIT = 30.0  # seconds; a commit or an undo takes far less


class Journal(History):
    """One journal in its folder (`Places.journal`); nothing is made before the first change.

    `recovered` collects what was put in order after commands that were killed, for the caller
    to tell.
    """

    def __init__(self, root: Path, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(root)
        self.recovered: list[Recovered] = []
        self._clock = clock

    # --- writing ------------------------------------------------------------------------------

    @contextlib.contextmanager
    def transaction(
        self,
        command: str,
        *,
        cwd: Path | None = None,
        now: float | None = None,
        wait: float = 2.0,
    ) -> Iterator[Transaction]:
        """Make the changes of the block all or none, also when the process is killed in it.

        What a killed command left is put in order first. An exception rolls everything back and
        goes on. Changes make one entry (`tx.entry`); no change makes none.
        """
        self.recover()
        tx = Transaction(self.root, self._new_id(), command, wait)
        with tx.locks:
            try:
                yield tx
                with self._locked(command):
                    tx.entry = self._commit(tx, cwd, self._clock() if now is None else now)
            except BaseException:
                self._abandon(tx)
                raise
            self._finish(tx)
        if tx.entry is not None:
            # the change is made: that tidying up has to wait is nobody's error
            with contextlib.suppress(DshloopError, OSError):
                self.prune()

    def record(
        self,
        command: str,
        changes: Sequence[Change],
        *,
        now: float | None = None,
        cwd: Path | None = None,
        note: Mapping[str, Any] | None = None,
    ) -> Entry | None:
        """Make these changes as one transaction; None when all was so already.

        Raises CHANGED_SINCE_READ when a path isn't at its `before`, LOCK_HELD, WRITE_FAILED;
        nothing is changed then.
        """
        with self.transaction(command, cwd=cwd, now=now) as tx:
            tx.note.update(note or {})
            for change in changes:
                tx.apply(change.path, change.before, change.after, change.mode)
        return tx.entry

    # --- undo and redo ------------------------------------------------------------------------

    def undo(self, entry_id: str | None = None, *, wait: float = 2.0) -> Entry:
        """Take back the newest entry that is done, or the one named; byte for byte.

        Raises CHANGED_SINCE_READ when a path is no longer what the entry left, ENTRY_NOT_FOUND,
        ENTRY_STATE, LOCK_HELD; nothing is changed then. The caller may look at `entry.note`.
        """
        return self._turn(lambda: self.to_undo(entry_id), "undo", wait)

    def redo(self, entry_id: str | None = None, *, wait: float = 2.0) -> Entry:
        """Make again the entry that was undone last, or the one named. Errors: `undo`.

        Without an id, an entry one of whose paths was written anew since is not taken.
        """
        return self._turn(lambda: self.to_redo(entry_id), "redo", wait)

    # --- order --------------------------------------------------------------------------------

    def recover(self) -> list[Recovered]:
        """Roll back what killed commands left unfinished; also kept in `recovered`.

        A transaction whose process still runs is left alone.
        """
        pending = self.root / "pending"
        if not pending.is_dir() or not any(pending.iterdir()):
            return []
        try:
            with hold(self.root / "locks" / "recover.lock", command="dshloop", wait=_COMMIT_WAIT):
                found = [self._recover_one(folder.name) for folder in sorted(pending.iterdir())]
        except LockHeldError:
            return []
        done = [one for one in found if one is not None]
        self.recovered.extend(done)
        return done

    def prune(self, *, max_age: float = MAX_AGE, max_size: int = MAX_SIZE) -> list[Entry]:
        """Forget old entries (seconds, bytes) and their contents; the newest always stays."""
        with self._locked("dshloop"):
            gone = expired(self.entries(), self._clock(), max_age, max_size)
            for entry in gone:
                self.entry_file(entry.id).unlink(missing_ok=True)
                for tree in self.store.trees_of(entry.id):
                    discard(tree)
            if gone:
                self.store.sweep(wanted_blobs(self.root, self.entries()))
        return gone

    # --- inside -------------------------------------------------------------------------------

    def _commit(self, tx: Transaction, cwd: Path | None, now: float) -> Entry | None:
        changes = tx.summary()
        if not changes:
            return None
        entry = Entry(
            id=tx.id,
            sequence=self.next_count(),
            time=now,
            command=tx.command,
            cwd=None if cwd is None else str(cwd),
            changes=changes,
            note=tx.note,
            undone=None,
            writer=tx.id,
        )
        self._save(entry)
        return entry

    def _turn(self, choose: Callable[[], Entry], verb: str, wait: float) -> Entry:
        """Undo or redo an entry as a transaction whose commit is the entry's new state."""
        self.recover()
        with self._locked(f"dshloop {verb}"):
            entry = choose()
            tx = Transaction(
                self.root, self._new_id(), f"dshloop {verb} {entry.id}", wait, entry=entry.id
            )
            with tx.locks:
                try:
                    for path in entry.paths:
                        tx.lock(path)
                    self.require_ready(entry)
                    back = verb == "undo"
                    entry = replace(entry, changes=tuple(map(_with_mode, entry.changes)))
                    for step in reversed(entry.changes) if back else entry.changes:
                        onward = step.reversed() if back else step
                        tx.make(replace(onward, folders=missing_folders(step.path)))
                    undone = self.next_count() if back else None
                    entry = replace(entry, undone=undone, writer=tx.id)
                    self._save(entry)
                    if back:
                        tx.leave(reversed(entry.changes))
                except BaseException:
                    self._abandon(tx)
                    raise
                self._finish(tx)
        return entry

    def _save(self, entry: Entry) -> None:
        """Commit; once the entry is there it counts, even if the disk couldn't flush its folder."""
        try:
            save_entry(self.entry_file(entry.id), entry)
        except WriteFailedError:
            found = load_entry(self.entry_file(entry.id))
            if found is None or found.writer != entry.writer:
                raise

    def _finish(self, tx: Transaction) -> None:
        """Tidy up after a commit; what can't be done now the next command's recovery does."""
        with contextlib.suppress(DshloopError, OSError):
            tx.pending.clear()

    def _abandon(self, tx: Transaction) -> None:
        """Roll back a transaction that failed, or was interrupted, in this process."""
        intent = tx.pending.load()
        if intent is None:
            return
        if tx.pending.committed(intent) is None:
            outcome = roll_back(intent, self.store)
            tx.leave(reversed(intent.steps))
            if outcome.kept or outcome.fault:
                self.recovered.append(outcome)
            if outcome.fault:
                return  # the next command tries again
        tx.pending.clear()

    def _recover_one(self, name: str) -> Recovered | None:
        pending = Pending(self.root, name)
        if owner_of(pending.lock) is not None or not pending.folder.is_dir():
            return None
        outcome: Recovered | None = None
        intent = pending.load()
        if intent is not None:
            entry = pending.committed(intent)
            if entry is None:
                outcome = self._roll_back_locked(intent)
            else:
                _remove_left_folders(entry)
        if outcome is None or outcome.fault is None:
            pending.clear()
        return outcome

    def _roll_back_locked(self, intent: Intent) -> Recovered:
        """Roll a dead process's transaction back, unless a live one is at its files."""
        tx = Transaction(self.root, intent.id, "dshloop (putting files in order)", 2.0)
        with tx.locks:
            try:
                for step in intent.steps:
                    tx.lock(step.path)
            except DshloopError as error:
                return Recovered(intent.id, intent.command, fault=error.message)
            outcome = roll_back(intent, self.store)
            tx.leave(reversed(intent.steps))
            return outcome

    def _new_id(self) -> str:
        """Give an id whose first characters tell it from others, so that people can type them."""
        while True:
            new = os.urandom(4).hex()
            if not self.entry_file(new).exists() and not new.isdigit():
                return new

    def _locked(self, command: str) -> contextlib.AbstractContextManager[None]:
        return hold(
            self.root / "locks" / "journal.lock",
            command=command,
            wait=_COMMIT_WAIT,
            what="the history",
        )


def _with_mode(step: Step) -> Step:
    """Note the mode that a file has now which is about to go, so that it comes back with it."""
    only = step.after if step.before is None else step.before if step.after is None else None
    if only is None or only.kind != "file" or not step.path.is_file():
        return step
    only = replace(only, mode=stat.S_IMODE(step.path.stat().st_mode))
    return replace(step, after=only) if step.before is None else replace(step, before=only)


def _remove_left_folders(entry: Entry) -> None:
    """Finish an undo that was killed after its commit."""
    if entry.state == "undone":
        for step in reversed(entry.changes):
            remove_folders(step.folders)
