"""What is left when the writer is killed: everything or nothing."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dshloop.errors import ChangedSinceReadError, LockHeldError, WriteFailedError
from dshloop.journal import Change, Journal
from tests.test_journal import package
from tests.test_journal import snapshot as everything

DISK_EVENTS = ("open", "os.", "shutil.")


def snapshot(folder: Path) -> dict[str, bytes | str | None]:
    """Everything in a folder but for locks of dead processes, which the next one takes over."""
    return {name: what for name, what in everything(folder).items() if ".json.lock" not in name}


def run_until_killed(action: Callable[[], object], point: int) -> bool:
    """Run `action` in a child that kills itself at its `point`-th call that touches the disk.

    True when it was killed, False when it came to its end before.
    """
    child = os.fork()
    if child == 0:
        seen = 0

        def count(event: str, _: object) -> None:
            nonlocal seen
            if event.startswith(DISK_EVENTS):
                seen += 1
                if seen == point:
                    os.kill(os.getpid(), signal.SIGKILL)

        with contextlib.suppress(BaseException):
            sys.addaudithook(count)
            action()
            os._exit(0)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def set_up(root: Path) -> tuple[Journal, Path]:
    home = root / "dsh"
    home.mkdir(parents=True)
    (home / "package.json").write_bytes(b"{}")
    (home / "gone").write_bytes(b"gone")
    (home / "link").symlink_to("gone")
    package(home / "old")
    package(home / "swap")
    package(root / "source", b"{1}")
    package(root / "other", b"{2}")
    return Journal(root / "data" / "journal"), home


def change(journal: Journal, home: Path) -> None:
    with journal.transaction("dshloop x") as tx:
        tx.watch(home / "pnpm-lock.yaml")
        tx.write(home / "package.json", b'{"a": 1}', expected=b"{}")
        (home / "pnpm-lock.yaml").write_bytes(b"lock")
        tx.write(home / "new" / "a", b"1")
        tx.write(home / "new" / "package.json", b"{}")
        tx.write(home / "new" / "b", b"2", mode=0o600)
        tx.delete(home / "gone")
        tx.link(home / "link", "./new")
        tx.place_tree(home / "swap", home.parent / "source")
        tx.place_tree(home / "node_modules" / "p", home.parent / "other")
        tx.remove_tree(home / "old")
        tx.write(home / "package.json", b'{"a": 2}')


ALL_POINTS = pytest.param(1, marks=pytest.mark.slow)


@pytest.mark.parametrize("stride", [17, ALL_POINTS])
def test_killed_transaction_is_all_or_nothing(tmp_path: Path, stride: int) -> None:
    for point in range(1, 10_000, stride):
        root = tmp_path / f"{point}"
        journal, home = set_up(root)
        before = snapshot(home)
        killed = run_until_killed(lambda j=journal, h=home: change(j, h), point)
        recovered = journal.recover()
        entries = journal.entries()
        if not entries:
            assert snapshot(home) == before, point
            assert all(one.fault is None and one.kept == () for one in recovered)
            change(journal, home)
        after = snapshot(home)
        assert {"new/a", "new/b", "pnpm-lock.yaml", "node_modules/p/lib/run"} <= set(after)
        assert {"gone", "old"}.isdisjoint(after)
        assert list((journal.root / "pending").iterdir()) == []
        journal.undo()
        assert snapshot(home) == before, point
        if not killed:
            break
    else:
        pytest.fail("the transaction never came to its end")


@pytest.mark.parametrize("stride", [17, ALL_POINTS])
@pytest.mark.parametrize("verb", ["undo", "redo"])
def test_killed_undo_and_redo_are_all_or_nothing(tmp_path: Path, verb: str, stride: int) -> None:
    for point in range(1, 10_000, stride):
        root = tmp_path / f"{point}"
        journal, home = set_up(root)
        shots = {"undone": snapshot(home)}
        change(journal, home)
        shots["done"] = snapshot(home)
        if verb == "redo":
            journal.undo()
        killed = run_until_killed(getattr(journal, verb), point)
        journal.recover()
        (entry,) = journal.entries()
        assert snapshot(home) == shots[entry.state], point
        assert list((journal.root / "pending").iterdir()) == []
        for _ in range(2):
            entry = journal.undo() if entry.state == "done" else journal.redo()
            assert snapshot(home) == shots[entry.state], point
        if not killed:
            break
    else:
        pytest.fail(f"{verb} never came to its end")


def test_killed_recovery_is_done_by_the_next(tmp_path: Path) -> None:
    points = iter(range(150, 10_000, 40))
    for point in points:
        journal, home = set_up(tmp_path / f"{point}")
        before = snapshot(home)
        if not run_until_killed(lambda j=journal, h=home: change(j, h), point):
            break
        for inner in (5, 15, 25, 35):
            run_until_killed(journal.recover, inner)
        journal.recover()
        assert snapshot(home) == before or journal.entries()
        assert list((journal.root / "pending").iterdir()) == []


def test_recovery_keeps_what_somebody_wrote_after_the_crash(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    home = tmp_path / "dsh"
    home.mkdir()

    def crash() -> None:
        with journal.transaction("dshloop x") as tx:
            tx.write(home / "a", b"1")
            tx.write(home / "b", b"1")
            os.kill(os.getpid(), signal.SIGKILL)

    assert run_until_killed(crash, 0)
    (home / "a").write_bytes(b"mine")
    (outcome,) = journal.recover()
    assert (outcome.command, outcome.restored, outcome.kept) == (
        "dshloop x",
        (home / "b",),
        (home / "a",),
    )
    assert snapshot(home) == {"a": b"mine"}
    assert journal.recover() == []
    assert journal.recovered == [outcome]


@pytest.mark.parametrize("recovers_alone", [True, False])
def test_full_disk_at_any_point_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recovers_alone: bool
) -> None:
    """`recovers_alone`: there is room again for the rollback; else only for the next command."""
    sync = os.fsync
    for point in range(1, 1000, 3):
        journal, home = set_up(tmp_path / f"{point}")
        before = snapshot(home)
        calls = 0

        def fail(descriptor: int, point: int = point) -> None:
            nonlocal calls
            calls += 1
            if calls == point or (calls > point and not recovers_alone):
                raise OSError(errno.ENOSPC, "No space left on device")
            sync(descriptor)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fail)
            try:
                change(journal, home)
            except WriteFailedError as error:
                reason = error.message
            else:
                break
        assert "no space is left on the disk" in reason
        journal.recover()
        assert snapshot(home) == before, point
        assert journal.entries() == []
    else:
        pytest.fail("the transaction never came to its end")
    assert point > 30


def test_next_transaction_puts_a_crash_in_order_first(tmp_path: Path) -> None:
    journal, home = set_up(tmp_path)
    assert run_until_killed(lambda: change(journal, home), 150)
    with pytest.raises(ChangedSinceReadError):
        journal.record("y", [Change(home / "package.json", b'{"a": 1}', b"")])
    assert [one.command for one in journal.recovered] == ["dshloop x"]
    journal.record("y", [Change(home / "package.json", b"{}", b"2")])


def test_running_transaction_is_no_crash(tmp_path: Path) -> None:
    journal, home = set_up(tmp_path)
    with journal.transaction("x") as tx:
        tx.write(home / "a", b"1")
        assert Journal(journal.root).recover() == []
        assert (home / "a").exists()
    assert journal.entries()[0].paths == (home / "a",)


WRITER = """
import sys
from pathlib import Path
from dshloop.errors import LockHeldError
from dshloop.journal import Journal
journal, home = Journal(Path(sys.argv[1])), Path(sys.argv[2])
names = [f"f{n}" for n in range(4)]
print("ready", flush=True)
for round in range(int(sys.argv[3])):
    try:
        with journal.transaction(sys.argv[4], wait=60) as tx:
            for name in names:
                tx.lock(home / name)
            count = int((home / "f0").read_bytes()) + 1
            for name in names:
                tx.write(home / name, b"%d" % count)
    except LockHeldError:
        print("refused", flush=True)
"""


def start_writer(journal: Journal, home: Path, rounds: int) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(journal.root), str(home), str(rounds), "dshloop w"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def counters(tmp_path: Path) -> tuple[Journal, Path]:
    home = tmp_path / "dsh"
    home.mkdir()
    for number in range(4):
        (home / f"f{number}").write_bytes(b"0")
    return Journal(tmp_path / "journal"), home


@pytest.mark.parametrize("rounds", [3, pytest.param(30, marks=pytest.mark.slow)])
def test_writer_killed_at_random_leaves_whole_generations(tmp_path: Path, rounds: int) -> None:
    journal, home = counters(tmp_path)
    dice = random.Random(rounds)
    for _ in range(rounds):
        child = start_writer(journal, home, 10_000)
        time.sleep(dice.uniform(0.0, 0.12))
        child.kill()
        child.communicate()
        journal.recover()
        found = snapshot(home)
        assert sorted(found) == ["f0", "f1", "f2", "f3"]
        assert len(set(found.values())) == 1
        assert int(found["f0"] or b"") == len(journal.entries())


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    journal, home = counters(tmp_path)
    writers = [start_writer(journal, home, 8) for _ in range(3)]
    outputs = [writer.communicate(timeout=60)[0] for writer in writers]
    assert outputs == ["", "", ""]
    assert set(snapshot(home).values()) == {b"24"}
    entries = journal.entries()
    assert [entry.sequence for entry in entries] == list(range(24, 0, -1))
    while (home / "f0").read_bytes() != b"0":
        journal.undo()
    assert set(snapshot(home).values()) == {b"0"}


def test_lock_of_a_killed_transaction_is_free(tmp_path: Path) -> None:
    journal, home = set_up(tmp_path)
    assert run_until_killed(lambda: change(journal, home), 150)
    try:
        with journal.transaction("y", wait=0) as tx:
            tx.write(home / "package.json", b"2")
    except LockHeldError as error:
        pytest.fail(error.message)
    assert not (home / "package.json.lock").exists()
