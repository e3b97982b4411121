"""Several processes at once, and processes that are killed: nothing acknowledged is lost."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dshloop.memory.sqlite.store import SqliteStore
from tests.running import process

WRITER = """
import sys
from pathlib import Path
from dshloop.memory.entries import NewMemory, NewObservation
from dshloop.memory.sqlite.store import SqliteStore

path, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = SqliteStore(path)
for number in range(count):
    memory = store.remember(NewMemory(f"finding {name}n{number} of a writer", name)).memory
    print(memory.id, f"{name}n{number}", flush=True)
    if number % 10 == 9:
        assert memory in [hit.entry for hit in store.recall(f"{name}n{number}")]
        store.forget([store.remember(NewMemory(f"passing {name}n{number}", name)).memory.id])
    if number % 5 == 4:
        text = f"turn {name}n{number}"
        new = NewObservation("shared", name, "note", "note", text, f"key {number // 10}")
        store.observe(new)
        note = store.remember(NewMemory(f"draft {name}n{number}", name)).memory
        assert store.edit(note.id, content=f"final {name}n{number}").memory.version == 2
        store.forget([note.id])
    if number % 20 == 19:
        store.remember(NewMemory(f"finding {name}n{number} of a writer", name))
        store.close()
"""


def start(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def check(path: Path, acknowledged: list[str]) -> None:
    """Every acknowledged memory is there and is found; index, rows and counts agree."""
    store = SqliteStore(path)
    for line in acknowledged:
        id_, word = line.split()
        assert store.get(id_).content == f"finding {word} of a writer"
        assert id_ in [hit.entry.id for hit in store.recall(word)]
    store.close()
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.execute("INSERT INTO memory_index (memory_index, rank) VALUES ('integrity-check', 1)")
    latest = database.execute("SELECT seq FROM entries WHERE latest ORDER BY 1").fetchall()
    assert database.execute("SELECT rowid FROM memory_index ORDER BY 1").fetchall() == latest
    counted = database.execute("SELECT count(*), total(words) FROM entries WHERE latest").fetchone()
    assert database.execute("SELECT entries, words FROM tally").fetchone() == counted
    seen = database.execute("SELECT count(*) FROM entries WHERE kind = 'observation'").fetchone()
    sessions = database.execute("SELECT total(observations) FROM sessions").fetchone()
    assert seen == sessions
    both = "SELECT seq FROM entries INTERSECT SELECT seq FROM forgotten"
    assert database.execute(both).fetchall() == []
    database.close()


@pytest.mark.slow
def test_many_writers_lose_nothing_and_never_see_a_lock(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    writers = [start(path, f"w{number}", 50) for number in range(8)]
    acknowledged = []
    for writer in writers:
        out, err = writer.communicate(timeout=120)
        assert (writer.returncode, err) == (0, "")
        acknowledged += out.splitlines()
    assert len(acknowledged) == 8 * 50
    check(path, acknowledged)


@pytest.mark.slow
def test_what_was_acknowledged_survives_being_killed(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    moments = random.Random(7)
    acknowledged: list[str] = []
    for round_ in range(8):
        writers = [start(path, f"r{round_}w{number}", 100_000) for number in range(2)]
        for writer in writers:
            assert writer.stdout is not None
            acknowledged.append(writer.stdout.readline())  # from here on a kill meets its work
        time.sleep(moments.random() * 0.4)
        for writer in writers:
            writer.send_signal(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
        for writer in writers:
            # not communicate(): it passes over what readline() has read ahead
            assert writer.stdout is not None
            acknowledged += [line for line in writer.stdout if line.endswith("\n")]
            writer.communicate(timeout=60)
    assert len(acknowledged) >= 8 * 2
    check(path, acknowledged)


@pytest.mark.slow
def test_the_first_memories_of_several_commands_make_one_store(isolated: Path) -> None:
    texts = [f"decision number {number}" for number in range(6)]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "dshloop", "memory", "remember", text],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for text in texts
    ]
    for each in running:
        _, err = each.communicate(timeout=60)
        assert each.returncode == 0, err
    listed = process("memory", "list", "--json").stdout
    assert all(text in listed for text in texts)
