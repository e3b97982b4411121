"""What handing an event over to the bridge of agentmemory costs an agent, in microseconds.

    python benchmarks/bridge.py [--events N] [--size CHARACTERS]

Prints one line a home: the daemon up, refusing connections, hanging, and our own store; the median
and the 99th percentile of the time that a listener takes on the agent's thread while the bridge's
own thread works, and the goal. Then the rows a second that get to where they go. It judges nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from dshloop.host.host import Host
from dshloop.host.mount import Mount
from dshloop.memory.sqlite.store import SqliteStore
from dshloop.plugins.agentmemory.config import read_bridge_config
from dshloop.plugins.agentmemory.row import Agentmemory
from dshloop.plugins.memory_place import SERVICE, MemoryPlace
from dshloop.sessions.events import new_header
from dshloop.sessions.session import MemoryLog

GOAL = 150.0
UP, DOWN, HANGING, LOCAL = "daemon up", "daemon down", "daemon hanging", "our own store"
SESSIONS = 5


class Daemon(BaseHTTPRequestHandler):
    """Says yes to everything; once it hangs, nothing."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    hangs = False

    def do_GET(self) -> None:
        self._answer({"status": "ok"})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        while type(self).hangs:
            time.sleep(0.05)
        self._answer({"observationId": "obs_1", "success": True, "context": ""})

    def _answer(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def daemon() -> Iterator[tuple[str, Callable[[], None]]]:
    """Lend a daemon: its address, and what takes it down."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Daemon)
    server.daemon_threads, server.block_on_close = True, False
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

    def down() -> None:
        server.shutdown()
        server.server_close()

    yield f"http://127.0.0.1:{server.server_address[1]}", down
    Daemon.hangs = False


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--events", type=int, default=2000)
    parser.add_argument("--size", type=int, default=1000)
    asked = parser.parse_args()
    print(f"{asked.events} events of {asked.size} characters, {SESSIONS} sessions; goal {GOAL} us")
    for home in (UP, DOWN, HANGING, LOCAL):
        took, rate = asyncio.run(measured(home, asked.events, asked.size))
        half, most = statistics.median(took), statistics.quantiles(took, n=100)[98]
        mean = statistics.fmean(took)
        delivered = "" if rate is None else f"  {rate:6.0f} rows/s delivered"
        print(f"{home:15} {half:7.1f} us median {mean:7.1f} mean {most:7.1f} p99{delivered}")


async def measured(home: str, events: int, size: int) -> tuple[list[float], float | None]:
    """Hand events over and time each; give microseconds, and the rows a second that arrived."""
    with TemporaryDirectory() as folder, daemon() as (url, down):
        data = Path(folder)
        host, mount = hosted(data)
        config = {"baseUrl": url, "curlTimeoutMs": 1000 if home == HANGING else 60_000}
        config |= {"store": "local"} if home == LOCAL else {}
        await Agentmemory().apply(mount, read_bridge_config(config))
        logs = [begun(host, number) for number in range(SESSIONS)]
        if home == DOWN:
            down()
        Daemon.hangs = home == HANGING
        began = time.perf_counter()
        took = [await handed(host, logs[n % SESSIONS], n, size) for n in range(events)]
        rate = None
        if home in (UP, LOCAL):
            await asyncio.gather(*(host.hooks.parallel("session/flush", log) for log in logs))
            rate = events / (time.perf_counter() - began)
        await mount.unwind()
        return took, rate


def hosted(data: Path) -> tuple[Host, Mount]:
    """Make a host with a place for memory."""
    host = Host(SimpleNamespace())  # type: ignore[arg-type]
    place = MemoryPlace(data, data / "outbox", lambda: SqliteStore(data / "memory.db"), {})
    host.provide(SERVICE, place)
    return host, Mount(host)


def begun(host: Host, number: int) -> MemoryLog:
    """Begin a session."""
    header = new_header(f"s{number}", created_at=0, cwd="/nowhere/project")
    log = MemoryLog(header, [], time.time)
    host.hooks.emit("session/created", log)
    return log


async def handed(host: Host, log: MemoryLog, number: int, size: int) -> float:
    """Have an event happen; give the microseconds that its listeners took."""
    said = f"event {number} " + "word " * (size // 5)
    content = [{"type": "text", "text": said}]
    event = log.append("user/message", {"content": content, "source": {"kind": "user"}})
    start = time.perf_counter()
    host.hooks.emit("session/event", log, event)
    took = time.perf_counter() - start
    if number % 10 == 9:  # as a model does, between events
        await asyncio.sleep(0.001)
    return took * 1e6


if __name__ == "__main__":
    main()
