"""Very many memories of one project. ``DSHLOOP_TEST_ROWS`` says how many; its figures are printed.

For a million: ``DSHLOOP_TEST_ROWS=1000000 pytest -s tests/memory/sqlite/test_many_rows.py``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dshloop.memory.entries import NewMemory
from dshloop.memory.sqlite.store import SqliteStore

ROWS = int(os.environ.get("DSHLOOP_TEST_ROWS", "20000"))
VERBS = """
import json, sys, time
from pathlib import Path
from dshloop.memory.entries import NewMemory
from dshloop.memory.sqlite.store import SqliteStore
from dshloop.memory.sqlite.care.backup import backup
from dshloop.memory.sqlite.care.check import check
from dshloop.memory.sqlite.database import Database
from dshloop.memory.sqlite.care.reindex import reindex
from dshloop.memory.answers import Filters

path, verb, rows = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
begun = time.perf_counter()
store = SqliteStore(path)
one, half = Filters(project="one"), rows // 2
said = {
    "recall": lambda: store.recall(f"finding n{half} of harbour {half % 97}", one)[0].entry,
    "list": lambda: store.list(one, limit=50, offset=1000)[0],
    "remember": lambda: store.remember(NewMemory("one more of the harbour", "one")).memory,
    "count": lambda: store.count(one),
    "stats": lambda: store.stats().memories,
    "check": lambda: check(Database(path), verify=True).as_json(),
    "reindex": lambda: list(reindex(Database(path)))[-1].total,
    "backup": lambda: backup(Database(path), path.with_name("copy.db")).entries,
}[verb]()
seconds = time.perf_counter() - begun
with open("/proc/self/status") as status:
    peak = [line.split()[1] for line in status if line.startswith("VmHWM")][0]
said = said if isinstance(said, (int, dict)) else said.content
print(json.dumps({"said": said, "seconds": round(seconds, 3), "peak_mb": int(peak) // 1000}))
"""


def texts() -> Iterator[NewMemory]:
    for number in range(ROWS):
        yield NewMemory(
            f"finding n{number} of harbour {number % 97}: crane {number % 1009} waits for "
            f"ship {number % 7919}, as the log of day {number % 365} says",
            "one",
        )


def ask(path: Path, verb: str) -> object:
    """Do one thing in a process of its own; print how long it took and its memory at most."""
    command = [sys.executable, "-c", VERBS, str(path), verb, str(ROWS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    print(f"{verb:<10} {found['seconds']:>9.3f} s {found['peak_mb']:>6} MB")
    return found["said"]


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_very_many_rows_of_one_project(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store, begun = SqliteStore(path), time.perf_counter()
    assert sum(1 for _ in store.remember_all(texts())) == ROWS
    store.close()
    rate = ROWS / (time.perf_counter() - begun)
    print(f"\n{ROWS} rows, {rate:.0f}/s, {path.stat().st_size / 1e6:.0f} MB")
    assert f"n{ROWS // 2} " in str(ask(path, "recall"))
    assert f"n{ROWS - 1001} " in str(ask(path, "list"))
    assert ask(path, "remember") == "one more of the harbour"
    assert ask(path, "count") == ask(path, "stats") == ROWS + 1
    found = ask(path, "check")
    assert isinstance(found, dict)
    assert (found["entries"], found["findings"], found["index_verified"]) == (ROWS + 1, [], True)
    assert ask(path, "reindex") == ROWS + 1
    assert f"n{ROWS // 2} " in str(ask(path, "recall"))
    assert ask(path, "backup") == ROWS + 1
    assert ask(path.with_name("copy.db"), "count") == ROWS + 1
