from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import MutableMapping
from typing import Any

from dshloop.memory.server.app import Server
from dshloop.memory.server.lanes import Lanes
from dshloop.memory.server.log import Forwarded
from dshloop.memory.server.settings import read_settings
from dshloop.memory.server.state import State
from dshloop.memory.store import MemoryStore


def forwarded(fault: BaseException) -> list[str]:
    said: list[str] = []
    about = (type(fault), fault, None)
    record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, "Exception", (), about)
    Forwarded(said.append).emit(record)
    return said


def test_calls_that_a_second_signal_cuts_off_fill_no_log() -> None:
    assert forwarded(asyncio.CancelledError()) == []
    assert forwarded(ValueError("x")) == ["Exception ValueError: x"]


def test_a_fault_is_logged_once_with_the_number_that_its_caller_got() -> None:
    def broken(_readonly: bool) -> MemoryStore:
        raise OSError("no space is left")

    said: list[str] = []
    settings = read_settings({}, host="127.0.0.1", port=3111, hosts=())
    server = Server(State(settings), Lanes(broken), said.append)
    sent = asyncio.run(asked(server, "/agentmemory/health"))
    server.close()
    number = json.loads(sent[1]["body"])["error_id"]
    assert sent[0]["status"] == 500
    assert said == [f"500 GET /health {number} OSError: no space is left"]


async def asked(server: Server, path: str) -> list[MutableMapping[str, Any]]:
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1")],
    }
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    await server(scope, receive, send)
    return sent
