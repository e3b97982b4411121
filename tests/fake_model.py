"""The scripted model server of tests/peers/fake_llm.py, in this process, for a block."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.peers.fake_llm import Handler, State


@dataclass(frozen=True)
class FakeModel:
    """Where it listens, and what it was asked so far: path, headers without keys, body."""

    url: str
    log: Path

    @property
    def asked(self) -> list[Any]:
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@contextmanager
def fake_model(folder: Path, *answers: Sequence[dict[str, Any]]) -> Iterator[FakeModel]:
    """Serve one answer a request; those without tools get "side"."""
    log = folder / "requests.jsonl"
    state = State([list(items) for items in answers], "side", str(log))
    handler = type("Scripted", (Handler,), {"state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield FakeModel(f"http://127.0.0.1:{server.server_port}", log)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
