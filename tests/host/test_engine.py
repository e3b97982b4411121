"""Making agents, and leaving nothing behind when that fails."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dshloop.errors import SessionExistsError, SessionUnreadableError
from dshloop.host.agent import Agent
from dshloop.host.engine import CreateOptions, Engine, Host, ResumeOptions
from dshloop.sessions.events import new_header
from dshloop.sessions.session import MemoryLog
from tests.transcripts.logs import event, turn


class Memory:
    """Sessions that live in memory; `closed` lists those that were let go."""

    def __init__(self, events: list[Any] | None = None) -> None:
        self.events = events or []
        self.closed: list[str] = []

    def create(self, session_id: str, *, cwd: str | None, agent_preset: str | None) -> MemoryLog:
        header = new_header(session_id, created_at=0, cwd=cwd, agent_preset=agent_preset)
        return self._log(header, [])

    def resume(self, session_id: str) -> MemoryLog:
        return self._log(new_header(session_id, created_at=0, cwd="/"), self.events)

    def _log(self, header: dict[str, Any], events: list[Any]) -> MemoryLog:
        log = MemoryLog(header, events, lambda: 1.0)
        log.close = lambda: self.closed.append(header["id"])  # type: ignore[method-assign]
        return log


def test_a_setup_and_its_commit_run_before_the_agent_is_known() -> None:
    host, seen = Host(Memory()), []

    async def setup(agent: Agent) -> Any:
        seen.append(("setup", list(host.agents)))
        return lambda: seen.append(("commit", list(host.agents)))

    handle = asyncio.run(Engine().create_agent(host, CreateOptions("s", setup=setup)))
    assert seen == [("setup", []), ("commit", [])]
    assert host.agents == {"s": handle.agent}
    asyncio.run(handle.dispose())
    assert host.agents == {}


@pytest.mark.parametrize("in_commit", [False, True])
def test_a_failing_setup_leaves_nothing(in_commit: bool) -> None:
    sessions = Memory()
    host = Host(sessions)

    def fail() -> None:
        raise ValueError("no")

    def setup(agent: Agent) -> Any:
        return fail if in_commit else fail()

    with pytest.raises(ValueError, match="no"):
        asyncio.run(Engine().create_agent(host, CreateOptions("s", setup=setup)))
    assert (host.agents, sessions.closed) == ({}, ["s"])
    asyncio.run(Engine().create_agent(host, CreateOptions("s")))


def test_one_agent_for_each_session() -> None:
    host = Host(Memory())
    asyncio.run(Engine().create_agent(host, CreateOptions("s")))
    with pytest.raises(SessionExistsError):
        asyncio.run(Engine().create_agent(host, CreateOptions("s")))


def test_a_resumed_session_ends_its_seed() -> None:
    handle = asyncio.run(Engine().resume(Host(Memory(turn(1, 0))), ResumeOptions("s")))
    assert handle.agent.session.events[-1]["type"] == "session/end-seed"


def test_a_splice_that_does_not_fit_fails_the_load() -> None:
    bad = event("agent/inbox/spliced", 0, {"target": "next-turn", "start": 3, "inserted": []})
    with pytest.raises(SessionUnreadableError):
        asyncio.run(Engine().resume(Host(Memory([bad])), ResumeOptions("s")))


def test_two_agents_at_once_cannot_have_one_id() -> None:
    host = Host(Memory())

    async def setup(agent: Agent) -> None:
        await asyncio.sleep(0)

    async def both() -> list[Any]:
        made = (Engine().create_agent(host, CreateOptions("s", setup=setup)) for _ in range(2))
        return await asyncio.gather(*made, return_exceptions=True)

    first, second = asyncio.run(both())
    assert host.agents == {"s": first.agent}
    assert isinstance(second, SessionExistsError)
    assert host.pending == set()
