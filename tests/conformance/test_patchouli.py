"""What memory plugins receive from the agent loop, byte for byte, and what comes back of it."""

from __future__ import annotations

import asyncio
import hashlib
import json
from types import SimpleNamespace
from typing import Any

import pytest

from dshloop.host.abort import AbortSignal
from dshloop.lossless_json import js_text
from dshloop.plugins.patchouli.observed import UNDEFINED
from dshloop.plugins.patchouli.recall import SOURCE, is_empty, recall_message, results_of
from tests.conformance.cases import load_cases
from tests.conformance.markers import unmarked
from tests.plugins.patchouli.stand_ins import EVERYTHING, Recording, Stored, World

CONFIG = {**EVERYTHING, "strict": True, "recall": {"repeat": True, "limit": 0}}


class NoJson:
    """A value that no JSON holds, with a text form."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


def given(value: Any) -> Any:
    """Make the value that a case's input means."""
    if isinstance(value, list):
        return [given(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((name, payload),) = value.items()
        if name == "$exception":
            error = Exception(payload.get("message"))
            error.recorded = payload  # type: ignore[attr-defined]
            return error
        if name == "$float":
            return float(payload)
        if name == "$bigint":
            return NoJson(payload)
        if name == "$undefined":
            return UNDEFINED
    return {key: given(item) for key, item in value.items()}


def run(case: dict[str, Any]) -> tuple[World, Recording, Any]:
    return asyncio.run(_run(case))


async def _run(case: dict[str, Any]) -> tuple[World, Recording, Any]:
    inputs = case["given"]
    session, trigger = inputs["session"], inputs["trigger"]
    log = session.get("log", [])
    stored = inputs.get("persisted") or {"header": session["header"], "events": log}
    plugin = Recording()
    world = World(plugin, config=CONFIG, persistence=Stored(stored["header"], stored["events"]))
    async with world:
        agent = None
        known = inputs["agent"]
        anyone = world.agent(session["header"], log, **given(known or {"id": "s1"}))
        if known is None:
            world.host.agents.clear()
        else:
            agent = anyone
        returned: Any = None
        try:
            returned = await _triggered(world, agent, anyone.session, trigger)
        except TypeError as error:
            returned = error
        await world.settle(anyone.session)
    return world, plugin, returned


async def _triggered(world: World, agent: Any, session: Any, trigger: dict[str, Any]) -> Any:
    hooks = world.host.hooks
    signal = AbortSignal()
    if trigger.get("aborted"):
        signal.abort({"kind": "user"})
    if trigger["kind"] == "tool-call":
        return await world.call_tool(
            agent, trigger["name"], json.dumps(given(trigger["arguments"])), signal
        )
    name = trigger["event"]
    if trigger["kind"] == "log":
        return hooks.emit(name, session, trigger["appended"])
    payload = {"agent": agent, "signal": signal, **given(trigger.get("payload", {}))}
    decision = given(trigger.get("decision"))
    if name in ("tools/post-execute", "tools/result"):
        execution = execution_of(agent, trigger["execution"], signal)
        result = given(trigger["result"])
        if name == "tools/result":
            return hooks.emit(name, execution, result)
        return await hooks.waterfall(name, execution, result, last=lambda: decision)
    if name == "agent/pre-step":
        return await hooks.waterfall(name, payload, last=lambda: decision)
    if name == "agent/request-error":
        return await hooks.waterfall(name, payload, last=lambda: None)
    if name == "agent/turn-stopping":
        return await hooks.serial(name, payload)
    return hooks.announce(name, payload) if name == "agent/created" else hooks.emit(name, payload)


def execution_of(agent: Any, call: dict[str, Any], signal: AbortSignal) -> Any:
    return SimpleNamespace(
        agent=agent, call_id=call["callId"], root_call_id=call["rootCallId"], name=call["name"],
        arguments=given(call["arguments"]), raw_arguments="", parent=call.get("parent"),
        signal=signal, turn=None,
    )  # fmt: skip


@pytest.mark.parametrize("case", load_cases("patchouli_payloads.json"))
def test_a_plugin_receives_exactly_this(case: dict[str, Any]) -> None:
    world, plugin, returned = run(case)
    operation = plugin.updates if case["op"] == "update" else plugin.retrieves
    calls = [call for call in operation if call["meta"]["attributes"]["point"] == case["point"]]
    if "raises" in case:
        assert str(returned) == case["raises"]
    if case["expect"] is None:
        assert calls == []
    else:
        (call,) = calls
        assert call == case["expect"]
        text = js_text({"meta": call["meta"], "data": call["data"]})
        assert hashlib.sha256(text.encode()).hexdigest() == case["text_sha256"]
    if "returned" in case:
        (block,) = returned.content
        shown = {"isError": returned.is_error, "text": block["text"]}
        assert shown == case["returned"]
    if str(case.get("why", "")).startswith("warning: "):
        assert world.host.warnings == [case["why"].removeprefix("warning: ")]


@pytest.mark.parametrize("case", load_cases("patchouli_payloads.json", "recalls"))
def test_a_recall_reads_exactly_so(case: dict[str, Any]) -> None:
    results = results_of(case["outcomes"])
    if case["expect_text"] is None:
        assert results == []
        return
    message = recall_message(case["point"], results)
    assert message["content"] == [{"type": "text", "text": case["expect_text"]}]
    assert message["source"] == SOURCE


@pytest.mark.parametrize("case", load_cases("lossless_json.json", "emptiness"))
def test_what_is_empty_is_not_recalled(case: dict[str, Any]) -> None:
    assert is_empty(unmarked(case["value"])) is (case["expect"] == "dropped")


@pytest.mark.parametrize("case", load_cases("patchouli_payloads.json", "scenarios"))
def test_the_life_of_an_agent_gives_these_calls_in_order(case: dict[str, Any]) -> None:
    plugin = asyncio.run(_life(case))
    assert masked(plugin.updates) == case["expect_updates"]
    assert masked(plugin.retrieves) == case["expect_retrieves"]


async def _life(case: dict[str, Any]) -> Recording:
    plugin = Recording(answer={"items": [{"text": "hit"}]}, update_answer={"ok": 1})
    config = {**case["config"], "strict": True, "recall": {"repeat": True}}
    persistence = Stored(case["session_header"], [])
    async with World(plugin, config=config, persistence=persistence) as world:
        agent = world.agent(case["session_header"], (), **case["agent"])
        persistence.events = agent.session.events
        for step in case["steps"]:
            await _lived(world, agent, step)
            await world.settle(agent.session)
    return plugin


async def _lived(world: World, agent: Any, step: dict[str, Any]) -> None:
    hooks, what = world.host.hooks, step["do"]
    if what.startswith("register agent"):
        hooks.announce("agent/created", {"agent": agent})
    elif what == "append":
        agent.session.events.append(step["log_event"])
        hooks.emit("session/event", agent.session, step["log_event"])
    elif what == "run tool":
        call = {**step, "rootCallId": step["callId"]}
        execution = execution_of(agent, call, AbortSignal())
        result = step["tool_result"]
        review = await hooks.waterfall(
            "tools/post-execute", execution, result, last=lambda: {"kind": "accept"}
        )
        hooks.emit("tools/result", execution, reviewed(result, review["additionalContexts"]))
    elif what in ("emit", "event"):
        trigger = {"kind": "event", **{key: step[key] for key in step if key != "do"}}
        await _triggered(world, agent, agent.session, trigger)
    else:
        assert what == "flush session"


def reviewed(result: dict[str, Any], contexts: list[Any]) -> dict[str, Any]:
    """Put contexts where DSH has them: before a value, at the end of a failure."""
    value = {"value": result["value"]} if "value" in result else {}
    rest = {key: item for key, item in result.items() if key != "value"}
    return {**rest, "additionalContexts": contexts, **value}


def masked(calls: list[Any]) -> list[Any]:
    text = json.dumps(calls)
    for call in calls:
        for context in call["data"].get("result", {}).get("additionalContexts", []):
            text = text.replace(context["id"], "<uuid>")
    masked_calls: list[Any] = json.loads(text)
    return masked_calls
