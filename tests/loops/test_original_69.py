"""The original's own tests, under the same given and expect (loop-dock 20; numbers as there).

Those of its plugin rows stand in tests/plugins and test_engine_row.py, 49 in test_live.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from dshloop.drivers.fake import FAKE_REPLY, FakeDriver
from dshloop.errors import (
    DuplicateLoopError,
    InvalidConfigError,
    InvalidDriverError,
    InvalidLoopDefinitionError,
    InvalidLoopIdError,
    LoopSwitchError,
    MissingDriverError,
    UnknownDriverError,
    UnknownLoopError,
)
from dshloop.host.engine import CreateOptions, Engine, Host
from dshloop.llm.messages import user_message
from dshloop.loops.binding import EVENT, Binding, binding_data, read_binding
from dshloop.loops.config import read_dock_config
from dshloop.loops.dock import Dock
from dshloop.loops.hosted import HostedDriver
from dshloop.loops.recording import record_binding
from dshloop.loops.registry import LoopRegistry
from dshloop.loops.selection import select_create, select_resume
from dshloop.loops.settings_default import NAMESPACE, REMOTE, chosen_driver, declare, remote
from dshloop.loops.setups import compose_setups
from dshloop.loops.standard import standard_loop
from dshloop.loops.wrapping import adapt_engine, wrap_strategy
from tests.host.scripted import Scripted, data_of, finish, text
from tests.host.test_engine import Memory
from tests.loops.stand_ins import (
    AgentService,
    Handle,
    Hooks,
    Maker,
    Persistence,
    Presets,
    Settings,
    StubAgent,
)

FULL_ENTRY = {
    "id": "coder",
    "sessionId": "coder-session",
    "loop": "loop-b",
    "driver": "loop2",
    "provider": "provider-b",
    "model": "model-b",
    "maxTokens": 8192,
    "reasoningEffort": "max",
    "cwd": "/w",
}


def strategy(loop_id: str, log: list[str] | None = None, **fields: Any) -> dict[str, Any]:
    async def setup(agent: Any) -> None:
        if log is not None:
            log.append(loop_id)

    return {"id": loop_id, "kind": "strategy", "setup": setup, **fields}


def engine_loop(loop_id: str, maker: Maker) -> dict[str, Any]:
    made = {"create_agent": maker.create_agent, "resume": maker.resume}
    return {"id": loop_id, "kind": "driver", **made}


def docked(config: Any = None, *loops: Any, drivers: tuple[str, ...] = (), **services: Any) -> Any:
    """Build a dock with loops and recording drivers; gives it and the drivers by name."""
    dock = Dock(config or {}, **services)
    for loop in loops:
        dock.register(loop)
    makers = {name: Maker(f"driver:{name}", {}) for name in drivers}
    for name, maker in makers.items():
        dock.register_driver(name, maker)
    return dock, makers


def create(dock: Dock, **options: Any) -> Any:
    return asyncio.run(dock.create_agent("owner", options))


def resume(dock: Dock, **options: Any) -> Any:
    return asyncio.run(dock.resume("owner", options))


def recorded(loop: str, driver: str | None = None, preset: str | None = None) -> dict[str, Any]:
    return {"type": EVENT, "data": binding_data(Binding(loop, driver), preset)}


# --- config --------------------------------------------------------------------------------------


def test_a_config_gets_its_defaults_and_routes_become_objects() -> None:
    """Original 1."""
    config = read_dock_config(
        {
            "defaultDriver": "loop2",
            "presetLoops": {"standard": "standard"},
            "sessionLoops": {"s": {"loop": "a", "driver": "d"}},
            "agents": [{"id": "x"}],
            "pingReply": "pong",
        }
    )
    assert config.as_json() == {
        "defaultLoop": "standard",
        "defaultDriver": "loop2",
        "presetLoops": {"standard": {"loop": "standard"}},
        "sessionLoops": {"s": {"loop": "a", "driver": "d"}},
        "pingReply": "pong",
        "agents": [{"id": "x"}],
    }


def test_an_agent_entry_keeps_all_nine_fields() -> None:
    """Original 2."""
    assert read_dock_config({"agents": [FULL_ENTRY]}).as_json()["agents"] == [FULL_ENTRY]


@pytest.mark.parametrize(
    "config",
    [
        None,
        {"defaultLoop": ""},
        {"presetLoops": {"a": "NOT OK"}},
        {"agents": "text"},
        {"agents": [{}]},
        {"agents": [{"id": "x", "sessionId": "s", "resumeSessionId": "r"}]},
        {"agents": [{"id": "x", "maxTokens": 0}]},
        {"agents": [{"id": "x", "sessionId": "s"}, {"id": "y", "resumeSessionId": "s"}]},
    ],
)
def test_malformed_config_is_refused(config: Any) -> None:
    """Original 3."""
    with pytest.raises(InvalidConfigError):
        read_dock_config(config)


# --- default driver ------------------------------------------------------------------------------


class FakeEngine:
    def __init__(self, context: Any, config: Mapping[str, Any]) -> None:
        self.context, self.config = context, config
        self.calls: list[Any] = []
        self.disposed = 0

    async def create_agent(self, owner: Any, options: Any) -> Handle:
        self.calls.append(("create", owner, options))
        return Handle("agent")

    async def resume(self, owner: Any, options: Any) -> Handle:
        self.calls.append(("resume", owner, options))
        return Handle("agent")

    async def dispose(self) -> None:
        self.disposed += 1


def test_an_adapted_engine_makes_no_agents_of_its_own() -> None:
    """Original 4."""
    adapter = adapt_engine(FakeEngine, "ctx", {"agents": [{"id": "x"}], "maxParallelToolCalls": 7})
    engine: Any = adapter.engine
    assert engine.config == {"agents": [], "maxParallelToolCalls": 7}
    asyncio.run(adapter.create_agent("owner", {"sessionId": "s"}))
    assert engine.calls == [("create", "owner", {"sessionId": "s"})]
    asyncio.run(adapter.dispose())
    assert engine.disposed == 1


def test_an_adapter_without_an_engine_is_refused() -> None:
    """Original 5."""
    with pytest.raises(InvalidDriverError, match="requires a HeadlessAgentLoop class"):
        adapt_engine(None, "ctx", {})


# --- settings and Remote -------------------------------------------------------------------------


def test_the_namespace_of_the_settings_is_declared() -> None:
    """Original 6."""
    declared: list[Any] = []

    class Namespaces:
        def register(self, *what: Any) -> None:
            declared.append(what)

    declare(Namespaces(), read_dock_config({"defaultDriver": "loop2"}))
    [(namespace, schema, base)] = declared
    assert (namespace, base) == (NAMESPACE, {"defaultDriver": "loop2"}) == ("agent-loops", base)
    assert schema["properties"] == {"defaultDriver": {"type": "string"}}
    assert chosen_driver(Settings({"defaultDriver": "fake-driver"}), print) == "fake-driver"


def test_the_remote_lists_and_sets_the_default_driver() -> None:
    """Original 7."""
    settings = Settings(None)
    dock, _ = docked({}, drivers=("loop2", "default"), settings=settings)
    methods = remote(dock)
    assert REMOTE == "agentLoops"
    assert sorted(methods) == ["listDrivers", "setDefaultDriver"]

    async def calls() -> None:
        listing = {"drivers": ["default", "loop2"], "current": "default"}
        assert await methods["listDrivers"]() == listing
        assert await methods["setDefaultDriver"](driver="loop2") == {"ok": True}
        with pytest.raises(UnknownDriverError):
            await methods["setDefaultDriver"](driver="ghost")
        with pytest.raises(InvalidDriverError):
            await methods["setDefaultDriver"](driver="Bad Name")
        assert await methods["listDrivers"]() == {**listing, "current": "loop2"}

    asyncio.run(calls())
    assert settings.writes == [["agent-loops", {"defaultDriver": "loop2"}]]


# --- fake driver ---------------------------------------------------------------------------------


class Adapters(dict[str, Any]):
    """Counts how often an adapter is put in."""

    registrations = 0

    def __setitem__(self, key: str, value: Any) -> None:
        self.registrations += 1
        super().__setitem__(key, value)

    def setdefault(self, key: str, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]


def test_the_fake_driver_registers_its_adapter_once_a_context() -> None:
    """Original 8."""
    driver, hosts = FakeDriver(), [Host(Memory(), adapters=Adapters()) for _ in range(2)]

    async def calls() -> None:
        for host, session in ((hosts[0], "a"), (hosts[0], "b"), (hosts[1], "a")):
            await driver.create_agent(host, CreateOptions(session))

    asyncio.run(calls())
    assert [host.adapters.registrations for host in hosts] == [1, 1]  # type: ignore[attr-defined]


def test_the_fake_driver_beats_a_pin_and_the_callers_model() -> None:
    """Original 9."""
    agent = talk(
        Dock({"presetLoops": {"p": "pinned"}}),
        strategy("pinned", provider="real", model="pinned"),
        sessionId="s",
        driver="fake-driver",
        meta={"agentPreset": "p"},
        agentOptions={"provider": "real", "model": "chosen"},
    )
    assert data_of(agent, "request/header")[0]["header"]["config"] == {
        "provider": "driver-ping",
        "model": "fake",
    }


def talk(dock: Dock, strategy_loop: Any, **options: Any) -> Any:
    """Say one thing to an agent on the fake driver of our own host."""

    async def run() -> Any:
        dock.register(strategy_loop)
        dock.register_driver("fake-driver", HostedDriver(FakeDriver()))
        handle = await dock.create_agent(Host(Memory()), options)
        handle.agent.followup(user_message("hello"))
        await handle.agent.when_idle()
        return handle.agent

    return asyncio.run(run())


# --- hub -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"sessionId": ""}])
def test_a_create_needs_a_session_id(options: dict[str, Any]) -> None:
    """Original 12."""
    dock, _ = docked({}, strategy("standard"), drivers=("default",))
    with pytest.raises(InvalidConfigError):
        create(dock, **options)


@pytest.mark.parametrize("options", [{}, {"resumeSessionId": ""}])
def test_a_resume_needs_a_session_id(options: dict[str, Any]) -> None:
    """Original 12."""
    dock, _ = docked({}, strategy("standard"), drivers=("default",))
    with pytest.raises(InvalidConfigError):
        resume(dock, **options)


def test_a_driver_needs_a_proper_name() -> None:
    """Original 13."""
    with pytest.raises(InvalidDriverError):
        Dock().register_driver("Bad Name", Maker("d", {}))


def test_a_driver_loop_takes_no_driver() -> None:
    """Original 14."""
    dock, _ = docked({}, engine_loop("full", Maker("full", {})), drivers=("default",))
    with pytest.raises(InvalidConfigError):
        create(dock, sessionId="s", loop="full", driver="default")


def test_the_handle_of_a_driver_loop_is_handed_through() -> None:
    """Original 15."""
    handle = Handle("agent")

    async def make(owner: Any, options: Any) -> Handle:
        return handle

    loop = {"id": "full", "kind": "driver", "create_agent": make, "resume": make}
    dock, _ = docked({}, loop)
    assert create(dock, sessionId="s", loop="full") is handle
    with pytest.raises(UnknownLoopError):
        create(dock, sessionId="s", loop="ghost")


def test_a_driver_loop_is_told_its_name_and_runs_the_setup() -> None:
    """Original 16."""
    maker, ran = Maker("full", {}), []
    dock, _ = docked({}, engine_loop("full", maker))
    create(dock, sessionId="s", loop="full", setup=ran.append)
    assert maker.options[0]["loop"] == "full"
    assert ran == maker.agents


def test_a_pin_replaces_the_callers_route_and_drops_the_effort() -> None:
    """Original 17."""
    pinned = strategy("pinned", provider="loop-ping", model="ping")
    dock, makers = docked({}, pinned, drivers=("default",))
    asked = {"provider": "p", "model": "m", "reasoningEffort": "max", "maxTokens": 5}
    create(dock, sessionId="s", loop="pinned", agentOptions=asked)
    assert makers["default"].options[0]["agentOptions"] == {
        "provider": "loop-ping",
        "model": "ping",
        "maxTokens": 5,
        "loop": "pinned",
        "driver": "default",
    }


def test_strategies_run_on_the_drivers_they_declare() -> None:
    """Original 18."""
    owns = {"a": "loop1", "b": "loop2", "c": "loop1", "d": "loop2"}
    loops = [strategy(loop, driver=driver) for loop, driver in owns.items()]
    dock, makers = docked({}, *loops, drivers=("loop2", "loop1"))
    for loop in owns:
        create(dock, sessionId=f"s-{loop}", loop=loop)
    used = {o["loop"]: name for name, maker in makers.items() for o in maker.options}
    assert used == owns
    assert dock.drivers.names == ["loop1", "loop2"]


def test_one_strategy_runs_on_whichever_driver_is_asked_for() -> None:
    """Original 19."""
    dock, makers = docked({}, strategy("a"), drivers=("loop1", "loop2"))
    for driver in ("loop1", "loop2"):
        create(dock, sessionId=f"s-{driver}", loop="a", driver=driver)
    assert [makers[name].options[0]["driver"] for name in makers] == ["loop1", "loop2"]


@pytest.mark.parametrize("there", [(), ("loop1",)])
def test_a_strategy_bound_to_a_driver_needs_that_one(there: tuple[str, ...]) -> None:
    """Original 20."""
    dock, _ = docked({}, strategy("a", driver="loop2"), drivers=there)
    with pytest.raises(MissingDriverError):
        create(dock, sessionId="s", loop="a")


def test_a_strategy_without_a_driver_waits_for_the_default_one() -> None:
    """Original 21."""
    ran: list[str] = []
    dock, _ = docked({}, strategy("standard", ran))
    with pytest.raises(MissingDriverError):
        create(dock, sessionId="s")
    dock.register_driver(Maker("default", {}))
    create(dock, sessionId="s")
    assert ran == ["standard"]


def test_the_callers_setup_runs_before_the_strategys() -> None:
    """Original 22."""
    ran: list[str] = []
    dock, _ = docked({}, strategy("standard", ran), drivers=("default",))
    create(dock, sessionId="s", setup=lambda _agent: ran.append("caller"))
    assert ran == ["caller", "standard"]


def test_the_binding_rides_on_a_known_event() -> None:
    """Original 23."""
    dock, makers = docked({}, strategy("standard"), drivers=("loop1",))
    create(dock, sessionId="s", loop="standard", driver="loop1")
    [event] = makers["loop1"].agents[0].appended
    assert event["type"] == "agent-preset/selected"
    assert event["data"]["agentLoopDock"] == {"loop": "standard", "driver": "loop1"}


def test_a_recorded_driver_beats_the_default() -> None:
    """Original 24."""
    dock, makers = docked(
        {},
        strategy("standard"),
        drivers=("default", "loop2"),
        settings=Settings({"defaultDriver": "default"}),
        sessions=Persistence(log={"events": [recorded("standard", "loop2")]}),
    )
    resume(dock, resumeSessionId="s")
    assert makers["loop2"].options
    assert not makers["default"].options


def test_a_session_without_a_preset_resumes_where_it_was_made() -> None:
    """Original 25."""
    logs: dict[str, Any] = {}
    dock, makers = docked(
        {},
        strategy("standard"),
        strategy("custom"),
        drivers=("default", "loop1"),
        settings=Settings({"defaultDriver": "default"}),
        sessions=Persistence(logs),
    )
    create(dock, sessionId="s", loop="custom", driver="loop1")
    dock.sessions.logs["s"] = {"events": makers["loop1"].agents[0].session.events}
    resume(dock, resumeSessionId="s")
    again = makers["loop1"].options[1]
    assert (again["loop"], again["driver"]) == ("custom", "loop1")


def test_a_session_bound_to_a_driver_loop_resumes_there() -> None:
    """Original 26."""
    maker = Maker("full", {})
    sessions = Persistence(log={"events": [recorded("full")]})
    dock, _ = docked({}, strategy("standard"), engine_loop("full", maker), sessions=sessions)
    resume(dock, resumeSessionId="s")
    assert maker.options[0]["loop"] == "full"


def test_the_model_route_follows_the_preset_of_each_request() -> None:
    """Original 27."""
    presets, hooks = Presets("standard"), Hooks()
    dock, _ = docked(
        {"presetLoops": {"standard": "standard", "fake": "pinned"}},
        strategy("standard"),
        strategy("pinned", provider="loop-ping", model="ping"),
        drivers=("default",),
        presets=presets,
        hooks=hooks,
    )
    create(dock, sessionId="s", agentOptions={"provider": "cp", "model": "cm"})
    chosen = {"provider": "p", "model": "m", "reasoningEffort": "max"}
    seen = []
    for preset, inner in (
        ("standard", chosen),
        ("fake", chosen),
        ("standard", chosen),
        ("standard", {"provider": "loop-ping", "model": "ping"}),
    ):
        presets.preset = preset
        seen.append(asyncio.run(hooks.request("agent", inner)))
    assert seen[0] == seen[2] == chosen
    assert seen[1] == {"provider": "loop-ping", "model": "ping"}
    assert seen[3] == {"provider": "cp", "model": "cm"}


def test_a_create_runs_on_the_driver_of_the_settings() -> None:
    """Original 28."""
    dock, makers = docked(
        {},
        strategy("standard"),
        drivers=("default", "loop2"),
        settings=Settings({"defaultDriver": "loop2"}),
    )
    create(dock, sessionId="s")
    assert makers["loop2"].options


def test_the_newest_preset_event_names_the_loop() -> None:
    """Original 29."""
    events = [{"type": EVENT, "data": {"agentPreset": name}} for name in ("old", "new")]
    dock, makers = docked(
        {"presetLoops": {"new": "mapped"}},
        strategy("standard"),
        strategy("mapped"),
        drivers=("default",),
        sessions=Persistence(log={"meta": {"agentPreset": "old"}, "events": events}),
    )
    resume(dock, resumeSessionId="s")
    assert makers["default"].options[0]["loop"] == "mapped"


def test_a_bound_session_refuses_another_loop() -> None:
    """Original 30."""
    dock, makers = docked(
        {},
        strategy("persisted-loop"),
        strategy("other-loop"),
        drivers=("default",),
        sessions=Persistence(log={"events": [recorded("persisted-loop")]}),
    )
    with pytest.raises(LoopSwitchError):
        resume(dock, resumeSessionId="s", loop="other-loop")
    assert not makers["default"].options


def test_an_agent_with_both_session_ids_stops_the_dock() -> None:
    """Original 31."""
    with pytest.raises(InvalidConfigError):
        Dock({"agents": [{"id": "x", "sessionId": "s", "resumeSessionId": "r"}]})


def started(dock: Dock, service: AgentService) -> list[Any]:
    asyncio.run(dock.agents.settle())
    return service.calls


def test_a_configured_agent_is_created_under_its_session_id() -> None:
    """Original 32."""
    service = AgentService()
    entry = {"id": "x", "sessionId": "s", "loop": "a"}
    dock, _ = docked({"agents": [entry]}, strategy("a"), drivers=("default",), agents=service)
    assert started(dock, service) == [
        ["create", {"sessionId": "s", "agentOptions": {}, "loop": "a"}]
    ]


def test_a_configured_agent_on_a_driver_loop_needs_no_driver() -> None:
    """Original 33."""
    service = AgentService()
    loop = engine_loop("full", Maker("full", {}))
    dock, _ = docked({"agents": [{"id": "x", "loop": "full"}]}, loop, agents=service)
    assert [verb for verb, _ in started(dock, service)] == ["create"]


def test_a_configured_agent_whose_session_is_stored_resumes() -> None:
    """Original 34."""
    service, sessions = AgentService(), Persistence({"s": {"events": []}})
    dock, _ = docked(
        {"agents": [{"id": "x", "sessionId": "s"}]},
        strategy("standard"),
        drivers=("default",),
        agents=service,
        sessions=sessions,
    )
    assert started(dock, service) == [["resume", {"resumeSessionId": "s", "agentOptions": {}}]]


def test_a_configured_agent_waits_for_its_driver() -> None:
    """Original 35."""
    service = AgentService()
    dock, _ = docked({"agents": [{"id": "x", "loop": "a"}]}, strategy("a"), agents=service)
    assert started(dock, service) == []
    dock.register_driver(Maker("default", {}))
    assert [verb for verb, _ in started(dock, service)] == ["create"]


def test_a_configured_agent_waits_for_the_driver_of_the_settings() -> None:
    """Original 36."""
    service = AgentService()
    dock, _ = docked(
        {"agents": [{"id": "x"}]},
        strategy("standard"),
        drivers=("default",),
        agents=service,
        settings=Settings({"defaultDriver": "loop2"}),
    )
    assert started(dock, service) == []
    dock.register_driver("loop2", Maker("loop2", {}))
    assert len(started(dock, service)) == 1


# --- plugin entry --------------------------------------------------------------------------------


def test_the_standard_loop_mounts_the_standard_preset() -> None:
    """Original 40."""
    presets = Presets()
    dock, _ = docked({}, standard_loop(presets), drivers=("default",), presets=presets)
    create(dock, sessionId="s")
    assert presets.mounted == ["standard"]


def test_a_preset_that_the_caller_mounts_is_the_only_one() -> None:
    """Original 41."""
    presets = Presets()
    dock, _ = docked({}, standard_loop(presets), drivers=("default",), presets=presets)
    create(dock, sessionId="s", setup=lambda agent: presets.mount(agent, "minimal"))
    assert presets.mounted == ["minimal"]


def test_the_standard_loop_mounts_once_however_often_it_is_set_up() -> None:
    """Original 42."""
    presets = Presets()
    setup: Any = standard_loop(presets).setup
    for _ in range(2):
        asyncio.run(setup(StubAgent([], None)))
    assert presets.mounted == ["standard"]


# --- integration with the engine -----------------------------------------------------------------


def on_engine(dock: Dock, adapter: Scripted, **options: Any) -> Any:
    """Create an agent on our own engine, say one thing and wait."""

    async def run() -> Any:
        host = Host(Memory(), adapters={adapter.provider: adapter})
        handle = await dock.create_agent(host, options)
        handle.agent.followup(user_message("hello"))
        await handle.agent.when_idle()
        return handle.agent

    return asyncio.run(run())


class Watched(HostedDriver):
    """The real engine; keeps the options it was given."""

    def __init__(self) -> None:
        super().__init__(Engine())
        self.options: list[Mapping[str, Any]] = []

    async def create_agent(self, owner: Any, options: Mapping[str, Any]) -> Any:
        self.options.append(options)
        return await super().create_agent(owner, options)


def engine_dock(*loops: Any, drivers: tuple[str, ...] = ("default",)) -> Any:
    dock, engines = Dock(), {name: Watched() for name in drivers}
    for loop in loops:
        dock.register(loop)
    for name, engine in engines.items():
        dock.register_driver(name, engine)
    return dock, engines


def test_two_strategies_share_one_process() -> None:
    """Original 43."""
    dock, engines = engine_dock(strategy("a"), strategy("b"))
    for loop in ("a", "b"):
        agent = on_engine(dock, Scripted([finish()]), sessionId=loop, loop=loop)
        assert read_binding(agent.session.events) == Binding(loop, "default")
        assert not [e for e in agent.session.events if e["type"].startswith("agent-loop")]
    seen = [(options["loop"], options["driver"]) for options in engines["default"].options]
    assert seen == [("a", "default"), ("b", "default")]


def test_strategies_bound_to_drivers_run_on_them() -> None:
    """Original 44."""
    loops = (strategy("a", driver="loop1"), strategy("b", driver="loop2"))
    dock, engines = engine_dock(*loops, drivers=("loop1", "loop2"))
    for loop in ("a", "b"):
        on_engine(dock, Scripted([finish()]), sessionId=loop, loop=loop)
    assert [engines[name].options[0]["driver"] for name in engines] == ["loop1", "loop2"]


def test_a_shared_strategy_runs_on_the_driver_asked_for() -> None:
    """Original 45."""
    dock, engines = engine_dock(strategy("a"), drivers=("loop1", "loop2"))
    for name in engines:
        on_engine(dock, Scripted([finish()]), sessionId=name, loop="a", driver=name)
    assert [engines[name].options[0]["driver"] for name in engines] == ["loop1", "loop2"]


def test_a_follow_up_makes_one_request_and_ends_idle() -> None:
    """Original 46; the session's id is the agent's."""
    dock, _ = engine_dock(strategy("standard"))
    adapter = Scripted([*text("hi"), finish()])
    route = {"provider": "p", "model": "m"}
    agent = on_engine(dock, adapter, sessionId="s", agentOptions=route)
    assert len(adapter.requests) == 1
    assert (agent.id, agent.status) == ("s", "idle")


def test_a_strategy_on_the_fake_driver_answers_with_its_reply() -> None:
    """Original 48."""
    agent = talk(
        Dock(),
        strategy("a"),
        sessionId="s",
        loop="a",
        driver="fake-driver",
        agentOptions={"provider": "real", "model": "chosen"},
    )
    [answer] = data_of(agent, "assistant/message")
    assert answer["message"]["content"] == [{"type": "text", "text": FAKE_REPLY}]
    assert answer["message"]["source"]["provider"] == "driver-ping"
    assert data_of(agent, "request/header")[0]["header"]["config"]["model"] == "fake"


# --- providers -----------------------------------------------------------------------------------


def noting(log: list[str], name: str) -> Callable[[Any], Awaitable[Any]]:
    async def setup(agent: Any) -> Any:
        log.append(name)
        return {"commit": lambda: log.append(f"commit {name}")}

    return setup


def test_commits_run_after_all_setups_in_their_order() -> None:
    """Original 50."""
    log: list[str] = []
    result: Any = asyncio.run(compose_setups(noting(log, "a"), noting(log, "b"))("agent"))
    result.commit()
    assert log == ["a", "b", "commit a", "commit b"]


def test_a_function_that_a_setup_gives_back_is_its_commit() -> None:
    """Original 51."""
    log: list[str] = []
    setup = compose_setups(lambda _agent: lambda: log.append("commit"))
    asyncio.run(setup("agent")).commit()
    assert log == ["commit"]


def test_a_wrapped_strategy_is_a_driver_loop() -> None:
    """Original 52."""
    log: list[str] = []

    class Noting(Maker):
        async def _make(self, verb: str, *args: Any) -> Handle:
            log.append(verb)
            return await super()._make(verb, *args)

    registry = LoopRegistry()
    registry.register(strategy("a", log))
    wrapped = wrap_strategy(registry.require("a"), Noting("d", {}))
    assert (wrapped.kind, wrapped.source_loop) == ("driver", "a")
    named = {"loop": "a", "agentOptions": {}}
    asyncio.run(wrapped.create_agent("o", {**named, "setup": lambda _agent: log.append("user")}))
    asyncio.run(wrapped.resume("o", named))
    assert log == ["create", "user", "a", "resume", "a"]


# --- registry ------------------------------------------------------------------------------------


def test_loops_come_and_go() -> None:
    """Original 53."""
    registry = LoopRegistry()
    disposers = [registry.register(strategy(name)) for name in ("b", "a")]
    assert len(registry) == 2
    assert [loop.summary() for loop in registry.in_order()] == [
        {"id": "a", "kind": "strategy"},
        {"id": "b", "kind": "strategy"},
    ]
    assert registry.require("b").id == "b"
    for dispose in (*disposers, *disposers):
        dispose()
    assert len(registry) == 0


def test_an_id_is_taken_whatever_the_kind() -> None:
    """Original 54."""
    registry = LoopRegistry()
    registry.register(strategy("a"))
    with pytest.raises(DuplicateLoopError):
        registry.register(engine_loop("a", Maker("a", {})))


@pytest.mark.parametrize(
    ("definition", "error"),
    [
        (strategy("Bad"), InvalidLoopIdError),
        ({"id": "a", "kind": "strategy"}, InvalidLoopDefinitionError),
        ({"id": "a", "kind": "driver", "createAgent": print}, InvalidLoopDefinitionError),
        (strategy("a", provider=""), InvalidLoopDefinitionError),
        (strategy("a", model=7), InvalidLoopDefinitionError),
    ],
)
def test_a_bad_definition_is_refused(definition: Any, error: type[Exception]) -> None:
    """Original 55."""
    with pytest.raises(error):
        LoopRegistry().register(definition)
    with pytest.raises(UnknownLoopError):
        LoopRegistry().require("nobody")


# --- selection -----------------------------------------------------------------------------------


def test_explicit_beats_route_beats_preset_beats_default() -> None:
    """Original 56."""
    routes = ({"s": "r"}, {"p": "q"}, "d")
    meta = {"meta": {"agentPreset": "p"}}
    found = [
        select_create({"sessionId": "s", "loop": "e", **meta}, *routes),
        select_create({"sessionId": "s", **meta}, *routes),
        select_create({"sessionId": "t", **meta}, *routes),
        select_create({"sessionId": "t"}, *routes),
    ]
    assert [(one.loop, one.source) for one in found] == [
        ("e", "explicit"),
        ("r", "route"),
        ("q", "preset"),
        ("d", "default"),
    ]


def test_a_recorded_loop_is_kept() -> None:
    """Original 57."""
    asked = {"resumeSessionId": "s"}
    found = select_resume(asked, {}, {}, "d", persisted="a")
    assert found.as_json() == {"loopId": "a", "source": "persisted"}
    with pytest.raises(LoopSwitchError):
        select_resume({**asked, "loop": "b"}, {}, {}, "d", persisted="a")


@pytest.mark.parametrize("loop", [{}, {"loop": "a"}])
def test_the_old_factory_option_counts_for_nothing(loop: dict[str, str]) -> None:
    """Original 58."""
    options = {"sessionId": "s", "factory": "legacy", **loop}
    assert select_create(options, {}, {}, "d").loop == loop.get("loop", "d")


def test_loop_and_driver_are_both_explicit() -> None:
    """Original 59."""
    found = select_create({"sessionId": "s", "loop": "a", "driver": "x"}, {}, {}, "d")
    assert found.as_json() == {
        "loopId": "a",
        "source": "explicit",
        "driver": "x",
        "driverSource": "explicit",
    }


def test_a_recorded_driver_refuses_another() -> None:
    """Original 60."""
    asked = {"resumeSessionId": "s", "driver": "loop2"}
    with pytest.raises(LoopSwitchError, match='bound to driver "loop1"'):
        select_resume(asked, {}, {}, "d", persisted={"loop": "a", "driver": "loop1"})


def test_a_recorded_pair_is_kept() -> None:
    """Original 61."""
    bound = {"loop": "a", "driver": "x"}
    found = select_resume({"resumeSessionId": "s"}, {}, {}, "d", persisted=bound)
    assert found.as_json() == {"loopId": "a", "source": "persisted", "driver": "x"}


def test_a_mapped_preset_counts_as_recorded() -> None:
    """Original 62."""
    found = select_resume({"resumeSessionId": "s"}, {}, {"p": "q"}, "d", header_preset="p")
    assert found.as_json() == {"loopId": "q", "source": "persisted"}


def test_what_is_recorded_keeps_the_preset() -> None:
    """Original 63."""
    data = binding_data(Binding("a", "x"), "p")
    assert data == {"agentPreset": "p", "agentLoopDock": {"loop": "a", "driver": "x"}}
    assert read_binding([{"type": EVENT, "data": data}]) == Binding("a", "x")


def test_a_binding_with_a_bad_id_is_none() -> None:
    """Original 64."""
    data = {"agentLoopDock": {"loop": "not a loop id"}}
    assert read_binding([{"type": EVENT, "data": data}]) is None


def test_recording_twice_appends_once() -> None:
    """Original 65."""
    agent = StubAgent([], "from-the-header")
    setup = record_binding(Binding("a", "x"))
    setup(agent)
    setup(agent)
    [event] = agent.appended
    assert event["data"]["agentPreset"] == "from-the-header"


# --- engine --------------------------------------------------------------------------------------


def test_the_engine_registers_nothing_by_itself() -> None:
    """Original 66."""
    host = Host(Memory())
    engine = Engine()
    assert (host.adapters, host.agents) == ({}, {})
    assert callable(engine.create_agent)
    assert callable(engine.resume)


def test_the_adapter_works_on_the_real_engine() -> None:
    """Original 68."""
    adapter = adapt_engine(lambda _context, _config: Engine(), None, {"maxParallelToolCalls": 3})

    async def run() -> None:
        host = Host(Memory())
        driver = HostedDriver(adapter)
        for call in (
            driver.create_agent(host, {"sessionId": "a"}),
            driver.resume(host, {"resumeSessionId": "b"}),
        ):
            handle = await call
            assert handle.agent.id in host.agents
            await handle.dispose()
        assert host.agents == {}
        await adapter.dispose()

    asyncio.run(run())
