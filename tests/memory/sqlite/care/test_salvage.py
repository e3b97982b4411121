"""`memory check --salvage`: what is whole comes out of a damaged file; the file stays."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from dshloop.errors import DshloopError, OutputExistsError, StoreCorruptError
from dshloop.memory.sqlite.care.salvage import _TABLES, salvage
from dshloop.memory.sqlite.store import SqliteStore
from tests.memory.sqlite.damaged import change, filled, looked_at, overwrite, page_of
from tests.memory.sqlite.test_migration_kills import old_database

COUNT = 400


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    filled(path, COUNT).close()
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "saved.db"


def test_a_damaged_page_costs_its_rows_only(path: Path, target: Path) -> None:
    whole = SqliteStore(path)
    before = {entry.id: entry for entry in whole.list(limit=None)}
    whole.close()
    overwrite(path, page_of(path, "entries", 5), b"\xff" * 4096)
    damaged = path.read_bytes()
    done = salvage(path, target)
    assert path.read_bytes() == damaged
    assert 0 < done.lost["entries"] < 60
    assert done.saved["entries"] + done.lost["entries"] == len(before) + 1  # an old version
    store = SqliteStore(target)
    saved = {entry.id: entry for entry in store.list(limit=None)}
    assert all(before[id_] == entry for id_, entry in saved.items())
    gone = set(before) - set(saved)
    assert gone == {id_ for id_ in done.lost_ids if id_ in before} | (gone - set(done.lost_ids))
    assert len(done.lost_ids) == min(20, done.lost["entries"])
    assert set(done.lost_ids) <= gone
    assert store.recall(f"n{COUNT - 1}")[0].entry.content == f"finding n{COUNT - 1} on the deploy"
    assert len(store.sessions()) == 2
    store.close()
    assert {finding.code for finding in looked_at(target).findings} <= {"VERSION_HIDDEN"}
    assert sorted(file.name for file in path.parent.iterdir()) == ["memory.db", "saved.db"]


def test_a_file_that_was_cut_short_gives_what_it_has(path: Path, target: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 4096 * 4096 // 2)
    store = SqliteStore(path)
    with pytest.raises(StoreCorruptError) as raised:
        store.list()
    store.close()
    assert "check --salvage" in (raised.value.hint or "")
    done = salvage(path, target)
    saved = SqliteStore(target)
    assert 0 < saved.count() == done.saved["entries"] - saved.stats().versions
    saved.close()
    assert looked_at(target).sound


def test_a_lost_index_costs_nothing(path: Path, target: Path) -> None:
    change(path, "DELETE FROM memory_index_data")
    done = salvage(path, target)
    assert done.lost == {}
    assert looked_at(target).findings == ()
    store = SqliteStore(target)
    assert store.recall("n7")[0].entry.content == "finding n7 on the deploy"
    assert store.undo().verb == "forget"
    store.close()


def test_a_file_of_nonsense_is_refused_and_nothing_made(path: Path, target: Path) -> None:
    for nonsense in (b"", b"no database at all " * 1000):
        path.write_bytes(nonsense)
        with pytest.raises(DshloopError):
            salvage(path, target)
        assert [file.name for file in path.parent.iterdir()] == ["memory.db"]


def test_nothing_is_overwritten(path: Path, target: Path) -> None:
    target.write_text("mine")
    with pytest.raises(OutputExistsError):
        salvage(path, target)
    with pytest.raises(DshloopError):
        salvage(path, path)
    assert target.read_text() == "mine"


def test_no_table_is_left_out(path: Path) -> None:
    database = sqlite3.connect(path)
    names = {
        name
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        if not name.startswith(("memory_", "sqlite_"))
    }
    database.close()
    assert names - set(_TABLES) == {"tally"}


def test_documents_are_saved(path: Path, target: Path) -> None:
    store = SqliteStore(path)
    store.keep_document("profile", "web", {"text": "short"})
    store.close()
    overwrite(path, page_of(path, "entries", 5), b"\xff" * 4096)
    assert salvage(path, target).saved["documents"] == 1
    saved = SqliteStore(target)
    assert saved.document("profile", "web") == {"text": "short"}
    saved.close()


def test_a_database_of_the_first_schema_is_saved_in_the_schema_of_today(
    tmp_path: Path, target: Path
) -> None:
    old = tmp_path / "old.db"
    made = {one.id: one for one in old_database(old, 300)}
    overwrite(old, page_of(old, "memories", 20), b"\xff" * 4096)
    done = salvage(old, target)
    assert 0 < done.lost["memories"] < 60
    store = SqliteStore(target)
    saved = store.list(limit=None)
    assert len(saved) == 300 - done.lost["memories"]
    assert all(made[one.id] == one for one in saved)
    store.close()
    assert looked_at(target).findings == ()
    assert not list(tmp_path.glob("*schema*"))
