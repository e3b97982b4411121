"""The stand-in for Patchouli's daemon as a process, and facts to put into it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.memory.patchouli_socket import Client

PROGRAM = Path(__file__).with_name("fake_patchouli.py")
SCOPE = {"workspace_id": "/home/dev/demo", "user_id": "agent-loop:dsh-patchouli-agent-loop"}
AT = "2026-01-31T12:00:00.000Z"


@dataclass
class Daemon:
    """A running stand-in."""

    socket: Path
    database: Path
    process: subprocess.Popen[bytes]

    def client(self, **options: Any) -> Client:
        return Client(self.socket, **options)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)


@contextlib.contextmanager
def daemon(folder: Path, *arguments: str, socket: Path | None = None) -> Iterator[Daemon]:
    """Run the stand-in on a database in a folder; its socket's path is short."""
    with tempfile.TemporaryDirectory(prefix="p") as short:
        found = socket or Path(short) / "p.sock"
        database = folder / "patchouli.db"
        command = [sys.executable, str(PROGRAM), str(found), "--sqlite", str(database),
                   "--artifacts", str(folder / "artifacts"), *arguments]  # fmt: skip
        process = subprocess.Popen(command)
        try:
            _wait_for(found, process)
            yield Daemon(found, database, process)
        finally:
            process.terminate()
            process.wait(10)


def _wait_for(socket: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(Exception), Client(socket, timeout=5) as client:
            client.handshake()
            return
        time.sleep(0.02)
    raise AssertionError("the stand-in did not start")


def knowledge(text: str, session: str = "s1", **more: Any) -> dict[str, Any]:
    """Make the value of a knowledge entity."""
    return {
        "content": {"kind": "text", "text": text},
        "metadata": metadata("patchouli.knowledge@1", session),
        "artifact": [],
        "profile": {
            "epistemic": "observation", "temporal": {"kind": "unknown"}, "ownership": "user",
            "abstraction": "instance", "persistence": "long_term", "retrieval": ["exact"],
            "actionability": "informational",
        },
        **more,
    }  # fmt: skip


def metadata(schema: str = "patchouli.artifact@1", session: str = "s1") -> dict[str, Any]:
    return {
        "core": {
            "schema": schema,
            "scope": {"tenant": None, "workspace": "/home/dev/demo", "user": None,
                      "session": session},
            "origin": {"provider": "deepseek-harness", "binding": "test", "native_type": "note",
                       "native_id": "n1", "native_revision": None},
            "time": {"event_at": None, "source_created_at": None, "source_updated_at": None,
                     "observed_at": AT, "ingested_at": AT},
            "lifecycle": {"status": "active", "expires_at": None},
            "provenance": [{"kind": "imported", "actor": "test", "source": None,
                            "recorded_at": AT}],
        },
        "extensions": {},
    }  # fmt: skip


def create(client: Client, value: Mapping[str, Any], id_: str | None = None) -> dict[str, Any]:
    """Create a knowledge entity."""
    data: dict[str, Any] = {"type": "knowledge", "value": value}
    if id_ is not None:
        data["id"] = id_
    entity: dict[str, Any] = client.call("entity.create", SCOPE, data).data["entity"]
    return entity
