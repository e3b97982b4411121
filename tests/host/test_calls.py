"""Tool calls: the pipeline's order, what may change a result, parallel runs, aborts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from dshloop.host.agent import Agent
from dshloop.host.tools import Execution, Tool, ToolFailure, ToolFault, ToolResult
from dshloop.llm.messages import user_message
from tests.host.scripted import Scripted, agent_on, data_of, finish, kinds, text

DONE = [*text("done"), finish()]
PATH = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
Next = Callable[[], Awaitable[Any]]


def calls(*named: str | tuple[str, str]) -> list[dict[str, Any]]:
    """Give the chunks of a message with calls of these tools, ids c0, c1 …"""
    pairs = [(item, "{}") if isinstance(item, str) else item for item in named]
    blocks = [
        {"type": "tool-call", "id": f"c{number}", "name": name, "arguments": arguments}
        for number, (name, arguments) in enumerate(pairs)
    ]
    ends = [{"type": "block-end", "index": n, "block": block} for n, block in enumerate(blocks)]
    return [*ends, finish("tool-calls")]


def tool(name: str, body: Any = lambda _: "ok", **more: Any) -> Tool:
    return Tool(name, f"does {name}", body, **more)


def agent_with(*tools: Tool, script: list[Any], **options: Any) -> Agent:
    agent = agent_on(Scripted(script, DONE), **options)
    for each in tools:
        agent.tools.register(each)
    return agent


def go(agent: Agent, act: Callable[[], Any] | None = None, *, after: str = "") -> Agent:
    """Say something; with ``act``, do that once an event of the kind ``after`` is there."""

    async def run() -> None:
        agent.followup(user_message("go"))
        while act is not None and not data_of(agent, after):
            await asyncio.sleep(0)
        if act is not None:
            act()
        await agent.when_idle()

    asyncio.run(run())
    return agent


def result_of(agent: Agent, number: int = 0) -> Mapping[str, Any]:
    found: Mapping[str, Any] = data_of(agent, "tool/result")[number]
    return found


def said(agent: Agent, number: int = 0) -> str:
    text: str = result_of(agent, number)["message"]["content"][0]["content"][0]["text"]
    return text


def after_message(agent: Agent) -> list[str]:
    found = kinds(agent)
    return found[found.index("assistant/message") + 1 :]


def test_a_call_is_logged_run_and_answered_and_the_model_asked_again() -> None:
    def body(execution: Execution) -> str:
        return f"read {execution.arguments['path']}"

    agent = agent_with(
        tool("read", body, parameters=PATH), script=calls(("read", '{"path": "a.txt"}'))
    )
    go(agent)
    assert after_message(agent) == [
        "tool/call",
        "tool/result",
        "step/end",
        "step/start",
        "assistant/message",
        "step/end",
        "turn/end",
    ]
    [call] = data_of(agent, "tool/call")
    assert call == {
        "turn": 1,
        "step": 1,
        "callId": "c0",
        "name": "read",
        "arguments": '{"path": "a.txt"}',
    }
    message = result_of(agent)["message"]
    assert message["content"] == [
        {
            "type": "tool-result",
            "toolCallId": "c0",
            "content": [{"type": "text", "text": "read a.txt"}],
        }
    ]
    assert message["source"] == {"kind": "tool", "callId": "c0"}
    assert "error" not in result_of(agent)


def test_the_request_offers_the_tools_and_the_header_records_them() -> None:
    agent = agent_with(tool("b"), tool("a", parameters=PATH), script=DONE)
    go(agent)
    adapter: Any = agent.adapters["p"]
    assert [offered["name"] for offered in adapter.requests[0].tools] == ["a", "b"]
    header = data_of(agent, "request/header")[0]["header"]
    assert header["tools"][0] == {"name": "a", "description": "does a", "parameters": PATH}


def test_the_pipeline_has_its_order() -> None:
    log: list[str] = []

    def body(_execution: Execution) -> str:
        log.append("body")
        return "ok"

    def finalize(content: Any) -> Any:
        log.append("finalize")
        return content

    def guard(_execution: Execution) -> None:
        log.append("guard")

    def wrapped(name: str) -> Callable[..., Awaitable[Any]]:
        async def listener(*args: Any) -> Any:
            log.append(name)
            return await args[-1]()

        return listener

    agent = agent_with(tool("t", body, finalize=finalize), script=calls("t"))
    agent.listen(lambda event: event["type"].startswith("tool/") and log.append(event["type"]))
    for name in ("pre-execute", "execute", "post-execute"):
        agent.hooks.on(f"tools/{name}", wrapped(name))
    agent.hooks.on("tools/result", lambda *_: log.append("result"))
    agent.tools.guard(guard)
    go(agent)
    assert log == [
        "tool/call",
        "pre-execute",
        "guard",
        "execute",
        "body",
        "post-execute",
        "finalize",
        "result",
        "tool/result",
    ]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ('{"path": 1}', "must be string"),
        ("{}", "path"),
        ("{", "no JSON"),
        ('{"path":"","x":1}', ""),
    ],
)
def test_arguments_that_do_not_fit_are_the_calls_error(arguments: str, word: str) -> None:
    ran: list[Any] = []
    agent = agent_with(tool("t", ran.append, parameters=PATH), script=calls(("t", arguments)))
    go(agent)
    assert ran == []
    assert result_of(agent)["error"]["code"] == "INVALID_ARGUMENTS"
    assert word in said(agent)
    assert result_of(agent)["message"]["content"][0]["isError"] is True


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (ValueError("broke"), {"name": "ValueError", "code": "UNKNOWN"}),
        (ToolFailure("gone", "GoneError", "GONE"), {"name": "GoneError", "code": "GONE"}),
    ],
)
def test_a_tool_that_raises_answers_with_an_error(raised: Exception, error: Any) -> None:
    def body(_execution: Execution) -> None:
        raise raised

    agent = go(agent_with(tool("t", body), script=calls("t")))
    assert result_of(agent)["error"] == error
    assert str(raised) in said(agent)
    assert data_of(agent, "turn/end")[-1]["reason"] == {"kind": "completed"}


@pytest.mark.parametrize("event", ["pre-execute", "execute", "post-execute"])
def test_a_listener_that_raises_is_the_calls_error(event: str) -> None:
    def broken(*_: Any) -> None:
        raise ValueError("listener")

    agent = agent_with(tool("t"), script=calls("t"))
    agent.hooks.on(f"tools/{event}", broken)
    go(agent)
    assert "listener" in said(agent)
    assert result_of(agent)["error"]["name"] == "ValueError"


@pytest.mark.parametrize("event", ["pre-execute", "post-execute"])
def test_a_listener_that_gives_nothing_back_is_named(event: str) -> None:
    agent = agent_with(tool("t"), script=calls("t"))
    agent.hooks.on(f"tools/{event}", lambda *_: None)
    go(agent)
    assert f"a listener on tools/{event} gave back None" in said(agent)


@pytest.mark.parametrize("how", ["listener", "guard", "ask"])
def test_a_refused_call_does_not_run(how: str) -> None:
    ran: list[Any] = []
    agent = agent_with(tool("t", ran.append), script=calls("t"))
    if how == "guard":
        agent.tools.guard(lambda _: "not here")
    else:
        kind = "deny" if how == "listener" else "ask"
        decision = {"kind": kind, "reason": "not here"}
        agent.hooks.on("tools/pre-execute", lambda _e, _n: decision)
    go(agent)
    assert ran == []
    assert "not here" in said(agent)
    assert result_of(agent)["error"] == {"name": "ToolDeniedError", "code": "TOOL_DENIED"}
    assert data_of(agent, "approval/asked") == []


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [("allowed-once", "allowed-once"), ("rejected", "rejected"), (None, "unavailable")],
)
def test_a_question_and_its_answer_are_recorded(answer: str | None, outcome: str) -> None:
    class Answers:
        async def ask(self, _execution: Execution, _reason: str | None) -> str | None:
            return answer

    agent = agent_with(tool("t"), script=calls("t"))
    agent.approval = Answers  # type: ignore[method-assign,assignment]
    agent.hooks.on("tools/pre-execute", lambda _e, _n: {"kind": "ask", "reason": "sure?"})
    go(agent)
    [asked], [decided] = data_of(agent, "approval/asked"), data_of(agent, "approval/decided")
    assert (asked["toolName"], asked["callId"], asked["reason"]) == ("t", "c0", "sure?")
    assert decided == {"id": asked["id"], "outcome": outcome}
    assert ("error" in result_of(agent)) is (outcome != "allowed-once")


def test_a_question_that_nobody_answers_ends_with_the_turn() -> None:
    class Silent:
        async def ask(self, _execution: Execution, _reason: str | None) -> str | None:
            await asyncio.Event().wait()
            return "allowed-once"

    agent = agent_with(tool("t"), script=calls("t"))
    agent.approval = Silent  # type: ignore[method-assign,assignment]
    agent.hooks.on("tools/pre-execute", lambda _e, _n: {"kind": "ask", "reason": "sure?"})
    go(agent, agent.cancel, after="approval/asked")
    assert data_of(agent, "approval/decided")[0]["outcome"] == "cancelled"
    assert data_of(agent, "turn/end")[-1]["reason"]["kind"] == "aborted"


@pytest.mark.parametrize(
    ("review", "text", "failed"),
    [
        ({"kind": "accept"}, "ok", False),
        ({"kind": "accept", "content": [{"type": "text", "text": "new"}]}, "new", False),
        ({"kind": "accept", "value": {"a": 1}}, '{"a": 1}', False),
        ({"kind": "block", "feedback": "try again"}, "Error: try again", True),
    ],
)
def test_a_review_changes_or_blocks_a_result(review: Any, text: str, failed: bool) -> None:
    agent = agent_with(tool("t"), script=calls("t"))
    agent.hooks.on("tools/post-execute", lambda _e, _r, _n: review)
    go(agent)
    assert said(agent) == text
    assert ("error" in result_of(agent)) is failed


def test_a_value_cannot_replace_a_failed_result() -> None:
    def body(_execution: Execution) -> None:
        raise ToolFailure("no")

    agent = agent_with(tool("t", body), script=calls("t"))
    agent.hooks.on("tools/post-execute", lambda _e, _r, _n: {"kind": "accept", "value": "fine"})
    assert said(go(agent)) == "Error: no"


def test_contexts_enter_the_next_step_after_the_batch() -> None:
    agent = agent_with(tool("t"), script=calls("t", "t"))
    agent.hooks.on(
        "tools/post-execute",
        lambda execution, _r, _n: {"kind": "accept", "additionalContexts": [execution.call_id]},
    )
    go(agent)
    found = after_message(agent)
    assert found[:8] == [
        "tool/call",
        "tool/call",
        "tool/result",
        "tool/result",
        "agent/inbox/spliced",
        "agent/inbox/spliced",
        "step/end",
        "agent/inbox/spliced",
    ]
    said_now = [data["content"][0]["text"] for data in data_of(agent, "user/message")]
    assert said_now == ["go", "c0", "c1"]


def test_a_concluding_result_ends_the_turn_unless_input_waits() -> None:
    concluding = ToolResult.of("bye")
    concluding = ToolResult(concluding.content, concludes_turn=True)
    agent = go(agent_with(tool("t", lambda _: concluding), script=calls("t")))
    assert len(data_of(agent, "step/start")) == 1
    assert data_of(agent, "turn/end")[-1]["reason"] == {"kind": "completed"}
    agent = agent_with(tool("t", lambda _: concluding), script=calls("t"))
    go(agent, lambda: agent.steer(user_message("more")), after="step/start")
    assert len(data_of(agent, "step/start")) == 2


def waiting(name: str, log: list[str], gates: dict[str, asyncio.Event], **more: Any) -> Tool:
    async def body(execution: Execution) -> str:
        log.append(f"{execution.call_id} begins")
        await gates.setdefault(execution.call_id, asyncio.Event()).wait()
        log.append(f"{execution.call_id} ends")
        return execution.call_id

    return tool(name, body, **more)


def opened(agent: Agent, gates: dict[str, asyncio.Event], *order: str) -> None:
    """Say something and let the calls end in this order."""

    async def run() -> None:
        agent.followup(user_message("go"))
        for name in order:
            while name not in gates:
                await asyncio.sleep(0)
            gates[name].set()
            for _ in range(20):
                await asyncio.sleep(0)
        await agent.when_idle()

    asyncio.run(run())


def test_parallel_calls_are_logged_first_and_answered_in_the_models_order() -> None:
    log: list[str] = []
    gates: dict[str, asyncio.Event] = {}
    agent = agent_with(waiting("t", log, gates), script=calls("t", "t", "t"))
    opened(agent, gates, "c2", "c0", "c1")
    assert log == ["c0 begins", "c1 begins", "c2 begins", "c2 ends", "c0 ends", "c1 ends"]
    assert after_message(agent)[:6] == ["tool/call"] * 3 + ["tool/result"] * 3
    ids = [data["message"]["source"]["callId"] for data in data_of(agent, "tool/result")]
    assert ids == ["c0", "c1", "c2"]


def test_no_more_run_at_once_than_allowed() -> None:
    log: list[str] = []
    gates: dict[str, asyncio.Event] = {}
    agent = agent_with(waiting("t", log, gates), script=calls("t", "t", "t"))
    agent.max_parallel = 2
    opened(agent, gates, "c1", "c0", "c2")
    assert log == ["c0 begins", "c1 begins", "c1 ends", "c2 begins", "c0 ends", "c2 ends"]
    ids = [data["message"]["source"]["callId"] for data in data_of(agent, "tool/result")]
    assert ids == ["c0", "c1", "c2"]


def test_an_exclusive_tool_is_a_barrier() -> None:
    log: list[str] = []
    gates: dict[str, asyncio.Event] = {}
    agent = agent_with(
        waiting("t", log, gates),
        waiting("alone", log, gates, exclusive=True),
        script=calls("t", "alone", "t"),
    )
    opened(agent, gates, "c0", "c1", "c2")
    assert log == [f"c{number} {what}" for number in range(3) for what in ("begins", "ends")]
    assert after_message(agent)[:6] == ["tool/call", "tool/result"] * 3


def test_an_abort_waits_for_what_runs_and_starts_nothing_more() -> None:
    log: list[str] = []
    gates: dict[str, asyncio.Event] = {}
    agent = agent_with(waiting("t", log, gates), script=calls("t", "t"))
    agent.max_parallel = 1

    async def run() -> None:
        agent.followup(user_message("go"))
        while "c0" not in gates:
            await asyncio.sleep(0)
        agent.cancel()
        gates["c0"].set()
        await agent.when_idle()

    asyncio.run(run())
    assert log == ["c0 begins", "c0 ends"]
    assert "error" not in result_of(agent, 0)
    assert result_of(agent, 1)["error"] == {"name": "AbortError", "code": "ABORTED_BEFORE_DISPATCH"}
    assert after_message(agent) == [
        "tool/call",
        "tool/result",
        "tool/call",
        "tool/result",
        "step/end",
        "turn/end",
    ]
    assert data_of(agent, "turn/end")[-1]["reason"]["kind"] == "aborted"


def test_a_signal_that_a_listener_swaps_is_what_the_body_gets() -> None:
    from dshloop.host.abort import AbortSignal

    mine, seen = AbortSignal(), []

    async def swap(execution: Execution, following: Next) -> Any:
        execution.signal = mine
        return await following()

    agent = agent_with(tool("t", lambda e: seen.append(e.signal)), script=calls("t"))
    agent.hooks.on("tools/execute", swap)
    go(agent)
    assert seen == [mine]


def test_a_hidden_tool_is_neither_offered_nor_callable() -> None:
    agent = agent_with(tool("a"), tool("b"), script=calls("b"))
    agent.tools.restrict(allow=["a"])
    go(agent)
    assert result_of(agent)["error"]["code"] == "UNKNOWN_TOOL"
    adapter: Any = agent.adapters["p"]
    assert [offered["name"] for offered in adapter.requests[0].tools] == ["a"]


def test_what_a_tool_keeps_for_the_log_is_not_shown_to_the_model() -> None:
    result = ToolResult([{"type": "text", "text": "x"}], meta={"lines": 3})
    agent = go(agent_with(tool("t", lambda _: result), script=calls("t")))
    assert result_of(agent)["meta"] == {"lines": 3}
    assert "lines" not in str(result_of(agent)["message"])


def test_a_results_error_names_itself() -> None:
    result = ToolResult.failed("nothing there", ToolFault("NotThereError", "NOT_THERE"))
    agent = go(agent_with(tool("t", lambda _: result), script=calls("t")))
    assert result_of(agent)["error"] == {"name": "NotThereError", "code": "NOT_THERE"}
