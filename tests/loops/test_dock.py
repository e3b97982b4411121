"""The dock as a whole: what it refuses, what it tells, what it leaves alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dshloop.errors import (
    DriverContractError,
    DuplicateDriverError,
    ExitCode,
    InvalidConfigError,
    LoopDockError,
    LoopSwitchError,
    MissingDriverError,
    SessionNotFoundError,
    SessionUnreadableError,
    UnknownLoopError,
)
from dshloop.host.engine import Host
from dshloop.loops.binding import EVENT, Binding, read_binding, read_log
from dshloop.loops.dock import Dock
from dshloop.loops.hosted import HostedDriver
from dshloop.sessions.events import new_header
from dshloop.sessions.session import MemoryLog
from tests.host.test_engine import Memory
from tests.loops.stand_ins import Maker, Persistence, Presets, Settings
from tests.loops.test_original_69 import (
    create,
    docked,
    engine_loop,
    recorded,
    resume,
    strategy,
)


def refused(kind: type[LoopDockError], dock: Dock, **options: Any) -> Any:
    call = resume if "resumeSessionId" in options else create
    with pytest.raises(kind) as caught:
        call(dock, **options)
    return caught.value


@pytest.mark.parametrize(
    ("config", "loop", "options", "origin"),
    [
        ({}, {}, {"driver": "ghost"}, "explicit"),
        ({"sessionLoops": {"s": {"loop": "standard", "driver": "ghost"}}}, {}, {}, "session route"),
        (
            {"presetLoops": {"p": {"loop": "standard", "driver": "ghost"}}},
            {},
            {"meta": {"agentPreset": "p"}},
            "preset route",
        ),
        ({}, {"driver": "ghost"}, {}, "strategy"),
        ({"defaultDriver": "ghost"}, {}, {}, "config"),
    ],
)
def test_a_missing_driver_says_who_named_it(
    config: Any, loop: Any, options: Any, origin: str
) -> None:
    dock, _ = docked(config, strategy("standard", **loop), drivers=("b", "a"))
    error = refused(MissingDriverError, dock, sessionId="s", **options)
    first, second = error.message.split("\n")
    assert first == 'strategy loop "standard" requires driver "ghost", which is not registered'
    assert "available: a, b" in second
    assert error.details["origin"] == origin
    assert error.details["available"] == ["a", "b"]
    assert error.exit_code == ExitCode.NOT_FOUND


def test_a_setting_that_names_no_driver_is_not_skipped() -> None:
    settings = Settings({"defaultDriver": "gone"})
    dock, _ = docked({}, strategy("standard"), drivers=("default",), settings=settings)
    assert refused(MissingDriverError, dock, sessionId="s").details["origin"] == "settings"


def test_settings_that_cannot_be_read_leave_the_config_in_charge() -> None:
    settings = Settings("throw")
    dock, makers = docked({}, strategy("standard"), drivers=("default",), settings=settings)
    create(dock, sessionId="s")
    assert makers["default"].options


def test_the_settings_are_read_anew_for_each_create() -> None:
    settings = Settings({"defaultDriver": "a"})
    dock, makers = docked({}, strategy("standard"), drivers=("a", "b"), settings=settings)
    create(dock, sessionId="s1")
    settings.values = {"defaultDriver": "b"}
    create(dock, sessionId="s2")
    assert [len(makers[name].options) for name in ("a", "b")] == [1, 1]


def test_an_empty_setting_is_told_once() -> None:
    told: list[str] = []
    dock, _ = docked(
        {},
        strategy("standard"),
        drivers=("default",),
        settings=Settings({"defaultDriver": ""}),
        on_warning=told.append,
    )
    create(dock, sessionId="s1")
    create(dock, sessionId="s2")
    assert told == [
        "dsh-loop-dock: the setting agent-loops.defaultDriver is empty and counts as unset"
    ]


def test_a_loop_switch_carries_who_stored_and_who_asked() -> None:
    sessions = Persistence(log={"events": [recorded("a", "x")]})
    loops = (strategy("a"), strategy("b"))
    dock, _ = docked({"sessionLoops": {"r": "b"}}, *loops, drivers=("x",), sessions=sessions)
    by_hand = refused(LoopSwitchError, dock, resumeSessionId="s", driver="y")
    assert by_hand.details == {
        "session": "s",
        "field": "driver",
        "stored": "x",
        "requested": "y",
        "requested_by": "explicit",
        "stored_by": "binding",
    }
    by_route = refused(LoopSwitchError, dock, resumeSessionId="r")
    assert by_route.details["requested_by"] == "route"
    assert "dshloop loop unroute r --session" in by_route.hint
    assert by_route.exit_code == ExitCode.REFUSED


def test_a_preset_mapping_that_conflicts_is_told_from_a_binding() -> None:
    sessions = Persistence(log={"meta": {"agentPreset": "p"}, "events": []})
    dock, _ = docked({"presetLoops": {"p": "a"}}, strategy("a"), drivers=("x",), sessions=sessions)
    error = refused(LoopSwitchError, dock, resumeSessionId="s", loop="b")
    assert error.details["stored_by"] == "preset mapping"


def test_an_unreadable_log_stops_a_resume() -> None:
    dock, makers = docked(
        {},
        strategy("standard"),
        drivers=("default",),
        sessions=Persistence(log={"throws": "bad line 7"}),
    )
    with pytest.raises(SessionUnreadableError, match="bad line 7") as caught:
        resume(dock, resumeSessionId="s")
    assert caught.value.details == {"session": "s", "cause": "bad line 7"}
    assert "Mend the log" in str(caught.value.hint)
    assert not makers["default"].options


def test_an_unreadable_log_can_be_bound_anew() -> None:
    dock, makers = docked(
        {},
        strategy("standard"),
        drivers=("default",),
        sessions=Persistence(log={"throws": "bad line 7"}),
    )
    asyncio.run(dock.resume("o", {"resumeSessionId": "s"}, force_rebind=True))
    assert makers["default"].options
    assert dock.warnings == [
        'dsh-loop-dock: could not inspect persisted loop selection for "s": bad line 7'
    ]


def test_an_unknown_session_is_the_hosts_own_error() -> None:
    class Nowhere:
        def inspect(self, session_id: str) -> Any:
            raise SessionNotFoundError(f"there is no session {session_id}")

        def list(self) -> Any:
            return []

    dock, _ = docked({}, strategy("standard"), drivers=("default",), sessions=Nowhere())
    with pytest.raises(SessionNotFoundError):
        resume(dock, resumeSessionId="s")


def test_a_driver_that_gives_no_handle_is_told_by_name() -> None:
    class Liar(Maker):
        async def create_agent(self, owner: Any, options: Any) -> Any:
            return {"agent": 1}

    dock, _ = docked({}, strategy("standard"))
    dock.register_driver("liar", Liar("liar", {}))
    error = refused(DriverContractError, dock, sessionId="s", driver="liar")
    assert error.details == {"loop": "standard", "driver": "liar"}


def test_a_recorded_driver_of_what_became_a_driver_loop_is_refused() -> None:
    sessions = Persistence(log={"events": [recorded("full", "x")]})
    dock, _ = docked({}, engine_loop("full", Maker("full", {})), sessions=sessions)
    assert refused(InvalidConfigError, dock, resumeSessionId="s").details["source"] == "binding"
    refused(InvalidConfigError, dock, resumeSessionId="s", loop="full")


def test_a_driver_loop_chosen_elsewhere_ignores_a_presets_driver() -> None:
    maker = Maker("full", {})
    dock, _ = docked(
        {"presetLoops": {"p": {"loop": "standard", "driver": "default"}}},
        strategy("standard"),
        engine_loop("full", maker),
        drivers=("default",),
    )
    create(dock, sessionId="s", loop="full", meta={"agentPreset": "p"})
    assert read_binding(maker.agents[0].session.events) == Binding("full")
    assert "driver" not in maker.options[0]


def test_a_driver_route_of_the_same_preset_is_refused() -> None:
    config = {"presetLoops": {"p": {"loop": "full", "driver": "default"}}}
    dock, _ = docked(config, engine_loop("full", Maker("full", {})), drivers=("default",))
    refused(InvalidConfigError, dock, sessionId="s", meta={"agentPreset": "p"})


def test_the_binding_keeps_the_preset_that_is_composed_now() -> None:
    presets = Presets("composed")
    dock, makers = docked({}, strategy("standard"), drivers=("default",), presets=presets)
    create(dock, sessionId="s", meta={"agentPreset": "header"})
    [event] = makers["default"].agents[0].appended
    assert event["data"]["agentPreset"] == "composed"


def test_a_driver_may_go_while_agents_live() -> None:
    dock, _ = docked({}, strategy("standard"))
    gone = dock.register_driver(Maker("first", {}))
    create(dock, sessionId="s1")
    gone()
    refused(MissingDriverError, dock, sessionId="s2")
    second = Maker("second", {})
    dock.register_driver(second)
    gone()
    create(dock, sessionId="s3")
    assert len(second.options) == 1
    assert dock.driver_registered


def test_a_loop_registered_anew_is_the_one_that_runs() -> None:
    ran: list[str] = []
    dock, _ = docked({}, strategy("a", ran), drivers=("default",))
    create(dock, sessionId="s1", loop="a")
    assert dock.unregister("a")
    dock.register({**strategy("a"), "setup": lambda _agent: ran.append("second")})
    create(dock, sessionId="s2", loop="a")
    assert ran == ["a", "second"]
    assert not dock.unregister("ghost")


def test_the_default_name_is_in_the_message_of_a_second_driver() -> None:
    dock, _ = docked({}, drivers=("default",))
    with pytest.raises(DuplicateDriverError, match='driver "default" is already registered'):
        dock.register_driver(Maker("again", {}))


def test_fifty_creates_at_once_on_two_drivers() -> None:
    dock, makers = docked({}, strategy("standard"), drivers=("a", "b"))

    async def run() -> None:
        names = ["a", "b"] * 25
        await asyncio.gather(
            *(
                dock.create_agent("o", {"sessionId": f"s{number}", "driver": name})
                for number, name in enumerate(names)
            )
        )

    asyncio.run(run())
    assert [len(makers[name].options) for name in ("a", "b")] == [25, 25]


def test_a_setup_that_fails_leaves_nothing_on_our_own_engine() -> None:
    from dshloop.host.engine import Engine

    def broken(_agent: Any) -> None:
        raise OSError("no")

    dock, _ = docked({}, strategy("standard"))
    dock.register_driver(HostedDriver(Engine()))
    host = Host(Memory())

    async def run() -> None:
        with pytest.raises(OSError, match="no"):
            await dock.create_agent(host, {"sessionId": "s", "setup": broken})
        assert host.agents == {}
        await dock.create_agent(host, {"sessionId": "s"})

    asyncio.run(run())
    assert list(host.agents) == ["s"]


def test_an_unknown_loop_lists_what_there_is() -> None:
    dock, _ = docked({}, strategy("z"), strategy("a"), drivers=("default",))
    error = refused(UnknownLoopError, dock, sessionId="s", loop="q")
    assert error.details == {"loop": "q", "available": ["z", "a"]}


def test_a_log_is_read_from_a_list_an_iterator_or_an_object() -> None:
    events = [recorded("a", "x", "p"), {"type": EVENT, "data": {"agentPreset": "q"}}]
    log = MemoryLog(new_header("s", created_at=0, cwd="/w", agent_preset="h"), events, lambda: 1.0)
    for given in ({"events": events}, {"events": iter(events)}, {"events": log}, log):
        found = read_log(given)
        assert (found.binding, found.preset) == (Binding("a", "x"), "q")
    assert read_log(log).cwd == "/w"
    assert read_log(None).binding is None
