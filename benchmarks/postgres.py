"""The store postgres beside the embedded one: speed with one client and with many.

    python benchmarks/postgres.py DSN [ROWS]      100000 entries unless told

DSN names a server's database where the schema ``dshloop_bench`` may be made anew; leave its
synchronous_commit on, as it is by default. Texts and questions are those of memory.py.

    import     entries a second, put into both stores as they are
    recall     milliseconds a question with one client (p50, p95), beside the embedded store
    together   recalls a second of 16 processes that ask at once, beside as many on one file
    remember   memories a second of 8 processes, each in a durable transaction of its own, beside
               bare inserts of the same texts into a table without an index

Ratios compare; figures hold for the machine they were taken on.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from memory import Texts, percentile

from dshloop.memory.answers import Filters
from dshloop.memory.entries import NewMemory, Observation
from dshloop.memory.postgres.pools import Place
from dshloop.memory.postgres.store import PostgresStore
from dshloop.memory.sqlite.store import SqliteStore

SCHEMA = "dshloop_bench"
QUESTIONS = 200
READERS, ASKED = 16, 100
WRITERS, KEPT = 8, 250
SESSION = 20
FILTERS = Filters(project="bench")


def main() -> None:
    """Measure the database that the command line names."""
    dsn, rows = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as server:
        server.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        server.execute("DROP TABLE IF EXISTS dshloop_bare")
        server.execute("CREATE TABLE dshloop_bare (content text)")
    with tempfile.TemporaryDirectory() as folder:
        embedded = SqliteStore(Path(folder) / "memory.db")
        store = PostgresStore(Place(dsn, SCHEMA))
        measure_import(embedded, store, rows)
        with psycopg.connect(dsn, autocommit=True) as server:
            server.execute(f"VACUUM ANALYZE {SCHEMA}.memory_index")
            server.execute(f"VACUUM ANALYZE {SCHEMA}.entries")
        measure_recall(embedded, store)
        embedded.close()
        store.close()
        measure_together(dsn, folder)
    measure_remember(dsn)


def measure_import(embedded: SqliteStore, store: PostgresStore, rows: int) -> None:
    """Print how many entries a second are put into each store."""
    rates = []
    for each in (embedded, store):
        start = time.perf_counter()
        for _ in each.put(observations(rows)):
            pass
        rates.append(rows / (time.perf_counter() - start))
    print(f"import    {rows} rows  embedded {rates[0]:.0f}/s  postgres {rates[1]:.0f}/s, "
          f"{rates[1] / rates[0]:.2f}x", flush=True)  # fmt: skip


def observations(rows: int) -> Iterator[Observation]:
    """Make up steps of sessions."""
    texts = texts_of(0)
    for number in range(rows):
        text = texts.sentence()
        at = 1_700_000_000.0 + number
        yield Observation(f"obs_{number:08x}", f"s{number // SESSION}", "post_tool_use", "other",
                          "bash", "", text, (), (), "bench", None, {}, at)  # fmt: skip


def texts_of(number: int) -> Texts:
    """Give texts of one vocabulary, others for each number."""
    texts = Texts(seed=1)
    texts.random.seed(number)
    return texts


def measure_recall(embedded: SqliteStore, store: PostgresStore) -> None:
    """Print how long a question takes with nobody else there."""
    texts = texts_of(1)
    questions = [texts.question() for _ in range(QUESTIONS)]
    times: list[list[float]] = [[], []]
    for question in questions[:20]:
        embedded.recall(question, FILTERS)
        store.recall(question, FILTERS)
    for question in questions:  # in turns, so that both have the same neighbours on the machine
        for each, took in zip((embedded, store), times, strict=True):
            start = time.perf_counter()
            each.recall(question, FILTERS)  # type: ignore[attr-defined]
            took.append(1000 * (time.perf_counter() - start))
    ours, theirs = percentile(times[1], 0.5), percentile(times[0], 0.5)
    late = percentile(times[1], 0.95)
    print(f"recall    {QUESTIONS} questions  p50 {ours:.1f} ms  p95 {late:.1f} ms  "
          f"embedded p50 {theirs:.1f} ms, {ours / theirs:.2f}x", flush=True)  # fmt: skip


def measure_together(dsn: str, folder: str) -> None:
    """Print how many questions a second many processes get answered."""
    theirs, _ = crowd(READERS, _ask_embedded, folder)
    ours, took = crowd(READERS, _ask, dsn)
    print(f"together  {READERS} clients  {ours:.0f} recalls/s  p50 {percentile(took, 0.5):.0f} ms  "
          f"p95 {percentile(took, 0.95):.0f} ms  embedded {theirs:.0f}/s, {ours / theirs:.2f}x",
          flush=True)  # fmt: skip


def measure_remember(dsn: str) -> None:
    """Print how many memories a second many processes have on disk."""
    bare, _ = crowd(WRITERS, _insert, dsn)
    ours, took = crowd(WRITERS, _remember, dsn)
    print(f"remember  {WRITERS} clients  {ours:.0f}/s  p50 {percentile(took, 0.5):.1f} ms  bare "
          f"inserts {bare:.0f}/s, {ours / bare:.2f}x", flush=True)  # fmt: skip


def crowd(size: int, work: Callable[..., Any], dsn: str) -> tuple[float, list[float]]:
    """Let processes work at once; give their rate together, and what each call took."""
    context = multiprocessing.get_context("fork")
    ready, times = context.Barrier(size), context.Queue()
    started = [context.Process(target=work, args=(dsn, at, ready, times)) for at in range(size)]
    for process in started:
        process.start()
    results = [times.get() for _ in started]
    for process in started:
        process.join()
    took = [one for _, _, each in results for one in each]
    span = max(end for _, end, _ in results) - min(start for start, _, _ in results)
    return len(took) / span, took


def _ask_embedded(folder: str, number: int, ready: Any, times: Any) -> None:
    store, texts = SqliteStore(Path(folder) / "memory.db"), texts_of(100 + number)
    store.recall(texts.question(), FILTERS)
    _timed(lambda text: store.recall(text, FILTERS), [texts.question() for _ in range(ASKED)],
           ready, times)  # fmt: skip
    store.close()


def _ask(dsn: str, number: int, ready: Any, times: Any) -> None:
    store, texts = PostgresStore(Place(dsn, SCHEMA)), texts_of(100 + number)
    store.recall(texts.question(), FILTERS)
    _timed(lambda text: store.recall(text, FILTERS), [texts.question() for _ in range(ASKED)],
           ready, times)  # fmt: skip
    store.close()


def _remember(dsn: str, number: int, ready: Any, times: Any) -> None:
    store, texts = PostgresStore(Place(dsn, SCHEMA)), texts_of(200 + number)
    store.remember(NewMemory(texts.sentence(), "bench"))
    _timed(lambda text: store.remember(NewMemory(text, "bench")),
           [texts.sentence() for _ in range(KEPT)], ready, times)  # fmt: skip
    store.close()


def _insert(dsn: str, number: int, ready: Any, times: Any) -> None:
    import psycopg

    texts = texts_of(200 + number)
    with psycopg.connect(dsn, autocommit=True) as server:
        _timed(lambda text: server.execute("INSERT INTO dshloop_bare VALUES (%s)", (text,)),
               [texts.sentence() for _ in range(KEPT)], ready, times)  # fmt: skip


def _timed(work: Callable[[str], Any], texts: list[str], ready: Any, times: Any) -> None:
    ready.wait()
    started, took = time.monotonic(), []
    for text in texts:
        start = time.perf_counter()
        work(text)
        took.append(1000 * (time.perf_counter() - start))
    times.put((started, time.monotonic(), took))


if __name__ == "__main__":
    main()
