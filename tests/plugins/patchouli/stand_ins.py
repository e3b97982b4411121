"""A host with the Patchouli rows and agents that are played by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dshloop.host.abort import AbortSignal
from dshloop.host.calls import execute
from dshloop.host.host import Host
from dshloop.host.mount import Mount
from dshloop.host.tools import Execution, ToolResult
from dshloop.plugins.memory_place import SERVICE as PLACE
from dshloop.plugins.memory_place import MemoryPlace
from dshloop.plugins.patchouli.agent_loop import AgentLoop
from dshloop.plugins.patchouli.durable import SERVICE as PERSISTENCE
from dshloop.plugins.patchouli.loop_config import read_loop_config
from dshloop.plugins.patchouli.service import SERVICE, MemoryService
from dshloop.sessions.session import MemoryLog

EVERYTHING = {
    "retrieve": dict.fromkeys(("sessionStart", "preStep", "turnStopping", "toolPostExecute"), True),
    "store": dict.fromkeys(
        ("agentCreated", "agentDisposed", "requestError", "agentError", "turnEnd", "toolResult"),
        True,
    ),
}
HEADER = {"version": 0, "id": "s1", "createdAt": 1767225600000, "cwd": "/home/dev/demo"}


@dataclass
class Recording:
    """A memory plugin that notes its calls; an answer that is an exception is raised."""

    id: str = "p1"
    answer: Any = None
    update_answer: Any = None
    updates: list[Any] = field(default_factory=list)
    retrieves: list[Any] = field(default_factory=list)
    signals: list[Any] = field(default_factory=list)

    async def update(self, request: Mapping[str, Any], *, signal: Any) -> Any:
        self.updates.append(request)
        self.signals.append(signal)
        return await _given(self.update_answer)

    async def retrieve(self, request: Mapping[str, Any], *, signal: Any) -> Any:
        self.retrieves.append(request)
        self.signals.append(signal)
        return await _given(self.answer)


async def _given(answer: Any) -> Any:
    if callable(answer):
        answer = answer()
    if asyncio.iscoroutine(answer) or isinstance(answer, asyncio.Future):
        answer = await answer
    if isinstance(answer, Exception):
        raise answer
    return answer


class Stored:
    """What the durable store gives back; it notes what it was asked for."""

    def __init__(self, header: Mapping[str, Any], events: Sequence[Any]) -> None:
        self.header, self.events = header, events
        self.asked: list[tuple[str, int]] = []

    def read_from(self, session_id: str, seq: int) -> dict[str, Any]:
        self.asked.append((session_id, seq))
        events = [event for event in self.events if event["seq"] >= seq]
        return {"header": self.header, "events": events}


class World:
    """A host, the memory service and the adapter's row."""

    def __init__(
        self,
        *plugins: Any,
        config: Mapping[str, Any] | None = None,
        persistence: Any = None,
        outbox: Path | None = None,
        service: MemoryService | None = None,
    ) -> None:
        self.host = Host(SimpleNamespace())  # type: ignore[arg-type]
        self.memory = service or MemoryService()
        for plugin in plugins:
            self.memory.register(plugin)
        self.host.provide(SERVICE, self.memory)
        if persistence is not None:
            self.host.provide(PERSISTENCE, persistence)
        if outbox is not None:
            self.host.provide(PLACE, MemoryPlace(outbox.parent, outbox))
        self.config = read_loop_config(config or {})
        self.mount = Mount(self.host)

    async def __aenter__(self) -> World:
        await AgentLoop().apply(self.mount, self.config)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.mount.unwind()

    def agent(
        self, header: Mapping[str, Any] = HEADER, events: Sequence[Any] = (), **more: Any
    ) -> Any:
        """Make an agent that the host knows."""
        log = MemoryLog(header, list(events), lambda: 1.0)
        injected: list[Any] = []
        agent = SimpleNamespace(
            id=header["id"], status="running", options={"provider": "p", "model": "m"},
            session=log, hooks=self.host.hooks, tools=self.host.tools, log_fault=None,
            injected=injected, inject=injected.append,
        )  # fmt: skip
        for name, value in more.items():
            setattr(agent, name, value)
        self.host.agents[agent.id] = agent
        return agent

    def appended(self, agent: Any, kind: str, data: Any) -> Any:
        """Append an event to an agent's log and tell the listeners."""
        event = agent.session.append(kind, data)
        self.host.hooks.emit("session/event", agent.session, event)
        return event

    async def settle(self, session: Any) -> None:
        """Let what is queued settle."""
        await asyncio.sleep(0)
        await self.host.hooks.parallel("session/flush", session)
        await self.host.hooks.settle()
        for _ in range(20):
            await asyncio.sleep(0)

    async def call_tool(
        self, agent: Any, name: str, raw: str, signal: AbortSignal | None = None, **place: Any
    ) -> ToolResult:
        """Have the model call a tool; without an agent its body alone."""
        place = {"turn": 0, "step": 0, **place}
        tool = self.host.tools.get(name)
        execution = Execution(
            agent, "call-1", name, raw, **place, signal=signal or AbortSignal(), tool=tool
        )
        if agent is not None:
            return await execute(execution)
        assert tool is not None
        execution.arguments = tool.read_arguments(raw)
        try:
            result = tool.body(execution)
            return ToolResult.of(await result if asyncio.iscoroutine(result) else result)
        except Exception as error:
            return ToolResult([{"type": "text", "text": f"Error: {error}"}], is_error=True)


def message(text: str = "hello", number: int = 1) -> dict[str, Any]:
    """Make a user's message."""
    return {
        "content": [{"type": "text", "text": text}],
        "source": {"kind": "user"},
        "role": "user",
        "id": f"00000000-0000-4000-8000-{number:012d}",
    }


def entering(*messages: Any) -> Any:
    """Make the innermost decision of a step."""
    return lambda: {"kind": "enter", "messages": list(messages)}
