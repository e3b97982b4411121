"""Any sequence of changes, undos and redos is byte-exact."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dshloop.errors import ChangedSinceReadError, EntryNotFoundError
from dshloop.journal import Journal, Transaction
from tests.test_journal import snapshot

NAMES = st.sampled_from(["a", "b", "deep/er/c", "deep/d", "tree"])
CONTENTS = st.sampled_from([b"", b"1", b"1\n", b"\xff\x00", b"\xef\xbb\xbfx\r\n"])
KINDS = st.sampled_from(["write", "delete", "link", "tree"])
CHANGES = st.lists(
    st.tuples(NAMES, KINDS, CONTENTS), min_size=1, max_size=4, unique_by=lambda c: c[0]
)


class Sequences(RuleBasedStateMachine):
    """Drives one journal and keeps what the folder held at each point of its history."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.home = self.root / "home"
        self.home.mkdir()
        self.journal = Journal(self.root / "journal")
        self.done: list[dict[str, bytes | str | None]] = []
        self.undone: list[dict[str, bytes | str | None]] = []
        self.now = snapshot(self.home)

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    @rule(changes=CHANGES, fails=st.booleans())
    def transaction(self, changes: list[tuple[str, str, bytes]], fails: bool) -> None:
        try:
            with self.journal.transaction("x") as tx:
                for number, (name, kind, data) in enumerate(changes):
                    self._change(tx, name, kind, data, number)
                if fails:
                    raise InterruptedError
        except InterruptedError:
            assert snapshot(self.home) == self.now
            return
        if tx.entry is not None:
            self.done.append(self.now)
            self.undone.clear()  # as far as the paths are the same; see redo
        self.now = snapshot(self.home)

    def _change(self, tx: Transaction, name: str, kind: str, data: bytes, number: int) -> None:
        path = self.home / name
        is_tree = path.is_dir() and not path.is_symlink()
        if kind == "tree":
            source = tx.scratch() / f"{number}"
            source.mkdir()
            (source / "file").write_bytes(data)
            tx.place_tree(path, source)
        elif kind == "link":
            tx.link(path, "./" + str(len(data)))
        elif is_tree:
            tx.remove_tree(path)
        elif kind == "delete" or path.is_symlink():
            tx.delete(path)
        else:
            tx.write(path, data)

    @rule()
    def undo(self) -> None:
        if not self.done:
            try:
                self.journal.undo()
            except EntryNotFoundError:
                return
            raise AssertionError("undid something that was never done")
        self.journal.undo()
        self.undone.append(self.now)
        self.now = self.done.pop()

    @precondition(lambda self: bool(self.undone))
    @rule()
    def redo(self) -> None:
        self.journal.redo()
        self.done.append(self.now)
        self.now = self.undone.pop()

    @precondition(lambda self: bool(self.done))
    @rule(data=st.binary(min_size=5, max_size=9))
    def foreign_edit_is_respected(self, data: bytes) -> None:
        entry = next(entry for entry in self.journal.entries() if entry.state == "done")
        path = entry.paths[0]
        if path.is_symlink() or not path.is_file():
            return
        old = path.read_bytes()
        path.write_bytes(data)
        try:
            self.journal.undo()
        except ChangedSinceReadError:
            path.write_bytes(old)
        else:
            raise AssertionError("undo went over somebody's edit")

    @invariant()
    def everything_is_as_noted(self) -> None:
        assert snapshot(self.home) == self.now


TestSequences = Sequences.TestCase
TestSequences.settings = settings(max_examples=25, stateful_step_count=12, deadline=None)
