"""A database of the first schema with every odd row, and a migration that is killed on its way."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest

from dshloop.memory.entries import Memory, NewMemory, title_of
from dshloop.memory.sqlite.migrate import copy_of
from dshloop.memory.sqlite.rows import packed
from dshloop.memory.sqlite.schema import APPLICATION_ID, MIGRATIONS
from dshloop.memory.sqlite.store import SqliteStore
from dshloop.text import words
from tests.memory.sqlite.damaged import looked_at

CONTENTS = (
    "plain words on the deploy",
    "before\0after",
    "a lone \ud800 surrogate",
    "字を書く 。 café ＡＢＣ",
    "line\nend\r\n\ttab \u2028",
    "x" * 200_000,
    "many words " * 20_000,
    "'; DROP TABLE memories; --",
    '"quotes" AND OR NOT (NEAR) *',
    "12:30 port 8080",
    "\ufeff\uffff\U0010ffff end",
)
OPEN = """
import sys
from pathlib import Path
from dshloop.memory.sqlite.store import SqliteStore
print("ready", flush=True)
store = SqliteStore(Path(sys.argv[1]))
print(store.count(), flush=True)
store.close()
"""


def old_database(path: Path, rows: int) -> list[Memory]:
    """Make a database as the first version wrote it; give what is in it."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("BEGIN")
    for statement in MIGRATIONS[0]:
        assert isinstance(statement, str)
        database.execute(statement)
    made = [memory(number) for number in range(1, rows + 1)]
    for number, one in enumerate(made, 1):
        insert(database, 3 * number, one)
    database.execute("PRAGMA user_version = 1")
    database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    database.execute("COMMIT")
    database.close()
    return made


def memory(number: int) -> Memory:
    odd = CONTENTS[number % len(CONTENTS)] if number < 40 else f"finding on the deploy {number}"
    content = f"{odd} {number}"
    return Memory(
        id=f"mem_{number:032x}",
        type="bug" if number % 3 else "fact",
        title=f"Title \udfff {number}" if number % 5 == 0 else title_of(content),
        content=content,
        concepts=("release", "\ud800") if number % 2 else (),
        files=("src/a b.py",) if number % 7 == 0 else (),
        project=("", "web", "pr\udc00j", " ")[number % 4],
        agent=("coder", None)[number % 2],
        session=None,
        source={"kind": "command", "n": number, "odd": "\ud800"} if number % 3 else {},
        created_at=(0.0, -5.0, 1e12, 1_700_000_000.123)[number % 4],
        updated_at=float(number),
        repeats=number,
    )


def insert(database: sqlite3.Connection, seq: int, one: Memory) -> None:
    title = "" if one.title == title_of(one.content) else one.title
    texts = (title, one.content, "\n".join(one.concepts), "\n".join(one.files))
    index = [" ".join(words(text)) for text in texts]
    whole = "\0".join((one.project, one.agent or "", one.content))
    digest = sha256(whole.encode("utf-8", "surrogatepass")).digest()
    values = (
        seq, one.id, one.type, packed(one.title), packed(one.content),
        json.dumps(one.concepts), json.dumps(one.files), packed(one.project),
        packed(one.agent or ""), json.dumps(dict(one.source)), one.created_at, one.updated_at,
        1, one.repeats, digest, sum(len(text.split()) for text in index),
    )  # fmt: skip
    database.execute(f"INSERT INTO memories VALUES ({', '.join('?' * 16)})", values)
    database.execute(
        "INSERT INTO memory_index (rowid, title, content, concepts, files) VALUES (?, ?, ?, ?, ?)",
        (seq, *index),
    )


def state(path: Path) -> tuple[int, int]:
    """Give the schema and the number of rows, and see that the file is whole."""
    database = sqlite3.connect(path)
    (version,) = database.execute("PRAGMA user_version").fetchone()
    table = "memories" if version == 1 else "entries"
    (rows,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()
    other = "entries" if version == 1 else "memories"
    there = database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (other,)).fetchall()
    assert there == []
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
    return version, rows


def test_every_odd_row_survives(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    made = old_database(path, 60)
    store = SqliteStore(path)
    assert store.list(limit=None, oldest_first=True) == made
    again = made[11]
    done = store.remember(NewMemory(again.content, again.project, agent=again.agent))
    assert done.merged
    assert (done.memory.id, done.memory.repeats) == (again.id, again.repeats + 1)
    store.close()
    assert looked_at(path).findings == ()
    assert state(copy_of(path, 1)) == (1, 60)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_migration_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    rows, chance, seen, path = 1_500, random.Random(3), set(), tmp_path / "memory.db"
    made: list[Memory] = []
    for turn in range(12):
        if turn == 0 or state(path)[0] != 1:
            for file in tmp_path.iterdir():
                file.unlink()
            made = old_database(path, rows)
        running = subprocess.Popen(
            [sys.executable, "-c", OPEN, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert running.stdout is not None
        running.stdout.readline()
        time.sleep(chance.random() * 0.8)
        running.kill()
        running.communicate(timeout=60)
        version, count = state(path)
        assert count == rows
        seen.add(version)
        if version != 1 or copy_of(path, 1).exists():
            assert state(copy_of(path, 1)) == (1, rows)
    assert 1 in seen
    store = SqliteStore(path)
    assert store.list(limit=None, oldest_first=True) == made
    store.close()
    assert looked_at(path).findings == ()
    assert state(copy_of(path, 1)) == (1, rows)
    left = {file.name for file in tmp_path.iterdir()}
    assert left == {"memory.db", "memory.db.schema-1"}
