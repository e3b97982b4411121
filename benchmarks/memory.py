"""Speed of the embedded store, in this process.

    python benchmarks/memory.py [ROWS]      10000 memories unless told

    remember   durable transactions a second, beside bare SQLite commits of the same texts
    recall     milliseconds a question (p50, p95), beside SQLite's own ranking of the same words

Texts are made up: 8 to 28 words drawn by Zipf's law from 20,000, so figures hold for the machine
they were taken on; the ratios are what compares.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from itertools import accumulate, product
from pathlib import Path

from dshloop.memory.entries import NewMemory
from dshloop.memory.sqlite import SqliteStore
from dshloop.memory.sqlite.connect import open_for_writing, transaction

QUESTIONS = 300


def main() -> None:
    """Measure a store of the number of rows named on the command line."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    texts = Texts(seed=1)
    with tempfile.TemporaryDirectory() as folder:
        contents = [texts.sentence(8, 28) for _ in range(rows)]
        measure_remember(Path(folder), contents)
        measure_recall(Path(folder) / "memory.db", texts)


class Texts:
    """Sentences of made-up words whose frequencies fall by Zipf's law."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        syllables = ["".join(pair) for pair in product("bdfgklmnprstvz", "aeiou")]
        self.words = ["".join(three) for three in product(syllables, syllables[:20], syllables)]
        self.random.shuffle(self.words)
        del self.words[20_000:]
        self.weights = list(accumulate(1 / rank for rank in range(1, len(self.words) + 1)))

    def sentence(self, least: int, most: int) -> str:
        """Draw a sentence; common words come as often as in speech."""
        count = self.random.randint(least, most)
        return " ".join(self.random.choices(self.words, cum_weights=self.weights, k=count))

    def question(self) -> str:
        """Draw three telling words and two common ones."""
        words = [self.random.choice(self.words[300:5000]) for _ in range(3)]
        return " ".join(words + [self.random.choice(self.words[20:300]) for _ in range(2)])


def measure_remember(folder: Path, contents: list[str]) -> None:
    """Print how many memories a second are stored, each in its own durable transaction."""
    store = SqliteStore(folder / "memory.db")
    ours = seconds(lambda text: store.remember(NewMemory(text, "bench")), contents)
    store.close()
    bare = open_for_writing(folder / "bare.db")
    bare.execute("CREATE TABLE texts (content TEXT)")

    def insert(text: str) -> None:
        with transaction(bare, folder / "bare.db"):
            bare.execute("INSERT INTO texts VALUES (?)", (text,))

    theirs = seconds(insert, contents)
    bare.close()
    rate, ratio = len(contents) / sum(ours), sum(ours) / sum(theirs)
    print(f"remember  {len(contents)} rows  {rate:.0f}/s  {ratio:.1f}x a bare commit")


def measure_recall(path: Path, texts: Texts) -> None:
    """Print how long a question takes, and how long the index alone takes for the same words."""
    store = SqliteStore(path)
    questions = [texts.question() for _ in range(QUESTIONS)]
    store.recall("warm up")
    ours = seconds(store.recall, questions)
    store.close()
    connection = sqlite3.connect(path)

    def plain(question: str) -> None:
        match = " OR ".join(f'"{word}"' for word in question.split())
        query = "SELECT rowid FROM memory_index WHERE memory_index MATCH ? ORDER BY rank LIMIT 10"
        connection.execute(query, (match,)).fetchall()

    theirs = seconds(plain, questions)
    connection.close()
    ratio = percentile(ours, 0.5) / percentile(theirs, 0.5)
    print(
        f"recall    {len(questions)} questions  p50 {percentile(ours, 0.5) * 1000:.2f} ms  "
        f"p95 {percentile(ours, 0.95) * 1000:.2f} ms  {ratio:.1f}x a plain FTS5 query"
    )


def seconds(work: Callable[[str], object], arguments: Iterable[str]) -> list[float]:
    """Time each call."""
    times = []
    for argument in arguments:
        start = time.perf_counter()
        work(argument)
        times.append(time.perf_counter() - start)
    return times


def percentile(values: list[float], share: float) -> float:
    """Give the value below which a share of all values lies."""
    return sorted(values)[int(len(values) * share)]


if __name__ == "__main__":
    main()
