"""Looking for the memory that a newcomer says anew."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dshloop.memory.entries import NewMemory
from dshloop.memory.sqlite.store import SqliteStore

WORDS = [f"{one}{two}{three}" for one in "bdfgklmnprst" for two in "aeiou" for three in "nrst"]


@pytest.mark.parametrize("fresh", [False, True], ids=["one process", "a process each"])
def test_most_newcomers_that_say_more_take_the_old_ones_place(tmp_path: Path, fresh: bool) -> None:
    chance = random.Random(1)
    common = [1 / (place + 1) for place in range(len(WORDS))]
    said = [" ".join(chance.choices(WORDS, common, k=16)) for _ in range(600)]
    store = SqliteStore(tmp_path / "memory.db")
    list(store.remember_all(NewMemory(text, "p") for text in said))
    found = 0
    for number, text in enumerate(chance.sample(said, 60)):
        if fresh:
            store.close()
            store = SqliteStore(tmp_path / "memory.db")
        words = text.split()
        words.insert(chance.randrange(16), f"lately{'abcdefgh'[number % 8]}")
        found += store.remember(NewMemory(" ".join(words), "p")).superseded is not None
    store.close()
    assert found >= 54
