"""Locks: several stores in one process, and programs that keep the database to themselves."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dshloop.errors import StoreBusyError
from dshloop.memory.entries import NewMemory
from dshloop.memory.sqlite import connect, migrate
from dshloop.memory.sqlite.store import SqliteStore
from tests.memory.sqlite.damaged import filled, looked_at

LONG = 30.0 if "DSHLOOP_TEST_KILLS" in os.environ else 7.0
"""Seconds that another program keeps the lock; longer than SQLite itself waits."""

OTHER = """
import sys
from pathlib import Path
from dshloop.memory.entries import NewMemory
from dshloop.memory.sqlite.store import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
for text in sys.argv[2:]:
    store.remember(NewMemory(text, "p"))
print("; ".join(memory.content for memory in store.list(limit=None, oldest_first=True)))
store.close()
"""


def other_process(path: Path, *texts: str) -> str:
    command = [sys.executable, "-c", OTHER, str(path), *texts]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def test_a_second_store_of_a_process_leaves_the_locks_of_the_first(path: Path) -> None:
    first, second = SqliteStore(path), SqliteStore(path)
    first.remember(NewMemory("alpha", "p"))
    second.remember(NewMemory("beta", "p"))
    second.close()
    # Without the first one's lock this process would take the log away when it ends.
    assert other_process(path, "gamma") == "alpha; beta; gamma"
    first.remember(NewMemory("delta", "p"))
    assert other_process(path) == "alpha; beta; gamma; delta"
    first.close()
    assert other_process(path) == "alpha; beta; gamma; delta"


@pytest.mark.skipif(sys.platform == "win32", reason="open files can't be moved")
def test_what_is_written_goes_into_the_file_of_that_name(path: Path) -> None:
    """Not into one that was moved away or deleted while the store was open."""
    store, reading = filled(path), SqliteStore(path)
    assert reading.count() == 62
    for name in ("memory.db", "memory.db-wal", "memory.db-shm"):
        path.with_name(name).unlink()
    assert reading.count() == 0
    memory = store.remember(NewMemory("after the files were deleted", "p")).memory
    assert reading.list() == [memory]
    moved = path.with_name("moved")
    store.close()
    reading.close()
    assert store.count() == 1
    path.rename(moved)
    filled(path).close()
    late = store.remember(NewMemory("after the file was replaced", "p")).memory
    assert store.count() == 63
    store.close()
    assert store.recall("replaced")[0].entry == late
    store.close()
    assert looked_at(path).findings == ()


def test_a_database_that_is_just_made_is_not_taken_for_anothers(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two questions another process may have made the tables."""
    filled(path).close()
    marks = migrate._marks
    answers = iter([(0, 0)])
    monkeypatch.setattr(migrate, "_marks", lambda connection: next(answers, marks(connection)))
    store = SqliteStore(path)
    assert store.count() == 62
    store.close()


HOLDER = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA locking_mode = " + sys.argv[2])
database.execute("BEGIN " + sys.argv[3])
if sys.argv[2] == "EXCLUSIVE":
    database.execute("SELECT count(*) FROM sqlite_master")
print("held", flush=True)
sys.stdin.read()
database.execute("ROLLBACK")
database.close()
"""


@pytest.fixture(params=["NORMAL IMMEDIATE", "NORMAL EXCLUSIVE", "EXCLUSIVE EXCLUSIVE"])
def holder(path: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """Another program that keeps the database locked until its input ends."""
    filled(path).close()
    running = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), *request.param.split()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "held\n"
    yield running
    let_go(running)
    running.stdout.close()


def let_go(holder: subprocess.Popen[str]) -> None:
    """End the other program, and its lock."""
    assert holder.stdin is not None
    holder.stdin.close()
    assert holder.wait(timeout=60) == 0


@pytest.mark.slow
def test_a_writer_outwaits_another_program(path: Path, holder: subprocess.Popen[str]) -> None:
    store = SqliteStore(path)
    ending = threading.Timer(LONG, let_go, [holder])
    ending.start()
    memory = store.remember(NewMemory("written after the lock", "p")).memory
    ending.join()
    assert store.recall("lock")[0].entry == memory
    store.close()
    assert looked_at(path).findings == ()


@pytest.mark.slow
def test_patience_has_an_end_that_is_told(
    path: Path, holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "PATIENCE", 0.3)
    monkeypatch.setattr(connect, "SQLITE_WAIT", 0.1)
    store = SqliteStore(path)
    with pytest.raises(StoreBusyError) as raised:
        store.remember(NewMemory("x", "p"))
    assert str(path) in raised.value.message
    assert raised.value.exit_code == 4
    let_go(holder)
    assert store.remember(NewMemory("now it goes", "p")).memory in store.list()
    store.close()
    assert looked_at(path).findings == ()


@pytest.mark.slow
def test_a_reader_does_not_wait_for_a_writer(path: Path) -> None:
    store = filled(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("DELETE FROM entries WHERE seq < 10")
    assert store.count() == 62
    assert len(store.recall("deploy")) == 10
    other.execute("ROLLBACK")
    other.close()
    store.close()
