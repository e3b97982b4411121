"""`memory backup`: a copy at one moment, verified, never over something else; and back again."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dshloop.errors import (
    DshloopError,
    OutputExistsError,
    OutputRefusedError,
    StoreCorruptError,
    StoreReadOnlyError,
    UnreadableFileError,
)
from dshloop.memory.entries import NewMemory
from dshloop.memory.sqlite.care.backup import Copied, backup, restore
from dshloop.memory.sqlite.database import Database
from dshloop.memory.sqlite.store import SqliteStore
from tests.memory.sqlite.damaged import filled, looked_at, overwrite, page_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "copies" / "memory.backup"


def copy(path: Path, target: Path, *, force: bool = False) -> Copied:
    database = Database(path)
    target.parent.mkdir(exist_ok=True)
    try:
        return backup(database, target, force=force)
    finally:
        database.close()


def bring_back(path: Path, source: Path, *, readonly: bool = False) -> Copied:
    database = Database(path, readonly=readonly)
    try:
        return restore(database, source)
    finally:
        database.close()


def test_a_copy_has_everything_and_is_private(path: Path, target: Path) -> None:
    store = filled(path)  # open: the newest entries are in the log only
    done = copy(path, target)
    assert done == Copied(target, target.stat().st_size, 62)
    other = SqliteStore(target)
    assert other.list(limit=None) == store.list(limit=None)
    assert other.sessions() == store.sessions()
    assert other.undo().verb == "forget"
    for each in (store, other):
        each.close()
    assert looked_at(target).findings == ()
    assert [file.name for file in target.parent.iterdir()] == [target.name]
    if sys.platform != "win32":
        assert target.stat().st_mode & 0o777 == 0o600


def test_what_is_there_is_replaced_only_by_force(path: Path, target: Path) -> None:
    filled(path).close()
    target.parent.mkdir()
    target.write_text("mine")
    with pytest.raises(OutputExistsError):
        copy(path, target)
    assert target.read_text() == "mine"
    assert copy(path, target, force=True).entries == 62
    assert [file.name for file in target.parent.iterdir()] == [target.name]


def test_the_database_and_its_files_are_no_target(path: Path, target: Path) -> None:
    store = filled(path)
    link = path.with_name("link.db")
    link.symlink_to(path)
    for name in ("memory.db", "memory.db-wal", "memory.db-shm", "link.db"):
        with pytest.raises(OutputRefusedError):
            copy(path, path.with_name(name), force=True)
    other = SqliteStore(target)
    other.remember(NewMemory("in use", "p"))
    with pytest.raises(OutputRefusedError, match="in use"):
        copy(path, target, force=True)
    for each in (store, other):
        each.close()
    assert looked_at(path).findings == ()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_what_is_no_ordinary_file_is_never_replaced(path: Path, target: Path) -> None:
    filled(path).close()
    target.parent.mkdir()
    os.mkfifo(target)
    with pytest.raises(OutputRefusedError, match="no ordinary file"):
        copy(path, target, force=True)
    assert target.is_fifo()


def test_without_a_database_there_is_nothing_to_copy(path: Path, target: Path) -> None:
    with pytest.raises(UnreadableFileError, match="nothing to copy"):
        copy(path, target)
    assert list(target.parent.iterdir()) == []


def test_a_damaged_database_gives_no_copy(path: Path, target: Path) -> None:
    filled(path, 300).close()
    overwrite(path, page_of(path, "entries", 3), b"\xff" * 4096)
    with pytest.raises(StoreCorruptError):
        copy(path, target)
    assert list(target.parent.iterdir()) == []


def test_a_copy_comes_back_and_what_was_there_is_kept(path: Path, target: Path) -> None:
    store = filled(path)
    copy(path, target)
    before = store.list(limit=None)
    late = store.remember(NewMemory("after the copy", "web")).memory
    store.forget([before[3].id])
    reading = SqliteStore(path)
    assert reading.count() == 62
    assert bring_back(path, target).entries == 62
    assert reading.list(limit=None) == store.list(limit=None) == before
    assert reading.recall("after") == []
    again = store.remember(NewMemory("after the return", "web")).memory
    assert [hit.entry for hit in reading.recall("return")] == [again]
    for each in (store, reading):
        each.close()
    assert looked_at(path).findings == ()
    kept = SqliteStore(path.with_name("memory.db.before-restore"))
    assert kept.get(late.id) == late
    kept.close()


def test_a_copy_comes_back_where_nothing_is(path: Path, target: Path) -> None:
    filled(path).close()
    copy(path, target)
    fresh = path.with_name("fresh") / "memory.db"
    assert bring_back(fresh, target).entries == 62
    assert looked_at(fresh).findings == ()
    if sys.platform != "win32":
        assert fresh.stat().st_mode & 0o777 == 0o600


def test_only_a_sound_copy_comes_back(path: Path, target: Path) -> None:
    store = filled(path, 300)
    copy(path, target)
    overwrite(target, page_of(target, "entries", 3), b"\xff" * 4096)
    foreign = path.with_name("foreign.db")
    database = sqlite3.connect(foreign)
    database.execute("CREATE TABLE t (a)")
    database.commit()
    database.close()
    empty = path.with_name("empty.db")
    empty.touch()
    for source in (target, foreign, empty, path, path.with_name("missing.db"), path.parent):
        with pytest.raises(DshloopError):
            bring_back(path, source)
    copy(path, foreign, force=True)
    with pytest.raises(StoreReadOnlyError):
        bring_back(path, foreign, readonly=True)
    assert store.count() == 602
    store.close()
    assert looked_at(path).findings == ()


def test_each_return_keeps_what_was_there(path: Path, target: Path) -> None:
    filled(path).close()
    copy(path, target)
    for _ in range(3):
        bring_back(path, target)
    assert sorted(file.name for file in path.parent.glob("memory.db*")) == [
        "memory.db",
        "memory.db.before-restore",
        "memory.db.before-restore-2",
        "memory.db.before-restore-3",
    ]


def test_a_copy_takes_the_place_of_a_damaged_database(path: Path, target: Path) -> None:
    filled(path, 300).close()
    copy(path, target)
    for damage in (b"\xff" * 4096, b"no database"):
        overwrite(path, 0, damage)
        damaged = path.read_bytes()
        assert bring_back(path, target).entries == 602
        assert looked_at(path).findings == ()
        kept = max(path.parent.glob("*.before-restore*"), key=lambda one: one.stat().st_mtime_ns)
        assert kept.read_bytes() == damaged


RESTORE = """
import sys
from pathlib import Path
from dshloop.memory.sqlite.care.backup import restore
from dshloop.memory.sqlite.database import Database
print("ready", flush=True)
restore(Database(Path(sys.argv[1])), Path(sys.argv[2]))
print("done", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_return_that_is_killed_leaves_the_old_or_the_new(path: Path, target: Path) -> None:
    store, chance, seen = filled(path, 1_000), random.Random(5), set()
    copy(path, target)
    for turn in range(10):
        store.remember(NewMemory(f"after the copy {turn}", "web"))
        count = store.count()
        running = subprocess.Popen(
            [sys.executable, "-c", RESTORE, str(path), str(target)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert running.stdout is not None
        running.stdout.readline()
        time.sleep(chance.random() * 0.15)
        running.kill()
        done = "done" in running.communicate(timeout=60)[0]
        found = store.count()
        assert found in ({2_002} if done else {2_002, count})
        seen.add(found == count)
        assert looked_at(path).findings == ()
    assert True in seen
    store.close()
