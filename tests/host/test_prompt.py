"""The system prompt: order of sections, variables, scopes."""

from __future__ import annotations

import asyncio
from typing import Any

from dshloop.host.prompt import SystemPrompt, assemble
from tests.host.scripted import Scripted, agent_on


def prompt_of(agent: Any) -> str | None:
    return asyncio.run(assemble(agent))


def test_sections_stand_in_their_order_behind_the_agents_own_text() -> None:
    agent = agent_on(Scripted([]), system="You are kind.")
    agent.prompt.section("late", "Last.", order=9)
    agent.prompt.section("a", "First.")
    agent.prompt.section("b", "Second.")
    assert prompt_of(agent) == "You are kind.\n\nFirst.\n\nSecond.\n\nLast."


def test_without_anything_there_is_no_prompt() -> None:
    assert prompt_of(agent_on(Scripted([]), system=None)) is None


def test_variables_are_asked_each_time_and_unknown_ones_stay() -> None:
    agent = agent_on(Scripted([]), system="in {{cwd}} on {{ model }}, {{what}}")
    agent.prompt.variable("cwd", lambda agent: agent.session.header.cwd)
    agent.prompt.variable("model", lambda agent: agent.options.model)
    assert prompt_of(agent) == "in / on m, {{what}}"


def test_an_agents_own_stands_over_the_hosts_and_goes_when_disposed() -> None:
    host = SystemPrompt()
    host.section("h", "host")
    host.variable("v", lambda _: "host's")
    own = host.scope()
    dispose = own.variable("v", lambda _: "own")
    own.section("o", "own")
    assert [section.text for section in own.sections] == ["host", "own"]
    assert [section.text for section in host.sections] == ["host"]
    agent: Any = None
    assert own.variables["v"](agent) == "own"
    dispose()
    assert own.variables["v"](agent) == "host's"


def test_listeners_may_give_other_sections() -> None:
    agent = agent_on(Scripted([]), system="base")
    agent.hooks.on("system-prompt/assemble", lambda event, _next: event["sections"] * 2)
    assert prompt_of(agent) == "base\n\nbase"
