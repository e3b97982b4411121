"""The embedded store's file: created late, private, refused when damaged or newer."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import (
    DshloopError,
    StoreBusyError,
    StoreCorruptError,
    StoreNewerError,
    StoreUnsupportedError,
    WriteFailedError,
)
from dshloop.memory.answers import Filters
from dshloop.memory.entries import NewMemory
from dshloop.memory.sqlite import connect, migrate
from dshloop.memory.sqlite.schema import MIGRATIONS
from dshloop.memory.sqlite.store import SqliteStore

root_only = pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "memory.db"


_OPENED: list[SqliteStore] = []


def opened(path: Path, **more: Any) -> SqliteStore:
    """Open a store that is closed when the test is over."""
    _OPENED.append(SqliteStore(path, **more))
    return _OPENED[-1]


@pytest.fixture(autouse=True)
def _close_stores() -> Iterator[None]:
    yield
    while _OPENED:
        _OPENED.pop().close()


@pytest.fixture
def store(path: Path) -> SqliteStore:
    return opened(path)


def everything(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(path.iterdir())}


def test_readers_create_nothing(store: SqliteStore, path: Path) -> None:
    assert list(store.recall("x")) == []
    assert list(store.list()) == []
    assert store.stats().bytes == 0
    assert not path.parent.exists()


def test_readers_leave_the_folder_as_it_was(store: SqliteStore, path: Path) -> None:
    store.remember(NewMemory("we deploy on Fridays", "p"))
    store.close()
    before = everything(path.parent)
    assert list(before) == ["memory.db"]
    reader = opened(path)
    assert len(reader.recall("deploy")) == len(reader.list()) == reader.stats().memories == 1
    reader.close()
    assert everything(path.parent) == before


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes")
def test_the_database_is_private(store: SqliteStore, path: Path) -> None:
    store.remember(NewMemory("x", "p"))
    assert path.parent.stat().st_mode & 0o777 == 0o700
    for file in path.parent.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600


def test_it_is_durable_and_in_wal_mode(store: SqliteStore) -> None:
    store.remember(NewMemory("x", "p"))
    connection = store._database._connection
    assert connection is not None
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_reader_sees_what_another_instance_writes_later(path: Path) -> None:
    reader, writer = opened(path), opened(path)
    assert list(reader.recall("deploy")) == []
    writer.remember(NewMemory("deploy on Fridays", "p"))
    assert len(reader.recall("deploy")) == 1
    writer.remember(NewMemory("deploy on Mondays", "p"))
    assert len(reader.recall("deploy")) == 2
    reader.remember(NewMemory("deploy never", "p"))
    assert len(writer.recall("deploy")) == 3
    reader.close()
    writer.close()


def test_an_empty_file_is_an_empty_store(store: SqliteStore, path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    assert list(store.recall("x")) == []
    store.remember(NewMemory("x y", "p"))
    assert len(store.recall("x")) == 1


@pytest.mark.parametrize(
    "content", [b"not a database " * 100, b"SQLite format 3\0" + b"\xff" * 4096]
)
def test_a_file_that_is_no_database_is_refused_and_kept(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    for use in (
        lambda store: store.recall("x"),
        lambda store: store.list(),
        lambda store: store.remember(NewMemory("x", "p")),
        lambda store: store.forget(["mem_0"]),
    ):
        store = opened(path)
        with pytest.raises(StoreCorruptError) as raised:
            use(store)
        store.close()
        assert raised.value.details["path"] == str(path)
        assert str(path) in raised.value.message
    assert path.read_bytes() == content


def test_damaged_pages_are_an_error_of_ours(store: SqliteStore, path: Path) -> None:
    for number in range(300):
        store.remember(NewMemory(f"deploy note {number} " + "x" * 500, "p"))
    store.close()
    data = bytearray(path.read_bytes())
    for page in range(4096, len(data), 4096):
        data[page : page + 2000] = b"\xde" * 2000
    path.write_bytes(data)
    with pytest.raises(StoreCorruptError):
        opened(path).recall("deploy")
    with pytest.raises(StoreCorruptError):
        opened(path).remember(NewMemory("x", "p"))


def test_another_programs_database_is_refused(path: Path) -> None:
    path.parent.mkdir()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE notes (text)")
    other.commit()
    other.close()
    before = path.read_bytes()
    for use in (lambda store: store.recall("x"), lambda store: store.remember(NewMemory("x", "p"))):
        store = opened(path)
        with pytest.raises(StoreCorruptError, match="another program"):
            use(store)
        store.close()
    assert path.read_bytes()[100:] == before[100:]


def test_a_newer_database_is_refused(store: SqliteStore, path: Path) -> None:
    store.remember(NewMemory("x", "p"))
    store.close()
    later = sqlite3.connect(path)
    later.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    later.close()
    for use in (lambda: store.recall("x"), lambda: store.remember(NewMemory("y", "p"))):
        with pytest.raises(StoreNewerError) as raised:
            use()
        assert raised.value.exit_code == 4


def test_older_databases_are_brought_forward(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.remember(NewMemory("deploy on Fridays", "p"))
    store.close()
    monkeypatch.setattr(migrate, "MIGRATIONS", (*MIGRATIONS, ("CREATE TABLE later (x)",)))
    writer = opened(path)
    writer.remember(NewMemory("deploy on Mondays", "p"))
    assert len(writer.recall("deploy")) == 2
    connection = writer._database._connection
    assert connection is not None
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS) + 1,)
    assert list(connection.execute("SELECT * FROM later")) == []
    writer.close()


def test_a_migration_that_fails_changes_nothing(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.remember(NewMemory("deploy on Fridays", "p"))
    store.close()
    broken = ("CREATE TABLE later (x)", "CREATE NONSENSE")
    monkeypatch.setattr(migrate, "MIGRATIONS", (*MIGRATIONS, broken))
    with pytest.raises(DshloopError):
        opened(path).remember(NewMemory("x", "p"))
    monkeypatch.undo()
    assert len(store.recall("deploy")) == 1


def test_a_python_without_fts5_is_told_so(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tuple(text.replace("fts5 (", "fts9 (") for text in MIGRATIONS[0])
    monkeypatch.setattr(migrate, "MIGRATIONS", (first,))
    # This SQLite names the module that it lacks; the message is the one for fts5 but for the name.
    monkeypatch.setattr(connect, "FULL_TEXT_MODULE", "fts9")
    with pytest.raises(StoreUnsupportedError):
        store.remember(NewMemory("x", "p"))


def test_a_writer_waits_for_another_program(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.remember(NewMemory("x", "p"))
    store.close()
    monkeypatch.setattr(connect, "PATIENCE", 0.05)
    monkeypatch.setattr(connect, "SQLITE_WAIT", 0.01)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusyError) as raised:
        store.remember(NewMemory("y", "p"))
    assert "database is locked" not in raised.value.message
    assert len(store.list()) == 1
    other.execute("ROLLBACK")
    other.close()
    store.remember(NewMemory("y", "p"))
    assert len(store.list()) == 2


def test_a_folder_that_can_not_be_made_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteFailedError):
        opened(tmp_path / "file" / "memory.db").remember(NewMemory("x", "p"))


def test_a_text_beyond_the_limit_of_sqlite_is_refused(store: SqliteStore) -> None:
    store.remember(NewMemory("deploy on Fridays", "p"))
    connection = store._database._connection
    assert connection is not None
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10_000)
    with pytest.raises(WriteFailedError, match="too long"):
        store.remember(NewMemory("deploy " + "x" * 20_000, "p"))
    assert len(store.recall("deploy")) == 1


def test_a_fault_of_the_program_is_not_called_damage(store: SqliteStore) -> None:
    store.remember(NewMemory("x", "p"))
    assert store._database._connection is not None
    store._database._connection.close()
    with pytest.raises(sqlite3.ProgrammingError):
        store.recall("x")


@root_only
def test_a_read_only_folder_can_be_read(store: SqliteStore, path: Path) -> None:
    store.remember(NewMemory("deploy on Fridays", "p"))
    store.close()
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        assert len(opened(path).recall("deploy")) == 1
        with pytest.raises(WriteFailedError):
            opened(path).remember(NewMemory("x", "p"))
    finally:
        path.parent.chmod(0o700)


def test_a_read_only_copy_is_read_as_it_stands(store: SqliteStore, path: Path) -> None:
    store.remember(NewMemory("deploy on Fridays", "p"))
    store.close()
    for mode in ("mode=ro", "immutable=1"):
        connection = connect.connect(path, mode)
        assert connection.execute("SELECT count(*) FROM entries").fetchone() == (1,)
        connection.close()


def test_a_full_disk_is_an_error_and_loses_nothing(store: SqliteStore) -> None:
    store.remember(NewMemory("deploy on Fridays", "p"))
    connection = store._database._connection
    assert connection is not None
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(WriteFailedError):
        store.remember(NewMemory("deploy " + "x" * 100_000, "p"))
    connection.execute("PRAGMA max_page_count = 1000000")
    assert len(store.recall("deploy")) == 1
    store.remember(NewMemory("deploy on Mondays", "p"))
    assert len(store.recall("deploy")) == 2


def test_common_words_are_not_searched_in_a_large_store(store: SqliteStore) -> None:
    for number in range(1_100):
        store.remember(NewMemory(f"session note {number}", "p"))
    store.remember(NewMemory("the session on whales", "p"))
    assert [hit.entry.content for hit in store.recall("session whales")] == [
        "the session on whales"
    ]
    assert len(store.recall("session", limit=5)) == 5


def test_a_project_is_found_behind_many_better_rows_of_others(store: SqliteStore) -> None:
    store.remember(
        NewMemory("a long remark that mentions the deploy once among much else", "small")
    )
    for number in range(300):
        store.remember(NewMemory(f"deploy deploy {number}", "large"))
    assert len(store.recall("deploy", Filters(project="small"))) == 1


def test_sixteen_megabytes_are_stored_and_found(store: SqliteStore) -> None:
    text = "needle " + "x" * 16_000_000
    memory = store.remember(NewMemory(text, "p")).memory
    assert store.recall("needle")[0].entry.content == text
    assert store.get(memory.id).content == text


def test_the_clock_may_go_back(path: Path) -> None:
    now = [2_000_000_000.0]
    store = opened(path, clock=lambda: now[0])
    first = store.remember(NewMemory("one", "p")).memory
    now[0] -= 1_000_000
    assert store.remember(NewMemory("one", "p")).memory.updated_at == first.updated_at
    store.remember(NewMemory("two", "p"))
    assert [memory.content for memory in store.list()] == ["two", "one"]
    store.close()
