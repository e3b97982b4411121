"""Strategies from data on real agents: prompt, tools, effort, hooks and budgets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import LoopImportError
from dshloop.host.agent import Agent, AgentOptions
from dshloop.host.engine import CreateOptions, Engine, Host
from dshloop.host.tools import Tool
from dshloop.llm.messages import Chunk, ModelRequest, text_block, user_message
from dshloop.loops.loops_file import parse_loops
from dshloop.loops.strategy_setup import strategy_as_loop
from tests.host.test_engine import Memory


class Caller:
    """A model that calls a tool in every answer, and keeps what it was asked."""

    provider = "caller"

    def __init__(self, delay: float = 0) -> None:
        self.requests: list[ModelRequest] = []
        self.delay = delay

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        self.requests.append(request)
        await asyncio.sleep(self.delay)
        call = {"type": "tool-call", "id": f"c{len(self.requests)}", "name": "again"}
        yield {"type": "block-start", "index": 0, "blockType": "tool-call"}
        yield {"type": "block-end", "index": 0, "block": {**call, "arguments": "{}"}}
        yield {"type": "usage", "usage": {"inputTokens": 10, "outputTokens": 5}}
        yield {"type": "finish", "reason": {"kind": "tool-calls"}}


async def again(*_given: Any) -> Any:
    return [text_block("again")]


def run(strategy: str, model: Caller) -> Agent:
    """Run one turn on a strategy, written as loops.yml says it."""
    (entry,) = parse_loops(f"loops:\n  tried: {strategy}\n", Path("/loops.yml")).loops
    assert entry.strategy is not None
    loop = strategy_as_loop(entry.strategy)

    async def talk() -> Agent:
        host = Host(Memory(), adapters={"caller": model})
        for name in ("again", "other"):
            host.tools.register(Tool(name, "Calls again.", again))
        options = AgentOptions(provider="caller", model="m", system="Be kind.")
        create = CreateOptions("s", cwd="/", agent_options=options, setup=loop.setup)
        handle = await Engine().create_agent(host, create)
        handle.agent.followup(user_message("go"))
        await handle.agent.when_idle()
        await handle.dispose()
        return handle.agent

    return asyncio.run(asyncio.wait_for(talk(), 10))


def end_of(agent: Agent) -> Any:
    return next(
        e["data"]["reason"] for e in reversed(agent.session.events) if e["type"] == "turn/end"
    )


def test_a_budget_of_steps_ends_the_turn_saying_so() -> None:
    model = Caller()
    agent = run("{budget: {steps: 3}}", model)
    assert len(model.requests) == 3
    reason = "the loop's budget of 3 steps a turn is used up"
    assert end_of(agent) == {"kind": "aborted", "reason": {"kind": "hook", "reason": reason}}


def test_a_budget_of_tokens_counts_what_went_in_and_out() -> None:
    model = Caller()
    agent = run("{budget: {tokens: 30}}", model)
    assert len(model.requests) == 2
    assert "30 tokens" in end_of(agent)["reason"]["reason"]


def test_a_budget_of_seconds_cuts_a_request() -> None:
    agent = run("{budget: {seconds: 0.05}}", Caller(delay=5))
    assert "0.05 seconds" in end_of(agent)["reason"]["reason"]


def test_prompt_tools_and_effort_reach_the_model() -> None:
    model = Caller()
    run(
        "{prompt: [{text: last, order: 9}, first], tools: {deny: [other]}, effort: high, "
        "budget: {steps: 1}}",
        model,
    )
    (request,) = model.requests
    assert request.system is not None
    assert request.system.index("first") < request.system.index("last")
    assert [tool["name"] for tool in request.tools] == ["again"]
    assert request.reasoning_effort == "high"


def test_hooks_listen_to_the_agent() -> None:
    model = Caller()
    agent = run("{hooks: {agent/pre-step: 'tests.loops.test_strategy_setup:reject'}}", model)
    assert model.requests == []
    assert end_of(agent) == {"kind": "blocked"}


def test_a_hook_that_is_not_there_is_told_before_anything_runs() -> None:
    with pytest.raises(LoopImportError):
        run("{hooks: {agent/pre-step: 'tests.loops.test_strategy_setup:absent'}}", Caller())


async def reject(_event: Any, _following: Any) -> Any:
    return {"kind": "reject"}
