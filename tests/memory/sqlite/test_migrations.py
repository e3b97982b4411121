"""Databases of earlier schemas: carried over whole, copied first, never changed by a reader."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dshloop.errors import DshloopError, StoreOlderError, StoreReadOnlyError
from dshloop.memory.answers import Filters
from dshloop.memory.entries import NewMemory, NewSession
from dshloop.memory.sqlite import migrate
from dshloop.memory.sqlite.schema import APPLICATION_ID, MIGRATIONS
from dshloop.memory.sqlite.store import SqliteStore
from dshloop.text import words

ROWS = 30


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def old(path: Path) -> Path:
    """A database of the first schema, as its own version wrote it."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    for statement in MIGRATIONS[0]:
        assert isinstance(statement, str)
        database.execute(statement)
    for number in range(1, ROWS + 1):
        content = f"finding {number} on the deploy"
        values = (
            f"mem_{number:032x}", "bug", f"Title {number}", content, '["release"]', '["a.py"]',
            "web" if number % 2 else "api", "coder", json.dumps({"kind": "command", "n": number}),
            1000.0 + number, 2000.0 + number, 1, number, number.to_bytes(32, "big"), 5,
        )  # fmt: skip
        database.execute(
            "INSERT INTO memories (id, type, title, content, concepts, files, project, agent, "
            "source, created_at, updated_at, version, repeats, digest, words) "
            f"VALUES ({', '.join('?' * 15)})",
            values,
        )
        database.execute(
            "INSERT INTO memory_index (rowid, title, content, concepts, files) "
            "VALUES (?, '', ?, 'releas', 'a.py')",
            (number, " ".join(words(content))),
        )
    database.execute("DELETE FROM memories WHERE seq = 7")
    database.execute("PRAGMA user_version = 1")
    database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    database.close()
    path.chmod(0o600)
    return path


@pytest.fixture
def notices() -> list[str]:
    return []


@pytest.fixture
def store(old: Path, notices: list[str]) -> Iterator[SqliteStore]:
    store = SqliteStore(old, notice=notices.append)
    yield store
    store.close()


def rows_of(path: Path, table: str) -> list[tuple[object, ...]]:
    database = sqlite3.connect(path)
    rows = database.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
    database.close()
    return rows


def test_every_row_is_carried_over(store: SqliteStore) -> None:
    listed = store.list(limit=None, oldest_first=True)
    assert len(listed) == store.count() == store.stats().memories == ROWS - 1
    memory = store.get(f"mem_{9:032x}")
    assert memory == listed[7]
    assert memory.as_json() == {
        "kind": "memory",
        "id": f"mem_{9:032x}",
        "type": "bug",
        "title": "Title 9",
        "content": "finding 9 on the deploy",
        "concepts": ["release"],
        "files": ["a.py"],
        "project": "web",
        "agent": "coder",
        "session": None,
        "source": {"kind": "command", "n": 9},
        "created_at": "1970-01-01T00:16:49.000Z",
        "updated_at": "1970-01-01T00:33:29.000Z",
        "strength": 7.0,
        "expires_at": None,
        "version": 1,
        "previous": None,
        "latest": True,
        "repeats": 9,
    }
    assert len(store.recall("deploy", limit=100)) == ROWS - 1
    assert store.recall("title 12")[0].entry.id == f"mem_{12:032x}"
    assert store.count(Filters(project="web", agent="coder", concept="release", file="a.py")) == 14
    store.remember(NewMemory("the deploy is over", "web"))
    store.start_session(NewSession("s1", "web"))
    assert store.count() == ROWS


def test_a_copy_is_made_first_and_named(store: SqliteStore, old: Path, notices: list[str]) -> None:
    before = rows_of(old, "memories")
    assert store.count() == ROWS - 1
    copy = old.with_name("memory.db.schema-1")
    [notice] = notices
    assert str(copy) in notice
    assert rows_of(copy, "memories") == before
    if sys.platform != "win32":
        assert copy.stat().st_mode & 0o777 == 0o600
    store.close()
    again = SqliteStore(old, notice=notices.append)
    assert again.count() == ROWS - 1
    again.close()
    assert len(notices) == 1
    assert sorted(file.name for file in old.parent.iterdir()) == [
        "memory.db",
        "memory.db.schema-1",
    ]


def test_a_new_database_needs_no_copy(path: Path, notices: list[str]) -> None:
    store = SqliteStore(path, notice=notices.append)
    store.remember(NewMemory("x", "p"))
    store.close()
    assert notices == []
    assert [file.name for file in path.parent.iterdir()] == ["memory.db"]


def test_a_migration_that_is_cut_short_leaves_the_old_state(
    store: SqliteStore, old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = rows_of(old, "memories")
    broken = (*MIGRATIONS[:-1], (*MIGRATIONS[-1], "CREATE NONSENSE"))
    monkeypatch.setattr(migrate, "MIGRATIONS", broken)
    for use in (lambda: store.remember(NewMemory("x", "p")), store.count):
        with pytest.raises(DshloopError):
            use()
    monkeypatch.undo()
    database = sqlite3.connect(old)
    assert database.execute("PRAGMA user_version").fetchone() == (1,)
    database.close()
    assert rows_of(old, "memories") == before
    assert store.count() == ROWS - 1
    assert rows_of(old.with_name("memory.db.schema-1"), "memories") == before


def test_without_a_copy_nothing_is_migrated(
    store: SqliteStore, old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_path: Path, _version: int) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(migrate, "_copy", full)
    with pytest.raises(DshloopError, match="no space is left"):
        store.count()
    assert len(rows_of(old, "memories")) == ROWS - 1


def test_a_read_only_store_never_migrates(old: Path) -> None:
    reader = SqliteStore(old, readonly=True)
    before = old.read_bytes()
    for use in (lambda: reader.recall("deploy"), reader.list, reader.stats):
        with pytest.raises(StoreOlderError) as raised:
            use()
        assert raised.value.exit_code == 4
        assert raised.value.details["schema"] == 1
    reader.close()
    assert old.read_bytes() == before
    assert [file.name for file in old.parent.iterdir()] == ["memory.db"]


def test_a_read_only_store_never_writes(path: Path) -> None:
    reader = SqliteStore(path, readonly=True)
    assert reader.count() == len(reader.list()) == reader.stats().memories == 0
    with pytest.raises(StoreReadOnlyError):
        reader.remember(NewMemory("x", "p"))
    assert list(path.parent.iterdir()) == []
    store = SqliteStore(path)
    memory = store.remember(NewMemory("deploy on Fridays", "p")).memory
    store.close()
    before = path.read_bytes()
    assert [hit.entry for hit in reader.recall("deploy")] == [memory]
    for use in (
        lambda: reader.remember(NewMemory("y", "p")),
        lambda: reader.edit(memory.id, content="y"),
        lambda: reader.forget([memory.id]),
        lambda: reader.restore([memory.id]),
        lambda: reader.start_session(NewSession("s", "p")),
        reader.undo,
    ):
        with pytest.raises(StoreReadOnlyError):
            use()
    assert [entry.id for entry in reader.forget([memory.id], dry_run=True).entries] == [memory.id]
    reader.close()
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["memory.db"]


@pytest.mark.slow
def test_several_commands_bring_one_database_forward_together(old: Path) -> None:
    code = (
        "import sys; from pathlib import Path; "
        "from dshloop.memory.sqlite.store import SqliteStore; "
        "store = SqliteStore(Path(sys.argv[1])); print(store.count()); store.close()"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(old)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(5)
    ]
    for each in running:
        assert each.communicate(timeout=60) == (f"{ROWS - 1}\n", "")
    assert len(rows_of(old.with_name("memory.db.schema-1"), "memories")) == ROWS - 1
