"""A disk that is full, files that may not be written, and files that are no database."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from dshloop.errors import (
    DshloopError,
    StoreCorruptError,
    UnreadableFileError,
    WriteFailedError,
)
from dshloop.memory.entries import NewMemory, NewObservation
from dshloop.memory.sqlite import index
from dshloop.memory.sqlite.store import SqliteStore
from tests.memory.sqlite.damaged import filled, looked_at, overwrite, page_of

posix = pytest.mark.skipif(sys.platform == "win32", reason="limits and owners are of POSIX")
NOT_ROOT = hasattr(os, "geteuid") and os.geteuid() != 0

FULL = """
import json, resource, sys
from pathlib import Path
from dshloop.errors import DshloopError
from dshloop.memory.entries import NewMemory
from dshloop.memory.sqlite.care import backup, reindex, salvage
from dshloop.memory.sqlite.store import SqliteStore
from dshloop.memory.sqlite.database import Database

path, verb, room = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store, kept = SqliteStore(path), []
sizes = [one.stat().st_size for one in path.parent.iterdir()]
resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
try:
    for number in range(100_000):
        if verb == "remember":
            text = f"word{number} " + "and what else was found on this day, at length " * 40
            kept.append(store.remember(NewMemory(text, "p")).memory.id)
        elif verb == "backup":
            backup.backup(Database(path), path.with_name("copy.db"))
        elif verb == "salvage":
            salvage.salvage(path, path.with_name("copy.db"))
        elif verb == "reindex":
            for _ in reindex.reindex(Database(path)):
                pass
except DshloopError as error:
    said = {"code": error.code, "message": error.message, "kept": kept}
    print(json.dumps({**said, "count": store.count()}))
    store.close()
"""


def on_a_full_disk(path: Path, verb: str, room: int) -> dict[str, object]:
    """Do something where no file may grow beyond ``room`` bytes; give what was said."""
    command = [sys.executable, "-c", FULL, str(path), verb, str(room)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    said: dict[str, object] = json.loads(done.stdout)
    return said


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@posix
@pytest.mark.slow
@pytest.mark.parametrize("room", [400_000, 500_000, 1_000_003])
def test_a_full_disk_costs_only_what_it_refuses(path: Path, room: int) -> None:
    filled(path).close()
    said = on_a_full_disk(path, "remember", room)
    kept = said["kept"]
    assert isinstance(kept, list)
    assert said["code"] == "WRITE_FAILED"
    assert str(path) in str(said["message"])
    assert said["count"] == 62 + len(kept)
    assert looked_at(path).findings == ()
    store = SqliteStore(path)
    assert {entry.id for entry in store.list(limit=None)} >= set(kept)
    assert store.recall("word0")[0].entry.id in kept
    late = store.remember(NewMemory("there is room again", "p")).memory
    assert store.recall("room")[0].entry == late
    store.close()


@posix
@pytest.mark.slow
@pytest.mark.parametrize("verb", ["backup", "salvage", "reindex"])
def test_care_on_a_full_disk_leaves_all_as_it_was(path: Path, verb: str) -> None:
    filled(path, 600).close()
    said = on_a_full_disk(path, verb, path.stat().st_size * 2 // 3)
    assert said["code"] == "WRITE_FAILED"
    # Where the log can't be moved into the database it stays, and is read.
    left = {file.name for file in path.parent.iterdir()}
    assert left <= {"memory.db", "memory.db-wal", "memory.db-shm"}
    found = looked_at(path)
    assert found.sound
    assert found.entries == 1202


@pytest.mark.skipif(not NOT_ROOT, reason="root may write everywhere")
def test_a_file_that_may_not_be_written_is_read(path: Path) -> None:
    filled(path).close()
    path.chmod(0o400)
    store = SqliteStore(path)
    assert store.count() == 62
    with pytest.raises(DshloopError) as raised:
        store.remember(NewMemory("x", "p"))
    assert str(path) in raised.value.message
    store.close()
    assert [file.name for file in path.parent.iterdir()] == ["memory.db"]
    assert looked_at(path).sound
    path.chmod(0o600)
    store.remember(NewMemory("written again", "p"))
    store.close()


@pytest.mark.skipif(not NOT_ROOT, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_read(path: Path) -> None:
    filled(path).close()
    path.parent.chmod(0o500)
    try:
        store = SqliteStore(path)
        assert store.count() == 62
        with pytest.raises(DshloopError):
            store.remember(NewMemory("x", "p"))
        store.close()
        assert [file.name for file in path.parent.iterdir()] == ["memory.db"]
    finally:
        path.parent.chmod(0o700)


@pytest.mark.parametrize("nonsense", [b"no database at all " * 500, b"\0" * 8192, b"{}"])
def test_what_is_no_database_is_refused_and_left(path: Path, nonsense: bytes) -> None:
    path.write_bytes(nonsense)
    uses: tuple[Callable[[SqliteStore], object], ...] = (
        SqliteStore.list,
        SqliteStore.stats,
        lambda store: store.recall("x"),
        lambda store: store.remember(NewMemory("x", "p")),
    )
    for use in uses:
        store = SqliteStore(path)
        with pytest.raises(StoreCorruptError):
            use(store)
        store.close()
        assert path.read_bytes() == nonsense


def test_a_folder_in_the_place_of_the_file_is_told(path: Path) -> None:
    path.mkdir()
    store = SqliteStore(path)
    for use in (lambda: store.list(), lambda: store.remember(NewMemory("x", "p"))):
        with pytest.raises((UnreadableFileError, WriteFailedError)):
            use()


def test_a_damaged_page_is_told_with_what_to_do(path: Path) -> None:
    filled(path, 300).close()
    overwrite(path, page_of(path, "entries", 3), b"\xff" * 4096)
    store = SqliteStore(path)
    with pytest.raises(StoreCorruptError) as raised:
        store.list(limit=None)
    assert "check --salvage" in (raised.value.hint or "")
    # Writers near the damage fail, those elsewhere don't make it worse.
    with pytest.raises(StoreCorruptError):
        store.forget(where=None, ids=[id_of(path, 60)])
    store.close()
    assert path.exists()


def id_of(path: Path, seq: int) -> str:
    """Give the id of a row from the index of ids, which is on another page."""
    database = sqlite3.connect(path)
    query = "SELECT id FROM entries INDEXED BY sqlite_autoindex_entries_1 WHERE rowid = ?"
    ((id_,),) = database.execute(query, (seq,)).fetchall()
    database.close()
    return str(id_)


def test_a_clock_that_goes_back_loses_nothing(path: Path) -> None:
    now = [2_000_000_000.0]
    store = SqliteStore(path, clock=lambda: now[0])
    first = store.remember(NewMemory("alpha of the first", "p", ttl=86_400.0)).memory
    seen = store.observe(NewObservation("s", "p", "note", "note", "seen", "k")).observation
    for moment in (1_000_000_000.0, 5.0, 0.0, 1_999_999_999.0):
        now[0] = moment
        later = store.remember(NewMemory(f"beta at {moment}", "p")).memory
        edited = store.edit(later.id, content=f"gamma at {moment}").memory
        assert store.list(limit=1) == [edited]
        assert store.get(first.id) == first
        assert store.recall("alpha")[0].entry == first
        assert store.history(edited.id)[-1] == edited
        store.observe(NewObservation("s", "p", "note", "note", f"seen {moment}", f"{moment}"))
        store.forget([store.remember(NewMemory(f"passing {moment}", "p")).memory.id])
        assert store.undo().verb == "forget"
    assert store.get(seen.id) == seen
    session = store.get_session("s")
    assert session is not None
    assert session.observations == 5
    store.close()
    assert looked_at(path).findings == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    ["wide words of it " * 1_000_000, "x" * 16_000_000, "字" * 5_400_000],
    ids=["words", "one word", "unspaced"],
)
def test_sixteen_megabytes_are_kept(path: Path, content: str) -> None:
    store = SqliteStore(path)
    memory = store.remember(NewMemory(content, "p", title="the long one")).memory
    assert store.get(memory.id).content == content
    assert store.recall("long")[0].entry.id == memory.id
    assert store.edit(memory.id, strength=3.0).memory.content == content
    store.close()
    assert looked_at(path).findings == ()


def test_nul_and_lone_surrogates_are_kept(path: Path) -> None:
    odd = "before\0after \ud800 low \udfff end\x1f\u2028 \ufeff \uffff \U0010ffff"
    store = SqliteStore(path)
    memory = store.remember(
        NewMemory(odd, odd, title=odd, concepts=(odd,), files=(odd,), agent=odd, session=odd)
    ).memory
    seen = store.observe(NewObservation(odd, odd, "note", odd, odd, odd)).observation
    store.close()
    store = SqliteStore(path)
    assert store.get(memory.id) == memory
    assert store.get(seen.id) == seen
    assert memory.content == seen.content == odd
    assert memory in [hit.entry for hit in store.recall("after")]
    assert store.get_session(odd) is not None
    edited = store.edit(memory.id, content=odd + "!").memory
    store.forget([edited.id, seen.id])
    assert store.undo().verb == "forget"
    assert store.get(seen.id) == seen
    store.close()
    assert looked_at(path).findings == ()


def test_a_part_that_failed_is_not_half_stored(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where who stores many catches the error of one."""
    store = filled(path)

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    def many() -> None:
        with store.batch():
            store.remember(NewMemory("the first of many", "p"))
            monkeypatch.setattr(index, "add", full)
            with suppress(DshloopError):
                store.remember(NewMemory("the second of many", "p"))
            monkeypatch.undo()
            store.remember(NewMemory("the third of many", "p"))

    with pytest.raises(DshloopError, match="disk is full"):
        many()
    assert store.count() == 62
    store.close()
    assert looked_at(path).findings == ()
