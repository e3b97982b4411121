"""Figures of a store's answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from dshloop.errors import BenchInvalidError
from dshloop.json_text import json_text
from dshloop.memory.answers import Filters, Hit
from dshloop.memory.bench import (
    Answered,
    Bench,
    compared,
    named_ids,
    rank_of,
    read_baseline,
    run,
)
from dshloop.memory.bench_file import Question
from dshloop.memory.entries import Memory
from dshloop.memory.store import MemoryStore


def hit(id_: str, content: str, folded: tuple[str, ...] = ()) -> Hit:
    memory = Memory(id_, "fact", content, content, (), (), "", None, None, {}, 0.0, 0.0)
    return Hit(memory, 0.5, folded=folded)


HITS = [
    hit("mem_01a2aaaa", "We deploy on Fridays"),
    hit("mem_01b3bbbb", "Rows are keyed by id", ("mem_01c4cccc",)),
]


class Answers:
    """A store that gives the same hits to every question."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def recall(self, query: str, filters: Filters, **more: Any) -> list[Hit]:
        self.asked.append({"query": query, "filters": filters, **more})
        return HITS if query != "nothing" else []


def question(expect: str, k: int = 10, id_: str = "q", query: str = "any") -> Question:
    return Question(id_, query, (expect,), k, "q.yml:1")


@pytest.mark.parametrize(
    ("expect", "rank"),
    [
        ("mem_01a2aaaa", 1),
        ("mem_01b3", 2),
        ("01b3bb", 2),
        ("mem_01c4", 2),  # folded into the second hit
        ("keyed BY id", 2),
        ("fridays", 1),
        ("mem_", None),
        ("Saturday", None),
    ],
)
def test_ids_their_beginnings_and_words_are_looked_for(expect: str, rank: int | None) -> None:
    assert rank_of(HITS, [expect]) == rank


def test_any_expected_one_counts() -> None:
    assert rank_of(HITS, ["Saturday", "keyed"]) == 2


def test_figures_follow_from_the_ranks() -> None:
    ranks = [1, 2, 7, None]
    answers = [
        Answered(question("x", k=5, id_=str(at)), rank, float(at)) for at, rank in enumerate(ranks)
    ]
    found = Bench(tuple(answers))
    mrr = round((1 + 1 / 2 + 1 / 7) / 4, 4)
    assert found.figures == {"hit": 0.5, "hit_1": 0.25, "hit_5": 0.5, "hit_10": 0.75, "mrr": mrr}
    assert (found.latency(0.5), found.latency(0.95)) == (2.0, 3.0)


def test_every_question_is_asked_as_recall_would_be() -> None:
    store, ticks = Answers(), iter(range(100))
    where = Filters(project="shop")
    asked = [question("Fridays", k=20), question("Fridays", query="nothing", id_="r")]
    found = run(
        cast("MemoryStore", store), asked, where, min_score=0.1, timer=lambda: float(next(ticks))
    )
    assert [answer.rank for answer in found.answers] == [1, None]
    assert [one["limit"] for one in store.asked] == [20, 10]
    assert store.asked[0]["filters"] == where
    assert store.asked[0]["min_score"] == 0.1
    assert found.latency(0.5) == 1000.0


def test_a_result_is_the_baseline_of_the_next_run() -> None:
    def result(*ranks: int | None) -> Bench:
        pairs = enumerate(ranks)
        return Bench(tuple(Answered(question("x", id_=f"q{at}"), rank, 1.0) for at, rank in pairs))

    baseline = read_baseline(json_text(result(1, None, 2).as_json()), "old.json")
    change = compared(result(None, 1, 2, 1), baseline)
    assert (change.lost, change.won) == (("q0",), ("q1",))
    assert change.figures["hit"] == round(0.75 - 0.6667, 4)
    assert change.as_json()["lost"] == ["q0"]


def broken() -> Iterator[str]:
    yield from ("", "[]", "{}", "null", '{"hit": 1}', "[" * 100_000)
    yield json_text({"hit": "x", "hit_1": 1, "hit_5": 1, "hit_10": 1, "mrr": 1, "questions": []})
    yield json_text({"hit": 1, "hit_1": 1, "hit_5": 1, "hit_10": 1, "mrr": 1, "questions": [{}]})


@pytest.mark.parametrize("text", [*broken()], ids=range(8))
def test_what_is_no_earlier_result_is_refused(text: str) -> None:
    with pytest.raises(BenchInvalidError):
        read_baseline(text, "old.json")


def test_expected_ids_are_told_from_words() -> None:
    one, two = question("mem_01a2aa"), question("deadbeef")
    assert named_ids([one, two]) == [(one, "mem_01a2aa")]
