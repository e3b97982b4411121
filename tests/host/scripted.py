"""An adapter that plays what a test wrote down, and an agent on an in-memory log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from dshloop.host.agent import Agent, AgentOptions
from dshloop.llm.messages import Chunk, ModelRequest
from dshloop.sessions.events import new_header
from dshloop.sessions.session import MemoryLog

Script = Sequence[Any]  # chunks, seconds to wait, an exception to raise


class Scripted:
    """Answers the n-th request with the n-th script, the last one for all others."""

    provider = "p"

    def __init__(self, *scripts: Script) -> None:
        self.scripts = list(scripts)
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        script = self.scripts[min(len(self.requests), len(self.scripts) - 1)]
        self.requests.append(request)
        for item in script:
            if isinstance(item, Exception):
                raise item
            if isinstance(item, float):
                await asyncio.sleep(item)
            else:
                yield item


def text(*pieces: str) -> list[Chunk]:
    return [{"type": "text-delta", "index": 0, "text": piece} for piece in pieces]


def finish(kind: str = "stop", **more: Any) -> Chunk:
    return {"type": "finish", "reason": {"kind": kind, **more}}


def call(name: str) -> Chunk:
    block = {"type": "tool-call", "id": f"id-{name}", "name": name, "arguments": "{}"}
    return {"type": "block-end", "index": 1, "block": block}


def agent_on(adapter: Scripted, events: Sequence[Any] = (), **options: Any) -> Agent:
    log = MemoryLog(new_header("s", created_at=0, cwd="/"), events, lambda: 1.0)
    chosen = AgentOptions(**{"provider": "p", "model": "m", "system": None, **options})
    agent = Agent(log, chosen, {"p": adapter})
    agent.publish()
    return agent


def kinds(agent: Agent, *, chunks: bool = False) -> list[str]:
    found = [event["type"] for event in agent.session.events]
    return [kind for kind in found if chunks or kind != "assistant/chunk"]


def data_of(agent: Agent, kind: str) -> list[Any]:
    return [event["data"] for event in agent.session.events if event["type"] == kind]
