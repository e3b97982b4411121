"""Our copy of the agentmemory cases, replayed against the real worker: they say what it does.

``$DSHLOOP_TEST_AGENTMEMORY`` is the folder that agentmemory-setup.sh has filled. The worker's
engine is mini-engine.mjs.
"""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.cases import load_cases
from tests.conformance.test_agentmemory import PROFILES, replay

pytestmark = [pytest.mark.peer, pytest.mark.slow]

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


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Worker]]:
    """Give the worker of a profile, started when it is first asked for."""
    named = os.environ.get("DSHLOOP_TEST_AGENTMEMORY")
    if not named or not (Path(named) / WORKER).is_file():
        pytest.skip("$DSHLOOP_TEST_AGENTMEMORY names no folder with agentmemory")
    if shutil.which("node") is None:
        pytest.skip("there is no node")
    running: dict[str, Worker] = {}

    def of(profile: str) -> Worker:
        if profile not in running:
            root = tmp_path_factory.mktemp(profile)
            running[profile] = Worker(Path(named), root, PROFILES[profile])
        return running[profile]

    yield of
    for one in running.values():
        one.stop()


@pytest.mark.parametrize("case", load_cases("agentmemory.json"))
def test_the_worker_does_what_the_cases_say(
    case: Mapping[str, Any], worker: Callable[[str], Worker]
) -> None:
    client = replay.Client(worker(case.get("profile", "open")).url, None, 120.0)
    token = "".join(random.SystemRandom().choices(replay.LETTERS, k=6))
    reason, status, raw, _ = replay.run_case(client, case, token, "original")
    assert reason is None, f"{reason}\n{status} {raw[:1500]!r}"
