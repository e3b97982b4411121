"""An observation that is sent again, however late, because nobody heard that it had arrived."""

from __future__ import annotations

from pathlib import Path

from dshloop.memory.sqlite.store import SqliteStore
from tests.memory.contract import observation


def test_the_same_of_the_same_moment_is_a_repeat_hours_later(tmp_path: Path) -> None:
    clock = [1_000_000.0]
    store = SqliteStore(tmp_path / "memory.db", clock=lambda: clock[0])
    first = store.observe(observation("s1", "hello", at=999_000.125))
    clock[0] += 7 * 3600
    again = store.observe(observation("s1", "hello", at=999_000.125))
    assert (again.duplicate, again.observation.id) == (True, first.observation.id)
    assert not store.observe(observation("s1", "hello", at=999_000.126)).duplicate
    assert not store.observe(observation("s2", "hello", at=999_000.125)).duplicate
    store.close()
