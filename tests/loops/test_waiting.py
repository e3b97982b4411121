"""Configured agents: what they wait for, what starts them, what is said of those that don't."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dshloop.errors import AgentWaitingError, SessionNotFoundError
from dshloop.loops.dock import Dock
from tests.loops.stand_ins import AgentService, Maker, Persistence, Settings
from tests.loops.test_original_69 import recorded, strategy


def waiting(*entries: dict[str, Any], config: Any = None, **services: Any) -> tuple[Dock, Any]:
    service = AgentService()
    agents = {"agents": list(entries), **(config or {})}
    return Dock(agents, agents=service, clock=lambda: 100.0, **services), service


def settle(dock: Dock) -> None:
    asyncio.run(dock.agents.settle())


def test_an_agent_says_which_loop_it_waits_for_since_when_and_what_mends_it() -> None:
    dock, _ = waiting({"id": "x", "loop": "ghost"})
    settle(dock)
    [status] = [agent.as_json() for agent in dock.agents.status]
    assert status == {
        "id": "x",
        "state": "waiting",
        "since": 100.0,
        "waits_for": {
            "kind": "loop",
            "name": "ghost",
            "origin": "explicit",
            "message": 'loop "ghost" is not registered (available: none)',
            "available": [],
            "command": "dshloop loop register ghost MODULE:OBJECT",
        },
        "error": None,
    }


def test_readiness_is_the_real_selection_with_session_routes() -> None:
    routes = {"sessionLoops": {"s": {"loop": "standard", "driver": "loop2"}}}
    dock, service = waiting({"id": "x", "sessionId": "s"}, config=routes)
    dock.register(strategy("standard"))
    dock.register_driver(Maker("default", {}))
    settle(dock)
    assert service.calls == []
    missing = dock.agents.waiting[0].missing
    assert missing is not None
    assert (missing.kind, missing.name, missing.origin) == ("driver", "loop2", "session route")
    dock.register_driver("loop2", Maker("loop2", {}))
    settle(dock)
    assert len(service.calls) == 1


def test_readiness_of_a_resume_is_what_the_log_records() -> None:
    sessions = Persistence(log={"events": [recorded("standard", "loop2")]})
    dock, service = waiting({"id": "x", "resumeSessionId": "s"}, sessions=sessions)
    dock.register(strategy("standard"))
    dock.register_driver(Maker("default", {}))
    settle(dock)
    assert service.calls == []
    dock.register_driver("loop2", Maker("loop2", {}))
    settle(dock)
    assert [verb for verb, _ in service.calls] == ["resume"]


def test_a_change_of_the_settings_starts_what_waited() -> None:
    settings = Settings({"defaultDriver": "gone"})
    dock, service = waiting({"id": "x"}, settings=settings)
    dock.register(strategy("standard"))
    dock.register_driver(Maker("default", {}))

    async def run() -> None:
        await dock.agents.settle()
        missing = dock.agents.waiting[0].missing
        assert missing is not None
        assert missing.command() == "dshloop driver use default"
        settings.values = {"defaultDriver": "default"}
        dock.settings_changed()
        await dock.agents.settle()

    asyncio.run(run())
    assert len(service.calls) == 1


def test_registering_in_a_running_loop_starts_in_the_background() -> None:
    dock, service = waiting({"id": "x"})

    async def run() -> None:
        dock.register(strategy("standard"))
        dock.register_driver(Maker("default", {}))
        for _ in range(5):
            await asyncio.sleep(0)

    asyncio.run(run())
    assert len(service.calls) == 1


def test_waiting_can_have_an_end() -> None:
    dock, _ = waiting({"id": "x", "loop": "ghost"}, {"id": "y", "loop": "other"})
    with pytest.raises(AgentWaitingError) as caught:
        asyncio.run(dock.agents.require_started(0.02))
    assert 'loop "ghost" is not registered' in caught.value.message
    assert [agent["id"] for agent in caught.value.details["agents"]] == ["x", "y"]


def test_what_started_is_no_longer_waited_for() -> None:
    dock, _ = waiting({"id": "x"})
    dock.register(strategy("standard"))
    dock.register_driver(Maker("default", {}))
    asyncio.run(dock.agents.require_started(1.0))
    [status] = dock.agents.status
    assert status.state == "started"
    assert status.handle is not None


def test_one_that_fails_is_told_and_the_others_go_on() -> None:
    service = AgentService("nope")
    dock = Dock({"agents": [{"id": "x"}, {"id": "y"}]}, agents=service)
    dock.register(strategy("standard"))
    dock.register_driver(Maker("default", {}))
    settle(dock)
    assert [(agent.state, agent.error) for agent in dock.agents.status] == [("failed", "nope")] * 2
    assert len(dock.warnings) == 2


def test_without_an_agents_service_the_entries_are_dropped() -> None:
    dock = Dock({"agents": [{"id": "x"}]})
    dock.register(strategy("standard"))
    dock.register_driver(Maker("default", {}))
    settle(dock)
    assert dock.agents.status[0].state == "dropped"
    assert dock.warnings == []


@pytest.mark.parametrize(("cwd", "told"), [("/w", 0), ("/elsewhere", 1)])
def test_another_cwd_than_the_sessions_is_told(cwd: str, told: int) -> None:
    sessions = Persistence(log={"meta": {"cwd": "/w"}, "events": []})
    dock, service = waiting({"id": "x", "resumeSessionId": "s", "cwd": cwd}, sessions=sessions)
    dock.register(strategy("standard"))
    dock.register_driver(Maker("default", {}))
    settle(dock)
    assert len(dock.warnings) == told
    assert "cwd" not in str(service.calls)


def test_an_unreadable_log_fails_the_start_not_the_looking() -> None:
    class Refusing(AgentService):
        async def resume(self, options: Any) -> Any:
            return await dock.resume("o", options)

    dock = Dock(
        {"agents": [{"id": "x", "resumeSessionId": "s"}]},
        agents=Refusing(),
        sessions=Persistence(log={"throws": "disk"}),
    )
    dock.register(strategy("standard"))
    dock.register_driver(Maker("default", {}))
    settle(dock)
    assert dock.agents.status[0].state == "failed"
    assert "disk" in dock.warnings[0]


def test_a_session_that_is_not_there_fails_the_start_only() -> None:
    class Empty(Persistence):
        async def inspect(self, session_id: str) -> Any:
            raise SessionNotFoundError(f"there is no session {session_id}")

    class Resuming(AgentService):
        async def resume(self, options: Any) -> Any:
            return await dock.resume("o", options)

    entries = [{"id": "x", "resumeSessionId": "gone"}, {"id": "y"}]
    dock = Dock({"agents": entries}, agents=Resuming(), sessions=Empty())
    dock.register(strategy("standard"))
    dock.register_driver(Maker("default", {}))
    settle(dock)
    assert [agent.state for agent in dock.agents.status] == ["failed", "started"]
    assert dock.warnings == [
        'dsh-loop-dock: configured agent "x" failed to start: there is no session gone'
    ]


def test_a_dock_that_stops_starts_nothing_more() -> None:
    dock, service = waiting({"id": "x"})

    async def run() -> None:
        await dock.agents.stop()
        dock.register(strategy("standard"))
        dock.register_driver(Maker("default", {}))
        await dock.agents.settle()

    asyncio.run(run())
    assert service.calls == []
    assert dock.agents.status[0].state == "dropped"
