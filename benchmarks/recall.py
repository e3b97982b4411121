"""Recall quality of the embedded store over LoCoMo dialogues.

    python benchmarks/recall.py FILE      a LoCoMo file (CC BY-NC 4.0; not part of this repository)

Each dialogue becomes a store of its own and each turn ("SPEAKER: TEXT [image: CAPTION]") a memory;
every question with evidence is asked as it stands, limit 20, without a floor.

    frac@k     mean share of a question's evidence turns among the first k hits
    any@k      share of questions with at least one of them
    MRR        mean of 1 / rank of the first one
    silenced   share of questions whose best true hit (within 20) the floor would hide
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dshloop.memory.entries import NewMemory
from dshloop.memory.sqlite import SqliteStore


KS = (1, 5, 10, 20)
CATEGORIES = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}


def main() -> None:
    """Measure the file named on the command line."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    dialogues = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    by_category: dict[str, list[dict[str, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for number, dialogue in enumerate(dialogues):
            for category, figures in measure(dialogue, Path(folder) / f"{number}.db"):
                by_category[CATEGORIES[category]].append(figures)
                by_category["all"].append(figures)
    for name in (*CATEGORIES.values(), "all"):
        rows = by_category[name]
        if rows:
            means = {key: sum(row[key] for row in rows) / len(rows) for key in rows[0]}
            text = "  ".join(f"{key} {value:.3f}" for key, value in means.items())
            print(f"{name:<12} {len(rows):>4}  {text}")


def measure(dialogue: dict[str, Any], path: Path) -> Iterator[tuple[int, dict[str, float]]]:
    """Store one dialogue, ask its questions, yield each one's category and figures."""
    store = SqliteStore(path)
    turns: dict[str, set[str]] = defaultdict(set)
    for turn, text in turns_of(dialogue):
        turns[store.remember(NewMemory(text, "locomo")).memory.id].add(turn)
    known = set().union(*turns.values())
    for item in dialogue["qa"]:
        listed = item.get("evidence") or []
        evidence = {turn for entry in listed for turn in entry.replace(";", " ").split()} & known
        if not evidence:
            continue
        start = time.perf_counter()
        hits = store.recall(item["question"], limit=20, min_score=0.0)
        took = time.perf_counter() - start
        found = [turns[hit.entry.id] & evidence for hit in hits]
        yield item["category"], figures_of(found, evidence, [hit.score for hit in hits], took)
    store.close()


def figures_of(
    found: list[set[str]], evidence: set[str], scores: list[float], took: float
) -> dict[str, float]:
    """Turn one question's hits into the figures whose means are shown."""
    figures = {}
    for k in KS:
        shown = set().union(*found[:k])
        figures[f"frac@{k}"] = len(shown) / len(evidence)
        figures[f"any@{k}"] = float(bool(shown))
    first = next((rank for rank, turns in enumerate(found) if turns), None)
    figures["MRR"] = 0.0 if first is None else 1 / (first + 1)
    figures["silenced"] = float(first is not None and scores[first] < 0.2)
    figures["ms"] = 1000 * took
    return figures


def turns_of(dialogue: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each turn's name and text."""
    for name, turns in dialogue["conversation"].items():
        if name.startswith("session_") and isinstance(turns, list):
            for turn in turns:
                caption = turn.get("blip_caption")
                text = f"{turn['speaker']}: {turn['text']}"
                yield turn["dia_id"], f"{text} [image: {caption}]" if caption else text


if __name__ == "__main__":
    main()
