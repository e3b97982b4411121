"""What listeners hear of an agent's life, and what they may change (dsh-sessions 9 and 10)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from dshloop.errors import AgentSetupAbortedError, EngineInactiveError
from dshloop.host.abort import AbortSignal
from dshloop.host.agent import Agent, AgentOptions
from dshloop.host.engine import CreateOptions, Engine, Host, ResumeOptions
from dshloop.host.retry import RetryPolicy, retry_listener
from dshloop.llm.messages import user_message
from tests.host.scripted import Scripted, agent_on, data_of, finish, kinds, text
from tests.host.test_engine import Memory
from tests.transcripts.logs import turn

Next = Callable[[], Awaitable[Any]]
SAYS = [*text("a"), finish()]
ROUTE = AgentOptions(provider="p", model="m", system=None)
NAMES = (
    "agent/created", "agent/disposed", "agent/session-start", "agent/status",
    "agent/inbox/inserted", "agent/inbox/claimed", "agent/inbox/discarded", "agent/error",
    "session/created", "session/disposed",
)  # fmt: skip


def talk(agent: Agent, *prompts: str) -> Agent:
    async def run() -> None:
        for prompt in prompts:
            agent.followup(user_message(prompt))
            await agent.when_idle()

    asyncio.run(run())
    return agent


def end(agent: Agent) -> Any:
    return data_of(agent, "turn/end")[-1]["reason"]


def heard(host: Host) -> list[str]:
    """Have the names of all announcements kept, with the status or source."""
    log: list[str] = []

    def note(name: str) -> Callable[[Any], None]:
        def listener(about: Any) -> None:
            more = about.get("status") or about.get("source") if isinstance(about, dict) else None
            log.append(f"{name} {more}" if more else name)

        return listener

    for name in NAMES:
        host.hooks.on(name, note(name))
    return log


# --- a life ---------------------------------------------------------------------------------------


def test_a_life_is_announced_in_order() -> None:
    host = Host(Memory(), adapters={"p": Scripted(SAYS)})
    log = heard(host)
    host.hooks.on("session/event", lambda _session, event: log.append(event["type"]))

    async def run() -> None:
        made = CreateOptions("s", agent_options=ROUTE, setup=lambda _: log.append("setup"))
        handle = await Engine().create_agent(host, made)
        handle.agent.followup(user_message("hi"))
        await handle.agent.when_idle()
        await handle.dispose()
        await handle.dispose()

    asyncio.run(run())
    assert [each for each in log if each != "assistant/chunk"] == [
        "setup",
        "session/created",
        "agent/created",
        "agent/session-start startup",
        "agent/inbox/spliced",
        "agent/inbox/inserted",
        "agent/status running",
        "turn/start",
        "agent/inbox/spliced",
        "agent/inbox/claimed",
        "step/start",
        "user/message",
        "request/header",
        "request/context",
        "assistant/message",
        "step/end",
        "turn/end",
        "agent/status idle",
        "agent/disposed",
        "session/disposed",
    ]


def test_a_resumed_agent_says_so() -> None:
    host = Host(Memory(turn(1, 0)))
    log = heard(host)
    asyncio.run(Engine().resume(host, ResumeOptions("s")))
    assert log == ["session/created", "agent/created", "agent/session-start resume"]


def test_a_veto_takes_the_agent_back_and_pairs_what_was_announced() -> None:
    sessions = Memory()
    host = Host(sessions)
    log = heard(host)

    def veto(_event: Any) -> None:
        raise ValueError("not this one")

    take_back = host.hooks.on("agent/created", veto)
    with pytest.raises(ValueError, match="not this one"):
        asyncio.run(Engine().create_agent(host, CreateOptions("s")))
    assert log == ["session/created", "agent/created", "agent/disposed", "session/disposed"]
    assert (host.agents, sessions.closed) == ({}, ["s"])
    take_back()
    asyncio.run(Engine().create_agent(host, CreateOptions("s")))


def test_other_failures_of_listeners_change_nothing() -> None:
    host = Host(Memory(), adapters={"p": Scripted(SAYS)})

    def broken(*_: Any) -> None:
        raise ValueError("listener")

    for name in ("session/created", "agent/session-start", "agent/status", "session/event"):
        host.hooks.on(name, broken)

    async def run() -> Agent:
        handle = await Engine().create_agent(host, CreateOptions("s", agent_options=ROUTE))
        handle.agent.followup(user_message("hi"))
        await handle.agent.when_idle()
        return handle.agent

    assert end(asyncio.run(run())) == {"kind": "completed"}
    assert "a listener on session/event: listener" in host.warnings


def test_events_of_an_agent_reach_its_own_scope_only() -> None:
    host = Host(Memory(), adapters={"p": Scripted(SAYS)})
    log: list[str] = []

    def setup(agent: Agent) -> None:
        agent.hooks.on("agent/status", lambda event: log.append(event["agent"].id))

    async def run() -> None:
        for name in ("a", "b"):
            made = CreateOptions(name, agent_options=ROUTE, setup=setup)
            await Engine().create_agent(host, made)
        host.agents["a"].followup(user_message("hi"))
        await host.agents["a"].when_idle()

    asyncio.run(run())
    assert log == ["a", "a"]


def test_a_stopped_host_ends_its_agents_and_makes_no_more() -> None:
    host = Host(Memory())

    async def slow(_agent: Agent) -> None:
        await asyncio.sleep(30)

    async def run() -> Any:
        await Engine().create_agent(host, CreateOptions("a"))
        late = asyncio.create_task(Engine().create_agent(host, CreateOptions("b", setup=slow)))
        await asyncio.sleep(0)
        await host.stop()
        return (await asyncio.gather(late, return_exceptions=True))[0]

    error = asyncio.run(run())
    assert isinstance(error, AgentSetupAbortedError)
    assert error.message == 'agent "b" setup aborted: owner disposed during setup'
    assert (host.agents, host.pending) == ({}, set())
    with pytest.raises(EngineInactiveError, match="agent loop is not active"):
        asyncio.run(Engine().create_agent(host, CreateOptions("c")))


@pytest.mark.parametrize("before", [True, False])
def test_the_callers_abort_ends_a_setup_with_its_reason(before: bool) -> None:
    host, signal = Host(Memory()), AbortSignal()
    cause = {"kind": "parent", "reason": KeyError("mine")}

    async def slow(_agent: Agent) -> None:
        signal.abort(cause)
        await asyncio.sleep(30)

    if before:
        signal.abort(cause)
    with pytest.raises(KeyError, match="mine"):
        asyncio.run(Engine().create_agent(host, CreateOptions("s", setup=slow, signal=signal)))
    assert (host.agents, host.pending) == ({}, set())


# --- turns ----------------------------------------------------------------------------------------


def test_a_rejected_first_step_blocks_the_turn() -> None:
    agent = agent_on(Scripted(SAYS))
    agent.hooks.on("agent/pre-step", lambda _event, _next: {"kind": "reject"})
    talk(agent, "hi")
    assert kinds(agent)[1:] == ["turn/start", "agent/inbox/spliced", "turn/end"]
    assert end(agent) == {"kind": "blocked"}


def test_a_rejected_step_leaves_steering_parked() -> None:
    agent = agent_on(Scripted(SAYS))

    def reject(event: Mapping[str, Any], _next: Next) -> Any:
        event["agent"].steer(user_message("parked"))
        return {"kind": "reject"}

    take_back = agent.hooks.on("agent/pre-step", reject)
    talk(agent, "hi")
    assert len(data_of(agent, "turn/end")) == 1
    take_back()
    talk(agent, "again")
    said = [data["content"][0]["text"] for data in data_of(agent, "user/message")]
    assert said == ["parked", "again"]


def test_a_step_enters_with_the_messages_that_listeners_give() -> None:
    agent = agent_on(Scripted(SAYS))
    seen: list[Any] = []

    async def recall(event: Mapping[str, Any], following: Next) -> Any:
        decision = await following()
        seen.append((event["turn"], event["step"], len(event["messages"])))
        return {"kind": "enter", "messages": [*decision["messages"], user_message("recalled")]}

    agent.hooks.on("agent/pre-step", recall)
    talk(agent, "hi")
    assert seen == [(1, 1, 1)]
    said = [data["content"][0]["text"] for data in data_of(agent, "user/message")]
    assert said == ["hi", "recalled"]


def test_an_empty_first_batch_completes_without_a_step() -> None:
    agent = agent_on(Scripted(SAYS))
    agent.hooks.on("agent/pre-step", lambda _event, _next: {"kind": "enter", "messages": []})
    talk(agent, "hi")
    assert "step/start" not in kinds(agent)
    assert end(agent) == {"kind": "completed"}


def test_listeners_choose_the_config_of_a_request() -> None:
    adapter = Scripted(SAYS)
    agent = agent_on(adapter, provider="other", reasoning_effort="high")

    async def choose(event: Mapping[str, Any], following: Next) -> Any:
        assert (event["turn"], event["step"]) == (1, 1)
        return {**await following(), "provider": "p", "temperature": 0.5, "stop": ["x"]}

    agent.hooks.on("agent/request", choose)
    talk(agent, "hi")
    config = data_of(agent, "request/header")[0]["header"]["config"]
    assert config == {
        "provider": "p",
        "model": "m",
        "reasoningEffort": "high",
        "temperature": 0.5,
        "stop": ["x"],
    }
    [request] = adapter.requests
    assert (request.temperature, request.stop, request.session_id) == (0.5, ["x"], "s")
    source = data_of(agent, "assistant/message")[0]["message"]["source"]
    assert source == {"kind": "model", "provider": "p", "model": "m"}


def test_a_listener_keeps_the_turn_alive_by_steering() -> None:
    agent = agent_on(Scripted(SAYS))
    stops: list[int] = []

    async def stopping(event: Mapping[str, Any]) -> None:
        stops.append(event["turn"])
        if len(stops) == 1:
            event["agent"].steer(user_message("not yet"))

    agent.hooks.on("agent/turn-stopping", stopping)
    talk(agent, "hi")
    assert stops == [1, 1]
    assert len(data_of(agent, "turn/start")) == 1
    assert [data["step"] for data in data_of(agent, "step/end")] == [1, 2]


def test_max_tokens_sticks_though_later_steps_end_well() -> None:
    agent = agent_on(Scripted([*text("a"), finish("max-tokens")], SAYS))
    steered: list[Any] = []

    def stopping(event: Mapping[str, Any]) -> None:
        if not steered:
            steered.append(event["agent"].steer(user_message("go on")))

    agent.hooks.on("agent/turn-stopping", stopping)
    talk(agent, "hi")
    assert len(data_of(agent, "assistant/message")) == 2
    assert end(agent) == {"kind": "max-tokens"}


@pytest.mark.parametrize("event", ["agent/pre-step", "agent/request", "agent/turn-stopping"])
def test_a_listener_that_raises_ends_the_turn_with_its_error(event: str) -> None:
    agent = agent_on(Scripted(SAYS))
    errors: list[Any] = []

    def broken(*_: Any) -> None:
        raise ValueError("listener broke")

    agent.hooks.on(event, broken)
    agent.hooks.on("agent/error", errors.append)
    talk(agent, "hi")
    error = {"message": "listener broke", "code": "UNKNOWN"}
    assert end(agent) == {"kind": "error", "error": error}
    assert [each["error"] for each in errors] == [error]
    assert kinds(agent).count("step/start") == kinds(agent).count("step/end")
    assert agent.fault is None


def test_a_cancel_tells_what_it_dropped() -> None:
    agent = agent_on(Scripted([*text("a"), 30.0]))
    dropped: list[str] = []
    agent.hooks.on("agent/inbox/discarded", lambda event: dropped.append(event["message"]["id"]))
    waiting = user_message("next")

    async def run(*, keep: bool) -> None:
        agent.followup(user_message("go"))
        while not data_of(agent, "assistant/chunk"):
            await asyncio.sleep(0)
        agent.followup(waiting)
        agent.cancel(keep_inbox=keep)
        if keep:
            assert agent.inbox.pending("next-turn") == [waiting]
            agent.inbox.clear()
        await agent.when_idle()

    asyncio.run(run(keep=False))
    assert dropped == [waiting["id"]]
    agent.session.events.clear()
    asyncio.run(run(keep=True))
    assert dropped == [waiting["id"]]


def test_a_flush_is_awaited_before_the_agent_is_idle() -> None:
    agent = agent_on(Scripted(SAYS))
    log: list[str] = []

    async def flush(_session: Any) -> None:
        await asyncio.sleep(0)
        log.append("flushed")

    agent.hooks.on("session/flush", flush)
    agent.on_idle(lambda: log.append("idle"))
    talk(agent, "hi")
    assert log == ["flushed", "idle"]


# --- retries --------------------------------------------------------------------------------------


def failing(code: str, **more: Any) -> list[Any]:
    return [*text("ha"), finish("error", failure={"message": "no", "code": code, **more})]


def retrying(*scripts: Any, **policy: Any) -> Agent:
    agent = agent_on(Scripted(*scripts))
    quick = RetryPolicy(**{"first_ms": 1, "longest_ms": 4, "chance": lambda: 0.5, **policy})
    agent.hooks.on("agent/request-error", retry_listener(quick))
    return agent


def test_a_failed_request_is_made_again_in_the_same_step() -> None:
    agent = talk(retrying(failing("SERVER"), failing("RATE_LIMIT"), SAYS), "hi")
    found = kinds(agent)
    assert found[found.index("request/context") + 1 :] == [
        "llm/retry",
        "llm/retry-started",
        "llm/retry",
        "llm/retry-started",
        "assistant/message",
        "step/end",
        "turn/end",
    ]
    first, second = data_of(agent, "llm/retry")
    assert (first["retry"], second["retry"]) == (1, 2)
    assert (first["delayMs"], second["delayMs"]) == (1.0, 2.0)
    assert (first["mode"], first["maxRetries"], first["provider"]) == ("normal", 5, "p")
    assert first["failure"] == {"message": "no", "code": "SERVER"}
    started = data_of(agent, "llm/retry-started")[0]
    assert started == {"retryId": first["retryId"], "turn": 1, "step": 1, "retry": 1}
    message = next(e for e in agent.session.events if e["type"] == "assistant/message")
    assert len(message["sourceEventSeqs"]) == 2


def test_five_retries_and_then_the_failure_stands() -> None:
    agent = talk(retrying(failing("TIMEOUT")), "hi")
    assert len(data_of(agent, "llm/retry")) == 5
    assert end(agent)["error"]["code"] == "TIMEOUT"
    assert "assistant/message" not in kinds(agent)


@pytest.mark.parametrize("code", ["STREAM_CLOSED", "AUTH", "UNKNOWN"])
def test_other_failures_are_not_tried_again(code: str) -> None:
    agent = talk(retrying(failing(code)), "hi")
    assert data_of(agent, "llm/retry") == []
    assert end(agent)["error"]["code"] == code


def test_retries_are_counted_anew_in_each_turn() -> None:
    agent = retrying(failing("SERVER"), SAYS, failing("SERVER"), SAYS)
    talk(agent, "one", "two")
    assert [data["retry"] for data in data_of(agent, "llm/retry")] == [1, 1]


def test_an_abort_ends_the_wait_for_a_retry() -> None:
    agent = retrying(failing("SERVER"), first_ms=60_000, longest_ms=60_000)

    async def run() -> None:
        agent.followup(user_message("go"))
        while not data_of(agent, "llm/retry"):
            await asyncio.sleep(0)
        agent.cancel()
        await agent.when_idle()

    asyncio.run(run())
    assert data_of(agent, "llm/retry-started") == []
    assert end(agent)["kind"] == "aborted"


def test_delays_double_up_to_the_longest_and_vary_by_a_tenth() -> None:
    policy = RetryPolicy(chance=lambda: 0.5)
    assert [policy.delay(n, {}) for n in range(1, 7)] == [500, 1000, 2000, 4000, 8000, 10_000]
    assert RetryPolicy(chance=lambda: 0.0).delay(1, {}) == pytest.approx(450)
    assert RetryPolicy(chance=lambda: 1.0).delay(9, {}) == pytest.approx(11_000)
    assert policy.delay(1, {"providerRetryAfterMs": 3000}) == 3000


# --- between turns --------------------------------------------------------------------------------


def test_maintenance_waits_for_the_turn_and_holds_the_next_one_back() -> None:
    agent = agent_on(Scripted(SAYS))
    log: list[str] = []
    agent.hooks.on("agent/status", lambda event: log.append(event["status"]))

    async def tidy() -> str:
        log.append("begin")
        agent.followup(user_message("meanwhile"))
        await asyncio.sleep(0)
        log.append("end")
        return "tidied"

    async def run() -> str:
        agent.followup(user_message("hi"))
        result = await agent.run_maintenance(tidy)
        await agent.when_idle()
        return result

    assert asyncio.run(run()) == "tidied"
    assert log == ["running", "idle", "begin", "end", "running", "idle"]


def test_a_failing_maintenance_still_lets_the_agent_go_on() -> None:
    agent = agent_on(Scripted(SAYS))

    async def broken() -> None:
        agent.followup(user_message("meanwhile"))
        raise ValueError("no")

    async def run() -> None:
        with pytest.raises(ValueError, match="no"):
            await agent.run_maintenance(broken)
        await agent.when_idle()

    asyncio.run(run())
    assert end(agent) == {"kind": "completed"}


def test_what_was_done_for_an_agent_is_undone_though_a_step_fails() -> None:
    host, log = Host(Memory()), []

    async def run() -> None:
        handle = await Engine().create_agent(host, CreateOptions("s"))
        handle.agent.undo(lambda: log.append("first"))
        handle.agent.undo(lambda: 1 / 0)
        await handle.dispose()

    asyncio.run(run())
    assert log == ["first"]
    assert host.warnings == ['ending agent "s": division by zero']


@pytest.mark.parametrize("event", ["agent/pre-step", "system-prompt/assemble"])
def test_a_listener_that_gives_nothing_back_is_named(event: str) -> None:
    agent = agent_on(Scripted([*text("a"), finish()]))
    agent.hooks.on(event, lambda _event, _next: None)
    talk(agent, "one")
    reason = data_of(agent, "turn/end")[0]["reason"]
    assert reason["kind"] == "error"
    assert f"a listener on {event} gave back None" in reason["error"]["message"]


def test_a_step_without_its_messages_is_refused() -> None:
    agent = agent_on(Scripted([*text("a"), finish()]))
    agent.hooks.on("agent/pre-step", lambda _event, _next: {"kind": "enter"})
    talk(agent, "one")
    assert "without its messages" in data_of(agent, "turn/end")[0]["reason"]["error"]["message"]
