"""Speed of the embedded store, in this process.

    python benchmarks/memory.py [ROWS ...]      10000 entries unless told; 1000000 takes minutes

    remember   durable transactions a second, beside bare SQLite commits of the same texts
    store      observations a second, a thousand in a transaction
    recall     milliseconds a question (p50, p95), beside a plain FTS5 table of the same texts asked
               for the same words by its bm25 (processor time, which others on the machine disturb
               less), and the most memory the process has used

Texts are made up: 8 to 28 words drawn by Zipf's law from 20,000, twenty to a session, so figures
hold for the machine they were taken on; the ratios are what compares. Each size is measured in a
process of its own.
"""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from itertools import accumulate, islice, product
from pathlib import Path

from dshloop.memory.answers import Filters
from dshloop.memory.entries import NewMemory, NewObservation
from dshloop.memory.sqlite.connect import open_for_writing, transaction
from dshloop.memory.sqlite.store import SqliteStore

QUESTIONS = 200
REMEMBERED = 2_000
SESSION = 20
AT_ONCE = 1_000


def main() -> None:
    """Measure stores of the numbers of rows named on the command line."""
    sizes = [int(size) for size in sys.argv[1:]] or [10_000]
    if len(sizes) > 1:
        for size in sizes:
            subprocess.run([sys.executable, __file__, str(size)], check=True)
        return
    [rows] = sizes
    texts = Texts(seed=1)
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "memory.db")
        plain = Plain(Path(folder) / "plain.db")
        measure_storing(store, plain, texts, rows)
        measure_recall(store, plain, texts)
        measure_remember(store, Path(folder), texts)
        store.close()


class Texts:
    """Sentences of made-up words whose frequencies fall by Zipf's law."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        syllables = ["".join(pair) for pair in product("bdfgklmnprstvz", "aeiou")]
        self.words = ["".join(three) for three in product(syllables, syllables[:20], syllables)]
        self.random.shuffle(self.words)
        del self.words[20_000:]
        self.weights = list(accumulate(1 / rank for rank in range(1, len(self.words) + 1)))

    def sentence(self) -> str:
        """Draw a sentence; common words come as often as in speech."""
        count = self.random.randint(8, 28)
        return " ".join(self.random.choices(self.words, cum_weights=self.weights, k=count))

    def question(self) -> str:
        """Draw three telling words and two common ones."""
        words = [self.random.choice(self.words[300:5000]) for _ in range(3)]
        return " ".join(words + [self.random.choice(self.words[20:300]) for _ in range(2)])


class Plain:
    """The same texts in a full-text table with nothing else."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path)
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute("CREATE VIRTUAL TABLE texts USING fts5 (content)")

    def add(self, contents: Iterable[str]) -> None:
        """Store texts in one transaction."""
        with self._database:
            rows = ((content,) for content in contents)
            self._database.executemany("INSERT INTO texts VALUES (?)", rows)

    def ask(self, question: str) -> None:
        """Look for any of a question's words."""
        match = " OR ".join(f'"{word}"' for word in question.split())
        query = "SELECT content FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 10"
        self._database.execute(query, (match,)).fetchall()


def measure_storing(store: SqliteStore, plain: Plain, texts: Texts, rows: int) -> None:
    """Print how many observations a second are stored in large transactions."""
    numbers, took = iter(range(rows)), 0.0
    while some := [(number, texts.sentence()) for number in islice(numbers, AT_ONCE)]:
        start = time.perf_counter()
        with store.batch():
            for number, text in some:
                store.observe(observation(number, text))
        took += time.perf_counter() - start
        plain.add(text for _, text in some)
    print(f"store     {rows} rows  {rows / took:.0f}/s", flush=True)


def observation(number: int, text: str) -> NewObservation:
    """Make one step of a session."""
    session = f"s{number // SESSION}"
    return NewObservation(session, "bench", "post_tool_use", "bash", text, str(number))


def measure_remember(store: SqliteStore, folder: Path, texts: Texts) -> None:
    """Print how many memories a second are stored, each in its own durable transaction."""
    contents = [texts.sentence() for _ in range(REMEMBERED)]
    ours = seconds(lambda text: store.remember(NewMemory(text, "bench")), contents)
    bare = open_for_writing(folder / "bare.db")
    bare.execute("CREATE TABLE texts (content TEXT)")

    def insert(text: str) -> None:
        with transaction(bare, folder / "bare.db"):
            bare.execute("INSERT INTO texts VALUES (?)", (text,))

    theirs = seconds(insert, contents)
    bare.close()
    rate, ratio = len(contents) / sum(ours), sum(ours) / sum(theirs)
    print(f"remember  {len(contents)} more  {rate:.0f}/s  {ratio:.1f}x a bare commit")


def measure_recall(store: SqliteStore, plain: Plain, texts: Texts) -> None:
    """Print how long a question takes, and how long the plain table takes for the same words."""
    questions = [texts.question() for _ in range(QUESTIONS)]
    filters = Filters(project="bench")
    seconds(lambda question: store.recall(question, filters), questions[:10])
    wall, ours, theirs = [], [], []
    for question in questions:  # in turns, so that both have the same neighbours on the machine
        start, spent = time.perf_counter(), time.process_time()
        store.recall(question, filters)
        wall.append(time.perf_counter() - start)
        ours.append(time.process_time() - spent)
        spent = time.process_time()
        plain.ask(question)
        theirs.append(time.process_time() - spent)
    ratio = percentile(ours, 0.5) / percentile(theirs, 0.5)
    print(
        f"recall    {len(questions)} questions  p50 {percentile(wall, 0.5) * 1000:.2f} ms  "
        f"p95 {percentile(wall, 0.95) * 1000:.2f} ms  processor {percentile(ours, 0.5) * 1000:.2f} "
        f"ms, {ratio:.1f}x a plain FTS5 query  {peak() / 1e6:.0f} MB",
        flush=True,
    )


def peak() -> float:
    """Give the most memory that this process has held, in bytes."""
    import resource

    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held if sys.platform == "darwin" else held * 1024


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
