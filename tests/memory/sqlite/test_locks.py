"""Locks: several stores in one process, and programs that keep the database to themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dshloop.memory.entries import NewMemory
from dshloop.memory.sqlite import SqliteStore

OTHER = """
import sys
from pathlib import Path
from dshloop.memory.entries import NewMemory
from dshloop.memory.sqlite import SqliteStore
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
