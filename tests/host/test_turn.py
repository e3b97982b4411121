"""The life of a turn: order of events, ends, aborts, steering."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dshloop.host.agent import Agent
from dshloop.llm.messages import user_message
from dshloop.sessions.session import MemoryLog
from tests.host.scripted import Scripted, agent_on, call, data_of, finish, kinds, text

TURN = [
    "agent/inbox/spliced",
    "turn/start",
    "agent/inbox/spliced",
    "step/start",
    "user/message",
    "request/header",
    "request/context",
    "assistant/message",
    "step/end",
    "turn/end",
]
LATER_TURN = [kind for kind in TURN if not kind.startswith("request/")]


def talk(agent: Agent, *prompts: str) -> None:
    async def run() -> None:
        for prompt in prompts:
            agent.followup(user_message(prompt))
            await agent.when_idle()

    asyncio.run(run())


def during(agent: Agent, act: Callable[[], Any], *, after: int = 0) -> None:
    """Start a turn and act when `after` chunks have come (0: at once)."""

    async def run() -> None:
        agent.followup(user_message("go"))
        while len(data_of(agent, "assistant/chunk")) < after:
            await asyncio.sleep(0)
        result = act()
        if isinstance(result, Awaitable):
            await result
        await agent.when_idle()

    asyncio.run(run())


def end(agent: Agent) -> Any:
    return data_of(agent, "turn/end")[-1]["reason"]


def test_events_of_a_turn_come_in_order() -> None:
    agent = agent_on(Scripted([*text("a", "b"), finish()]))
    talk(agent, "one", "two")
    assert kinds(agent) == TURN + LATER_TURN
    assert [data["turn"] for data in data_of(agent, "turn/start")] == [1, 2]
    assert end(agent) == {"kind": "completed"}
    first, second = data_of(agent, "agent/inbox/spliced")[:2]
    assert (first["start"], len(first["inserted"]), "removedCount" in first) == (0, 1, False)
    assert (second["start"], second["removedCount"], second["inserted"]) == (0, 1, [])


def test_the_message_names_its_chunks_model_and_usage() -> None:
    usage = {"type": "usage", "usage": {"inputTokens": 3, "outputTokens": 1}}
    agent = agent_on(Scripted([*text("a"), usage, finish()]))
    talk(agent, "hi")
    message = next(e for e in agent.session.events if e["type"] == "assistant/message")
    chunks = [e["seq"] for e in agent.session.events if e["type"] == "assistant/chunk"]
    assert message["sourceEventSeqs"] == chunks
    assert message["data"]["usage"] == {"inputTokens": 3, "outputTokens": 1}
    source = message["data"]["message"]["source"]
    assert source == {"kind": "model", "provider": "p", "model": "m"}


def test_the_model_is_shown_the_history() -> None:
    adapter = Scripted([*text("answer"), finish()])
    talk(agent_on(adapter), "one", "two")
    said = [message["content"][0]["text"] for message in adapter.requests[1].messages]
    assert said == ["one", "answer", "two"]


def test_headers_are_recorded_when_they_change() -> None:
    from dataclasses import replace

    agent = agent_on(Scripted([*text("a"), finish()]), max_tokens=5)
    talk(agent, "one")
    agent.options = replace(agent.options, system="be brief")
    talk(agent, "two", "three")
    assert [data["reason"] for data in data_of(agent, "request/header")] == ["initial", "change"]
    assert data_of(agent, "request/header")[1]["header"] == {
        "config": {"provider": "p", "model": "m", "maxTokens": 5},
        "system": "be brief",
    }
    assert len(data_of(agent, "request/context")) == 1


@pytest.mark.parametrize(
    ("resolved", "known"),
    [
        ({"contextWindow": 128_000}, {"contextWindow": 128_000}),
        ({"contextWindow": "big"}, {}),
        ([], {}),
    ],
)
def test_the_window_of_a_model_is_recorded_where_its_adapter_knows_it(
    resolved: Any, known: dict[str, Any]
) -> None:
    adapter = Scripted([*text("a"), finish()])
    adapter.resolve_model = lambda *_: resolved  # type: ignore[attr-defined]
    agent = agent_on(adapter)
    talk(agent, "one", "two")
    assert data_of(agent, "request/context") == [{"provider": "p", "model": "m", **known}]


def test_an_adapter_that_can_not_resolve_models_is_asked_all_the_same() -> None:
    def resolve(provider: str, model: str) -> Any:
        raise LookupError(model)

    adapter = Scripted([*text("a"), finish()])
    adapter.resolve_model = resolve  # type: ignore[attr-defined]
    agent = agent_on(adapter)
    talk(agent, "one")
    assert data_of(agent, "request/context") == [{"provider": "p", "model": "m"}]


def test_a_resumed_session_counts_on_and_says_so() -> None:
    first = agent_on(Scripted([*text("a"), finish()]))
    talk(first, "one")
    second = agent_on(Scripted([*text("b"), finish()]), first.session.events)
    talk(second, "two", "three")
    assert [data["turn"] for data in data_of(second, "turn/start")] == [1, 2, 3]
    assert [data["reason"] for data in data_of(second, "request/header")] == ["initial", "resume"]
    assert len(data_of(second, "request/context")) == 1


def test_a_failed_request_ends_the_turn_without_a_message() -> None:
    failed = {"message": "no", "code": "SERVER"}
    agent = agent_on(Scripted([*text("half"), finish("error", failure=failed)]))
    talk(agent, "hi")
    assert kinds(agent)[-2:] == ["step/end", "turn/end"]
    assert "assistant/message" not in kinds(agent)
    assert end(agent) == {"kind": "error", "error": failed}


@pytest.mark.parametrize(
    ("script", "code"),
    [([*text("a"), RuntimeError("broke")], "UNKNOWN"), ([*text("a")], "STREAM_CLOSED")],
)
def test_a_stream_that_breaks_ends_in_an_error(script: list[Any], code: str) -> None:
    agent = agent_on(Scripted(script))
    talk(agent, "hi")
    assert end(agent)["error"]["code"] == code


def test_without_a_model_the_turn_says_what_to_set() -> None:
    agent = agent_on(Scripted([]), provider=None)
    talk(agent, "hi")
    assert end(agent)["error"]["message"].startswith('agent "s" has no provider/model: set Agent')
    assert end(agent)["error"]["code"] == "UNKNOWN"


def test_max_tokens_ends_the_turn_and_runs_no_tools() -> None:
    agent = agent_on(Scripted([*text("a"), call("x"), finish("max-tokens")]))
    talk(agent, "hi")
    assert end(agent) == {"kind": "max-tokens"}
    assert "tool/call" not in kinds(agent)
    assert "assistant/message" in kinds(agent)


def test_calls_of_unknown_tools_are_answered_and_the_model_asked_again() -> None:
    adapter = Scripted([*text("a"), call("x"), finish("tool-calls")], [*text("done"), finish()])
    agent = agent_on(adapter)
    talk(agent, "hi")
    result = next(e for e in agent.session.events if e["type"] == "tool/result")
    assert result["data"]["error"] == {"name": "ToolNotFoundError", "code": "UNKNOWN_TOOL"}
    assert agent.session.events[result["sourceEventSeqs"][0]]["type"] == "tool/call"
    assert [data["step"] for data in data_of(agent, "step/start")] == [1, 2]
    assert len(adapter.requests[1].messages) == 3
    assert end(agent) == {"kind": "completed"}


def test_an_abort_before_the_first_step_leaves_no_step() -> None:
    agent = agent_on(Scripted([*text("a"), finish()]))
    during(agent, agent.cancel)
    assert kinds(agent) == [*TURN[:3], "turn/end"]
    assert end(agent) == {"kind": "aborted", "reason": {"kind": "user"}}


def test_an_abort_in_mid_stream_keeps_what_was_seen() -> None:
    agent = agent_on(Scripted([*text("he", "llo"), 30.0, finish()]))
    during(agent, agent.cancel, after=2)
    message = data_of(agent, "assistant/message")[0]
    assert message["interrupted"] is True
    assert message["message"]["content"] == [{"type": "text", "text": "hello"}]
    assert kinds(agent)[-3:] == ["assistant/message", "step/end", "turn/end"]
    assert end(agent)["kind"] == "aborted"
    assert agent.status == "idle"


def test_an_abort_before_any_text_leaves_no_message() -> None:
    agent = agent_on(Scripted([{"type": "block-start", "index": 0, "blockType": "text"}, 30.0]))
    during(agent, agent.cancel, after=1)
    assert "assistant/message" not in kinds(agent)
    assert kinds(agent)[-2:] == ["step/end", "turn/end"]


def test_the_first_cause_of_an_abort_wins_and_clears_the_inbox() -> None:
    agent = agent_on(Scripted([*text("a"), 30.0]))

    def act() -> None:
        agent.followup(user_message("next"))
        agent.cancel({"kind": "parent"})
        agent.cancel({"kind": "user"})

    during(agent, act, after=1)
    assert end(agent)["reason"] == {"kind": "parent"}
    assert data_of(agent, "agent/inbox/spliced")[-1]["outcome"] == "canceled"
    assert len(data_of(agent, "turn/start")) == 1


def test_input_after_an_abort_gets_the_next_turn() -> None:
    agent = agent_on(Scripted([*text("a"), 30.0], [*text("b"), finish()]))

    def act() -> None:
        agent.cancel()
        agent.steer(user_message("and now"))

    during(agent, act, after=1)
    assert [data["turn"] for data in data_of(agent, "turn/end")] == [1, 2]
    assert data_of(agent, "agent/inbox/spliced")[-1]["target"] == "next-turn"


def test_steering_joins_the_running_turn() -> None:
    agent = agent_on(Scripted([*text("a"), 0.01, finish()], [*text("b"), finish()]))
    during(agent, lambda: agent.steer(user_message("also")), after=1)
    assert len(data_of(agent, "turn/start")) == 1
    assert [data["step"] for data in data_of(agent, "step/start")] == [1, 2]


def test_injected_messages_wait_for_the_next_turn() -> None:
    agent = agent_on(Scripted([*text("a"), finish()]))
    agent.inject(user_message("note"))
    assert agent.status == "idle"
    talk(agent, "hi")
    said = [data["content"][0]["text"] for data in data_of(agent, "user/message")]
    assert said == ["note", "hi"]


def test_followups_get_a_turn_each() -> None:
    agent = agent_on(Scripted([*text("a"), finish()]))

    async def run() -> None:
        for prompt in ("one", "two", "three"):
            agent.followup(user_message(prompt))
        await agent.when_idle()

    asyncio.run(run())
    assert [data["turn"] for data in data_of(agent, "turn/end")] == [1, 2, 3]


def test_a_message_can_wait_only_once() -> None:
    agent = agent_on(Scripted([*text("a"), finish()]))
    message = user_message("x")
    agent.inject(message)
    with pytest.raises(ValueError, match="pending"):
        agent.inject(message)


def test_a_prompt_that_was_never_answered_is_answered_first() -> None:
    first = agent_on(Scripted([*text("a"), finish()]))
    first.inbox.insert("next-turn", user_message("left over"), wakeup=True)
    second = agent_on(Scripted([*text("b"), finish()]), first.session.events)
    talk(second, "new")
    said = [data["content"][0]["text"] for data in data_of(second, "user/message")]
    assert said == ["left over", "new"]


def test_a_disposed_agent_takes_nothing() -> None:
    agent = agent_on(Scripted([*text("a"), 30.0]))
    during(agent, agent.dispose, after=1)
    assert end(agent)["reason"] == {"kind": "disposed"}
    with pytest.raises(RuntimeError, match="disposed"):
        agent.followup(user_message("x"))


def test_a_log_that_cannot_be_written_is_the_agents_fault() -> None:
    class Full(MemoryLog):
        def append(self, kind: str, data: Any, **more: Any) -> Any:
            if kind == "assistant/chunk":
                raise OSError("disk full")
            return super().append(kind, data, **more)

    agent = agent_on(Scripted([*text("a"), finish()]))
    agent.session = Full(agent.session.header.raw, [], lambda: 1.0)
    talk(agent, "hi")
    assert isinstance(agent.fault, OSError)
    assert agent.status == "idle"
