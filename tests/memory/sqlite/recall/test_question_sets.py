"""Question sets over one store each: how often the right entry comes first, and what is silent.

A set is a text file: a memory, and below it, indented, questions that it answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dshloop.memory.entries import NewMemory
from dshloop.memory.sqlite.store import SqliteStore

SETS = Path(__file__).parents[3] / "data" / "memory"
HOUR = 3_600.0


def cases_of(name: str) -> list[tuple[str, str]]:
    cases, answer = [], ""
    for line in (SETS / name).read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            cases.append((line.strip(), answer))
        else:
            answer = line
    return cases


def lines_of(name: str) -> list[str]:
    return (SETS / name).read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """A store of every set's memories, remembered on different days."""
    now = [1_700_000_000.0]
    store = SqliteStore(tmp_path_factory.mktemp("sets") / "memory.db", clock=lambda: now[0])
    for name in ("cjk.txt", "identifiers.txt"):
        for answer in dict.fromkeys(answer for _, answer in cases_of(name)):
            store.remember(NewMemory(answer, "p"))
            now[0] += HOUR
    yield store
    store.close()


@pytest.mark.parametrize("name", ["cjk.txt", "identifiers.txt"])
def test_the_right_entry_comes_first(store: SqliteStore, name: str) -> None:
    cases = cases_of(name)
    assert len(cases) >= 60
    first = {
        query: [hit.entry.content for hit in store.recall(query, limit=1)] for query, _ in cases
    }
    wrong = [(query, first[query]) for query, answer in cases if first[query] != [answer]]
    assert len(wrong) <= 0.05 * len(cases), wrong


def test_gibberish_finds_nothing(store: SqliteStore) -> None:
    queries = lines_of("gibberish.txt")
    assert len(queries) == 50
    assert [query for query in queries if store.recall(query)] == []


def test_questions_from_other_fields_seldom_find_anything(store: SqliteStore) -> None:
    queries = lines_of("foreign.txt")
    assert len(queries) == 50
    found = [query for query in queries if store.recall(query)]
    assert len(found) <= 0.1 * len(queries), found
