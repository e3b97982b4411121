"""How well a store answers a user's own questions: hit@k, MRR, latency, and against a baseline."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from dshloop.errors import BenchInvalidError
from dshloop.memory.answers import Filters, Hit
from dshloop.memory.bench_file import Question
from dshloop.memory.store import MemoryReader

KS = (1, 5, 10)
FIGURES = ("hit", *(f"hit_{k}" for k in KS), "mrr")
"""What is measured, each 0..1: ``hit`` is the share of questions answered within their own k,
``hit_5`` within five, ``mrr`` the mean of 1 / rank of the first right hit."""

_ID = re.compile(r"(?:mem|obs)_[0-9a-f]{1,32}|[0-9a-f]{6,32}")


class Answered(NamedTuple):
    """One question and the rank of its first right hit (from 1), None when there is none."""

    question: Question
    rank: int | None
    milliseconds: float

    @property
    def passed(self) -> bool:
        """Tell whether the right hit is among the first k."""
        return self.rank is not None and self.rank <= self.question.k

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows, which a later run takes as its baseline."""
        return {
            "id": self.question.id,
            "query": self.question.query,
            "k": self.question.k,
            "rank": self.rank,
            "passed": self.passed,
            "ms": round(self.milliseconds, 3),
        }


class Bench(NamedTuple):
    """What a whole file of questions came to."""

    answers: tuple[Answered, ...]

    @property
    def figures(self) -> dict[str, float]:
        """Give each of ``FIGURES``."""
        ranks = [answer.rank for answer in self.answers]
        found: dict[str, float] = {"hit": _share(answer.passed for answer in self.answers)}
        for k in KS:
            found[f"hit_{k}"] = _share(rank is not None and rank <= k for rank in ranks)
        found["mrr"] = sum(1 / rank for rank in ranks if rank) / len(ranks)
        return {name: round(value, 4) for name, value in found.items()}

    def latency(self, share: float) -> float:
        """Give the milliseconds within which a share of the questions was answered."""
        times = sorted(answer.milliseconds for answer in self.answers)
        return round(times[min(int(share * len(times)), len(times) - 1)], 3)

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows."""
        return {
            **self.figures,
            "p50_ms": self.latency(0.5),
            "p95_ms": self.latency(0.95),
            "questions": [answer.as_json() for answer in self.answers],
        }


class Baseline(NamedTuple):
    """An earlier result: its figures, and the questions that passed."""

    figures: Mapping[str, float]
    passed: frozenset[str]
    failed: frozenset[str]


class Compared(NamedTuple):
    """What changed: each figure's difference, and questions that were lost or won."""

    figures: Mapping[str, float]
    lost: tuple[str, ...]
    won: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows."""
        return {**self.figures, "lost": list(self.lost), "won": list(self.won)}


def run(
    store: MemoryReader,
    questions: Sequence[Question],
    where: Filters,
    *,
    min_score: float | None = None,
    semantic: bool | None = None,
    timer: Callable[[], float] = perf_counter,
) -> Bench:
    """Ask every question as `recall` would be asked, down to rank 10 or the question's own k."""
    answers = []
    for question in questions:
        limit = max(*KS, question.k)
        start = timer()
        hits = store.recall(
            question.query, where, limit=limit, min_score=min_score, semantic=semantic
        )
        took = 1000 * (timer() - start)
        answers.append(Answered(question, rank_of(hits, question.expect), took))
    return Bench(tuple(answers))


def rank_of(hits: Sequence[Hit], expect: Sequence[str]) -> int | None:
    """Give the rank, from 1, of the first hit that is one of those expected."""
    matching = (rank for rank, hit in enumerate(hits, 1) if any(_is(hit, one) for one in expect))
    return next(matching, None)


def named_ids(questions: Sequence[Question]) -> list[tuple[Question, str]]:
    """Give what questions expect that is written as a whole id or the beginning of one."""
    return [
        (question, one)
        for question in questions
        for one in question.expect
        if _ID.fullmatch(one) and one.startswith(("mem_", "obs_"))
    ]


def read_baseline(text: str, file: str) -> Baseline:
    """Read what an earlier run printed with --json. Raises BENCH_INVALID."""
    try:
        value = json.loads(text)
        figures = {name: float(value[name]) for name in FIGURES}
        answers = {str(one["id"]): bool(one["passed"]) for one in value["questions"]}
    except (ValueError, KeyError, TypeError, RecursionError) as fault:
        raise BenchInvalidError(
            f"{file} is no result of memory bench --json", file=file, reason=str(fault)
        ) from None
    passed = frozenset(name for name, passed in answers.items() if passed)
    return Baseline(figures, passed, frozenset(answers) - passed)


def compared(bench: Bench, baseline: Baseline) -> Compared:
    """Say what changed since an earlier result; new questions count in the figures only."""
    now = bench.figures
    passed = [answer.question.id for answer in bench.answers if answer.passed]
    failed = [answer.question.id for answer in bench.answers if not answer.passed]
    return Compared(
        {name: round(now[name] - baseline.figures[name], 4) for name in FIGURES},
        tuple(name for name in failed if name in baseline.passed),
        tuple(name for name in passed if name in baseline.failed),
    )


def _is(hit: Hit, expected: str) -> bool:
    entry = hit.entry
    if _ID.fullmatch(expected):
        for one in (entry.id, *hit.folded):
            if one.startswith(expected) or one.partition("_")[2].startswith(expected):
                return True
    return expected.casefold() in f"{entry.title}\n{entry.content}".casefold()


def _share(flags: Iterable[bool]) -> float:
    listed = [*flags]
    return sum(listed) / len(listed)
