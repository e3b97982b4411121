"""The real agentmemory worker, as agentmemory-setup.sh installs it.

Its engine, a compiled program, is stood in for by mini-engine.mjs.
"""

from __future__ import annotations

import os
import random
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

ENGINE = Path(__file__).parent / "mini-engine.mjs"
WORKER = Path("node_modules", "@agentmemory", "agentmemory", "dist", "index.mjs")
SECONDS = 60.0

# Keys of a person's shell with which the worker would call a model.
KEYS = (
    "ANTHROPIC_",
    "OPENAI_",
    "GEMINI_",
    "GOOGLE_",
    "OPENROUTER_",
    "MINIMAX_",
    "VOYAGE_",
    "COHERE_",
)


class Worker:
    """The real worker behind the stand-in engine, its data in memory only."""

    def __init__(self, home: Path, root: Path, variables: Mapping[str, str]) -> None:
        self.root = root
        port = free_ports(4)
        socket_port = free_ports(2)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(KEYS)}
        self._env = {
            **kept,
            **variables,
            "HOME": str(root),
            "AM_HOME": str(home),
            "AM_STATE_FILE": "",
            "AM_WS_PORT": str(socket_port),
            "AM_DEBUG_PORT": str(socket_port + 1),
            "III_REST_PORT": str(port),
            "III_ENGINE_URL": f"ws://127.0.0.1:{socket_port}",
        }
        self.url = f"http://127.0.0.1:{port}"
        self._engine = self._run("engine", ENGINE)
        self._wait(lambda: "rest 127" in (root / "engine.log").read_text(encoding="utf-8"))
        self._worker = self._run("worker", home / WORKER)
        self._wait(self._lives)

    def stop(self) -> None:
        """End the worker, then its engine: without one it lingers."""
        for process in (self._worker, self._engine):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def restart(self) -> None:
        """Kill the worker and start it again; its engine keeps the data."""
        self._worker.kill()
        self._worker.wait()
        self._worker = self._run("worker", Path(self._env["AM_HOME"]) / WORKER)
        self._wait(self._lives)

    def _run(self, name: str, script: Path) -> subprocess.Popen[bytes]:
        with (self.root / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                ["node", str(script)],
                env=self._env,
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _wait(self, ready: Callable[[], bool]) -> None:
        end = time.monotonic() + SECONDS
        while not ready():
            if time.monotonic() > end:
                logs = [one.read_text(encoding="utf-8") for one in self.root.glob("*.log")]
                raise AssertionError("\n".join(logs)[-4000:])
            time.sleep(0.1)

    def _lives(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/agentmemory/livez", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


def free_ports(count: int) -> int:
    """Find the first of so many free ports in a row."""
    while True:
        first = random.SystemRandom().randrange(20_000, 60_000)
        try:
            for port in range(first, first + count):
                with socket.socket() as one:
                    one.bind(("127.0.0.1", port))
        except OSError:
            continue
        return first
