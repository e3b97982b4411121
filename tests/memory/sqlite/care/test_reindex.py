"""`memory reindex`: the index is made anew while others read and write, and after a kill."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dshloop.memory.entries import NewMemory
from dshloop.memory.sqlite.care.reindex import Reindexed, reindex
from dshloop.memory.sqlite.database import Database
from dshloop.memory.sqlite.store import SqliteStore
from tests.memory.sqlite.damaged import change, codes, filled, looked_at

RUN = """
import sys
from pathlib import Path
from dshloop.memory.sqlite.care import reindex
from dshloop.memory.sqlite.database import Database
reindex.AT_ONCE = 5
for done in reindex.reindex(Database(Path(sys.argv[1]))):
    print(done.done, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def run(path: Path) -> list[Reindexed]:
    database = Database(path)
    try:
        return list(reindex(database))
    finally:
        database.close()


def test_a_damaged_index_is_made_anew(path: Path) -> None:
    filled(path, 300).close()
    change(path, "DELETE FROM memory_index_data")
    done = run(path)
    assert done[0] == (400, 603)
    assert done[-1] == (603, 603)
    store = SqliteStore(path)
    assert store.recall("n299")[0].entry.content == "finding n299 on the deploy"
    store.close()
    assert looked_at(path).findings == ()


def test_without_a_database_none_is_made(path: Path) -> None:
    assert run(path) == []
    assert not path.exists()


def test_what_changes_meanwhile_is_in_the_new_index(path: Path) -> None:
    store = filled(path, 300)
    first, _, second = store.list(limit=3, oldest_first=True)
    [third] = store.list(limit=1)
    reading = SqliteStore(path)
    database = Database(path)
    for step in reindex(database):
        if step.done == 400:
            store.edit(first.id, content="changed early")
            store.forget([second.id])
            store.forget([third.id])
            store.remember(NewMemory("added late", "web"))
            assert codes(path) == {"REINDEX_UNFINISHED": 1}
        assert reading.recall("n298")[0].entry.content == "finding n298 on the deploy"
        if step.done >= 400:
            assert [hit.entry.content for hit in reading.recall("late")] == ["added late"]
    database.close()
    assert [hit.entry.content for hit in reading.recall("early")] == ["changed early"]
    assert [hit.entry.content for hit in store.recall("late")] == ["added late"]
    store.remember(NewMemory("added after", "web"))
    assert [hit.entry.content for hit in reading.recall("after")] == ["added after"]
    for each in (store, reading):
        each.close()
    assert looked_at(path).findings == ()


def test_a_reader_never_gets_less(path: Path) -> None:
    filled(path, 400).close()
    reading, stop = SqliteStore(path), threading.Event()
    found: list[int] = []
    faults: list[BaseException] = []

    def read() -> None:
        reading = SqliteStore(path)
        try:
            while not stop.is_set():
                found.append(len(reading.recall("deploy", limit=1000, min_score=0)))
        except BaseException as error:
            faults.append(error)
        finally:
            reading.close()

    reading.close()
    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(3):
        run(path)
    stop.set()
    reader.join()
    assert faults == []
    assert found
    assert len(set(found)) == 1


@pytest.mark.slow
def test_a_run_that_was_killed_is_gone_on_with(path: Path) -> None:
    filled(path, 600).close()
    change(path, "DELETE FROM memory_index WHERE rowid < 50")
    running = subprocess.Popen(
        [sys.executable, "-c", RUN, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    reached = [int(running.stdout.readline()) for _ in range(20)][-1]
    running.send_signal(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
    running.communicate(timeout=60)
    assert "REINDEX_UNFINISHED" in codes(path)
    store = SqliteStore(path)
    store.edit(store.list(limit=1, oldest_first=True)[0].id, content="changed between the runs")
    store.close()
    done = run(path)
    assert done[0].done > reached + 100
    assert looked_at(path).findings == ()
    store = SqliteStore(path)
    assert [hit.entry.content for hit in store.recall("between")] == ["changed between the runs"]
    store.close()


def test_two_runs_at_once_share_the_work(path: Path) -> None:
    filled(path, 600).close()
    change(path, "DELETE FROM memory_index WHERE rowid < 50")
    one, other = Database(path), Database(path)
    first, second = reindex(one), reindex(other)
    next(first)
    assert next(second).done > 400
    assert list(first)[-1] == list(second)[-1] == (1203, 1203)
    for each in (one, other):
        each.close()
    assert looked_at(path).findings == ()


@pytest.mark.slow
def test_processes_that_do_it_at_once_end_well(path: Path) -> None:
    filled(path, 600).close()
    running = [
        subprocess.Popen(
            [sys.executable, "-c", RUN, str(path)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for each in running:
        assert each.communicate(timeout=120)[1] == ""
        assert each.returncode == 0
    assert looked_at(path).findings == ()
