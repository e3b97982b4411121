"""The drivers that need no model: exact reply, exact events (loop-dock 13)."""

from __future__ import annotations

import asyncio
from itertools import groupby

import pytest

from dshloop.drivers import choose, names, require_known
from dshloop.drivers.fake import FAKE_REPLY, FakeDriver, PingDriver
from dshloop.errors import DriverUnavailableError, ExitCode
from dshloop.host.agent import Agent, AgentOptions
from dshloop.host.engine import CreateOptions, Host
from dshloop.llm.messages import user_message
from dshloop.loops.binding import EVENT, Binding, binding_data
from tests.host.scripted import data_of
from tests.host.test_engine import Memory


def talk(driver: PingDriver, *prompts: str, options: AgentOptions | None = None) -> Agent:
    def record(agent: Agent) -> None:
        agent.append(EVENT, binding_data(Binding("standard", "fake-driver"), None))

    async def run() -> Agent:
        create = CreateOptions("s", cwd="/", agent_options=options or AgentOptions(), setup=record)
        handle = await driver.create_agent(Host(Memory()), create)
        for prompt in prompts:
            handle.agent.followup(user_message(prompt))
            await handle.agent.when_idle()
        return handle.agent

    return asyncio.run(run())


def test_the_reply_is_the_known_one() -> None:
    assert len(FAKE_REPLY) == 67
    assert len(FAKE_REPLY.encode()) == 69


def test_events_of_the_first_turn_are_the_twelve_kinds_in_order() -> None:
    events = talk(FakeDriver(), "hello").session.events
    runs = [(kind, len(list(group))) for kind, group in groupby(e["type"] for e in events)]
    assert runs == [
        ("agent-preset/selected", 1),
        ("agent/inbox/spliced", 1),
        ("turn/start", 1),
        ("agent/inbox/spliced", 1),
        ("step/start", 1),
        ("user/message", 1),
        ("request/header", 1),
        ("request/context", 1),
        ("assistant/chunk", 71),
        ("assistant/message", 1),
        ("step/end", 1),
        ("turn/end", 1),
    ]
    assert [event["seq"] for event in events] == list(range(len(events)))


def test_the_message_has_reply_source_and_usage() -> None:
    agent = talk(FakeDriver(), "hello")
    (data,) = data_of(agent, "assistant/message")
    assert data["message"]["content"] == [{"type": "text", "text": FAKE_REPLY}]
    source = {"kind": "model", "provider": "driver-ping", "model": "fake"}
    assert data["message"]["source"] == source
    assert data["usage"] == {"inputTokens": 0, "outputTokens": 67}
    assert data_of(agent, "request/context") == [{"provider": "driver-ping", "model": "fake"}]


def test_later_turns_repeat_neither_header_nor_context() -> None:
    agent = talk(FakeDriver(), "one", "two", "three")
    assert len(data_of(agent, "request/header")) == len(data_of(agent, "request/context")) == 1
    assert [data["turn"] for data in data_of(agent, "turn/end")] == [1, 2, 3]


def test_provider_model_and_effort_of_the_caller_are_overruled() -> None:
    wanted = AgentOptions(provider="p", model="m", reasoning_effort="high", max_tokens=9)
    (header,) = data_of(talk(FakeDriver(), "hi", options=wanted), "request/header")
    config = {"provider": "driver-ping", "model": "fake", "maxTokens": 9}
    assert header["header"]["config"] == config


def test_the_ping_driver_has_its_own_provider() -> None:
    agent = talk(PingDriver(), "hi")
    (data,) = data_of(agent, "assistant/message")
    assert data["message"]["source"]["provider"] == "loop-ping"
    text = "loop-ping: local no-model reply (generated locally, no model call)."
    assert data["message"]["content"][0]["text"] == text


@pytest.mark.parametrize(
    ("typed", "recorded"),
    [("fake", "fake-driver"), ("fake-driver", "fake-driver"), ("ping", "default")],
)
def test_short_names_are_never_recorded(typed: str, recorded: str) -> None:
    choice = choose(typed)
    assert choice.name == recorded
    assert typed in names()


def test_ours_and_those_registered_are_known() -> None:
    for typed in ("fake", "ping", "headless", "mine"):
        require_known(choose(typed), ["mine"])


@pytest.mark.parametrize("typed", ["dsh", "acp", "nonsense", ""])
def test_what_cannot_run_here_is_not_found_and_says_what_can(typed: str) -> None:
    with pytest.raises(DriverUnavailableError) as caught:
        require_known(choose(typed), ["fake-driver"])
    assert caught.value.exit_code == ExitCode.NOT_FOUND
    assert "--driver fake" in (caught.value.hint or "")
    assert {"fake", "ping"} <= set(caught.value.details["available"])
