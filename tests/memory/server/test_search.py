"""How results are chosen, counted and shortened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.memory.entries import NewMemory, Observation
from dshloop.memory.server import lessons, search
from dshloop.memory.server.calls import Call
from dshloop.memory.server.search import Found, share_of, spread
from dshloop.memory.server.settings import Settings
from dshloop.memory.server.state import State
from dshloop.memory.store import MemoryStore
from dshloop.memory.stores import open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    one = open_store(None, database=tmp_path / "memory.db")
    yield one
    one.close()


def ask(store: MemoryStore, **body: Any) -> Any:
    return search.search(Call(State(Settings()), {}, body), store).value


def hit(session: str, at: int) -> Found:
    entry = Observation(
        f"obs_{at}", session, "stop", "other", "", "", "", (), (), "p", None, {}, 0.0
    )
    return Found(entry, 1 / (1 + at))


@given(st.lists(st.sampled_from("abc"), max_size=30), st.integers(1, 20))
def test_results_are_the_best_in_order_with_room_for_other_sessions(
    sessions: list[str], limit: int
) -> None:
    hits = [hit(session, at) for at, session in enumerate(sessions)]
    chosen = spread(hits, limit)
    assert len(chosen) == min(limit, len(hits))
    assert chosen == sorted(chosen, key=lambda one: -one.score)
    counts = Counter(one.entry.session for one in chosen)
    left = Counter(sessions) - counts
    for session, count in counts.items():
        if count > share_of(limit):  # only where nobody else waits
            assert not any(left[other] for other in left if other != session)
    if max(Counter(sessions[:limit]).values(), default=0) <= share_of(limit):
        assert chosen == hits[:limit]


def test_a_budget_stops_before_the_first_result_that_does_not_fit(store: MemoryStore) -> None:
    for number in range(6):
        store.remember(NewMemory(f"zephyr number {number} {'long ' * (40 * number)}", "p"))
    whole = ask(store, query="zephyr", format="narrative")
    assert (len(whole["results"]), whole["truncated"]) == (6, False)
    assert whole["text"].startswith("1. ")
    some = ask(store, query="zephyr", format="narrative", token_budget=whole["tokens_used"] - 40)
    assert (len(some["results"]), some["truncated"]) == (5, True)
    assert some["tokens_used"] <= some["tokens_budget"]


def test_near_equal_rows_are_results_of_their_own(store: MemoryStore) -> None:
    for number in range(3):
        store.remember(NewMemory("walruses sleep on ice floes", f"p{number}"))
    assert len(ask(store, query="walruses")["results"]) == 3


def test_a_long_memory_is_shortened_in_results_only(store: MemoryStore) -> None:
    long = store.remember(NewMemory(f"walrus {'x' * 200_000}", "p")).memory
    [result] = ask(store, query="walrus")["results"]
    assert len(result["observation"]["narrative"]) == 50_000
    assert len(store.get(long.id).content) > 200_000


@pytest.mark.parametrize("query", ["a", "x y", "!", "? !"])
def test_single_characters_ask_for_nothing(store: MemoryStore, query: str) -> None:
    store.remember(NewMemory("a plan for x and y!", "p"))
    assert ask(store, query=query)["results"] == []


def test_lessons_grow_stronger_and_are_found_by_their_words(store: MemoryStore) -> None:
    state = State(Settings(), lambda: 1_800_000_000.0)

    def call(endpoint: Any, **body: Any) -> Any:
        return endpoint(Call(state, {}, body), store).value

    lesson = call(lessons.create, content="Run the tests before a deploy", tags="ci, deploy")
    again = call(lessons.create, content=" Run the tests before a deploy ")
    assert again["action"] == "strengthened"
    assert again["lesson"]["id"] == lesson["lesson"]["id"]
    assert again["lesson"]["confidence"] == pytest.approx(0.55)
    call(lessons.create, content="Deploys of other projects", project="q", confidence=0.9)
    call(lessons.create, content="Nothing to do with it", project="p")
    found = call(lessons.search, query="deploying", project="p")["lessons"]
    assert [one["content"] for one in found] == ["Run the tests before a deploy"]
    assert found[0]["score"] == 0.55
    assert store.count() == 0
