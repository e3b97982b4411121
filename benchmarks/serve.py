"""How fast `memory serve` is: writes and searches over HTTP, one client and many at once.

    python benchmarks/serve.py [--rows 10000] [--clients 16] [--seconds 5]

A server is started on a folder of its own and filled with rows. Then are measured:

    observe, remember   writes a second of one client, and of several
    /search, /smart-search, /context, /memories   p50, p95 of one client in ms
    ratio               p50 of /search over the time of the same recall without a server
    at once             searches and writes of many clients together: a second, and how many of the
                        writes that were answered are missing afterwards (must be none)

Everything is on this machine and shares its cores: the client takes its part of the time.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dshloop.memory.answers import Filters
from dshloop.memory.stores import open_store

SYLLABLES = ("ba", "do", "ki", "lu", "me", "nor", "pa", "ris", "to", "ven", "xa", "zim")
VOCABULARY = 8000


class Client:
    """One kept-alive connection."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(url.partition("//")[2], timeout=120)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request and give the value of its answer."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        self._connection.request(method, f"/agentmemory{path}", data, headers)
        answer = self._connection.getresponse()
        value = json.loads(answer.read())
        assert answer.status // 100 == 2, value
        return value


class Texts:
    """Sentences of made-up words, common and rare ones as in a language."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        made = random.Random(1)
        self._words = ["".join(made.choices(SYLLABLES, k=3)) for _ in range(VOCABULARY)]
        self._weights = [1 / (at + 3) for at in range(VOCABULARY)]

    def sentence(self, length: int = 14) -> str:
        """Make a sentence."""
        return " ".join(self._chance.choices(self._words, self._weights, k=length))


def main() -> None:
    """Measure a server."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=5.0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as url:
        print(f"rows {asked.rows}")
        for kind, write in (("observe", observe), ("remember", remember)):
            writes(url, kind, write, asked.rows)
        reads(url, Path(folder))
        at_once(url, asked)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Run a server on a folder."""
    command = [sys.executable, "-m", "dshloop", "memory", "serve", "--port", "0"]
    env = {**os.environ, "DSHLOOP_DATA": str(folder), "MAX_OBS_PER_SESSION": "1000000"}
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def observe(client: Client, texts: Texts, number: str) -> str:
    """Keep an observation; give its id."""
    body = {
        "hookType": "post_tool_use",
        "sessionId": f"session-{hash(number) % 200}",
        "project": f"project-{hash(number) % 10}",
        "cwd": "/w",
        "timestamp": "2026-01-05T10:00:00.000Z",
        "data": {"tool_name": "bash", "tool_input": number, "tool_output": texts.sentence(30)},
    }
    return str(client.ask("POST", "/observe", body)["observationId"])


def remember(client: Client, texts: Texts, number: str) -> str:
    """Keep a memory; give its id."""
    body = {"content": f"{texts.sentence()} {number}", "project": f"project-{hash(number) % 10}"}
    return str(client.ask("POST", "/remember", body)["memory"]["id"])


Write = Callable[[Client, Texts, str], str]


def writes(url: str, kind: str, write: Write, rows: int) -> None:
    """Fill the server with half of the rows, timing the last of them, then with several clients."""
    client, texts = Client(url), Texts(0)
    for number in range(rows // 2 - 1000):
        write(client, texts, f"{kind}{number}")
    started = time.perf_counter()
    for number in range(1000):
        write(client, texts, f"{kind}-last-{number}")
    alone = 1000 / (time.perf_counter() - started)

    def work(name: int) -> None:
        client, texts = Client(url), Texts(name)
        for number in range(100):
            write(client, texts, f"{kind}-{name}-{number}")

    threads = [threading.Thread(target=work, args=(name,)) for name in range(1, 9)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{kind:<14} {alone:6.0f}/s  8 clients {800 / (time.perf_counter() - started):6.0f}/s")


def reads(url: str, folder: Path) -> None:
    """Time reads of one client."""
    client, questions = Client(url), Texts(2)
    queries = [questions.sentence(5) for _ in range(200)]
    paths: dict[str, Callable[[str], Any]] = {
        "/search": lambda query: client.ask(
            "POST", "/search", {"query": query, "format": "compact"}
        ),
        "/search in a project": lambda query: client.ask(
            "POST", "/search", {"query": query, "format": "compact", "project": "project-3"}
        ),
        "/smart-search": lambda query: client.ask("POST", "/smart-search", {"query": query}),
        "/context": lambda query: client.ask(
            "POST", "/context", {"sessionId": query, "project": "project-3"}
        ),
        "/memories": lambda _: client.ask("GET", "/memories?limit=100"),
        "/livez": lambda _: client.ask("GET", "/livez"),
    }
    medians = {}
    for name, read in paths.items():
        medians[name] = timed(name, read, queries)
    store = open_store(None, database=folder / "memory.db", readonly=True)
    store.recall(queries[0], Filters(), limit=20, min_score=0.0)
    base = timed(
        "recall, no server",
        lambda query: store.recall(query, Filters(), limit=20, min_score=0.0),
        queries,
    )
    store.close()
    print(f"ratio          {medians['/search'] / base:.2f}")


def timed(name: str, read: Callable[[str], Any], queries: list[str]) -> float:
    """Print and give the median of a read, in milliseconds."""
    times = []
    for query in queries:
        started = time.perf_counter()
        read(query)
        times.append(1000 * (time.perf_counter() - started))
    times.sort()
    median, last = times[len(times) // 2], times[int(len(times) * 0.95)]
    print(f"{name:<22} p50 {median:6.2f} ms  p95 {last:6.2f} ms")
    return median


def at_once(url: str, asked: argparse.Namespace) -> None:
    """Let many clients search and write at once; look for every write afterwards."""
    done: list[tuple[str, str]] = []
    searches = [0]
    end = time.perf_counter() + asked.seconds

    def work(name: int) -> None:
        client, texts = Client(url), Texts(100 + name)
        number = 0
        while time.perf_counter() < end:
            number += 1
            if number % 3:
                client.ask("POST", "/search", {"query": texts.sentence(5), "format": "compact"})
                searches[0] += 1
                continue
            word = f"client{name}write{number}"
            done.append((word, remember(client, texts, word)))

    threads = [threading.Thread(target=work, args=(name,)) for name in range(asked.clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client, missing = Client(url), 0
    for word, id_ in done:
        found = client.ask("POST", "/search", {"query": word, "format": "compact"})["results"]
        missing += id_ not in [one["obsId"] for one in found]
    each = asked.seconds
    print(
        f"{asked.clients} at once     {searches[0] / each:.0f} searches/s, "
        f"{len(done) / each:.0f} writes/s, missing {missing} of {len(done)}"
    )


if __name__ == "__main__":
    main()
