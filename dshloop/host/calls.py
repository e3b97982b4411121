"""The tool calls of one step: each through its pipeline, several at once (dsh-sessions 9 and 10).

tool/call is logged -> tools/pre-execute -> guards -> tools/execute around the body ->
tools/post-execute -> finalize -> tools/result -> tool/result is logged, in the model's order.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dshloop.host import calling
from dshloop.host.abort import AbortSignal
from dshloop.host.agent import Agent
from dshloop.host.approval import is_allowed, reason_of
from dshloop.host.hooks import decision
from dshloop.host.tools import Execution, ToolFailure, ToolFault, ToolResult, as_content
from dshloop.llm.messages import Message, user_message
from dshloop.transcripts.vocabulary import Event

Call = Mapping[str, Any]

UNKNOWN_TOOL = ToolFault("ToolNotFoundError", "UNKNOWN_TOOL")
DENIED = ToolFault("ToolDeniedError", "TOOL_DENIED")
BLOCKED = ToolFault("ToolBlockedError", "TOOL_BLOCKED")
ABORTED = ToolFault("AbortError", "ABORTED_BEFORE_DISPATCH")


async def run_calls(
    agent: Agent, calls: Sequence[Call], signal: AbortSignal, place: Mapping[str, int]
) -> bool:
    """Run the calls of one message; give whether a result concludes the turn.

    What has not begun when the turn is aborted is answered with ABORTED_BEFORE_DISPATCH.
    """
    batch = _Batch(agent, signal, place)
    for group in _groups(agent, calls):
        await batch.run(group)
    for message in [] if signal.aborted else batch.contexts:
        agent.inject(message)
    return batch.concludes


def _groups(agent: Agent, calls: Sequence[Call]) -> Iterator[list[Call]]:
    """Split calls where an exclusive tool stands: it is a group of its own."""
    group: list[Call] = []
    for call in calls:
        tool = agent.tools.get(call["name"])
        if tool is not None and tool.exclusive:
            if group:
                yield group
            yield [call]
            group = []
        else:
            group.append(call)
    if group:
        yield group


@dataclass(slots=True)
class _Batch:
    agent: Agent
    signal: AbortSignal
    place: Mapping[str, int]
    contexts: list[Message] = field(default_factory=list)
    concludes: bool = False

    async def run(self, calls: Sequence[Call]) -> None:
        """Run calls side by side, so many at once as the agent may; log results in order."""
        waiting = list(enumerate(calls))
        running: dict[asyncio.Task[ToolResult], int] = {}
        logged: list[Event | None] = [None] * len(calls)
        results: list[ToolResult | None] = [None] * len(calls)
        written = 0
        while waiting or running:
            while waiting and len(running) < self.agent.max_parallel and not self.signal.aborted:
                index, call = waiting.pop(0)
                logged[index] = self._log_call(call)
                running[asyncio.ensure_future(self._execute(call))] = index
            if self.signal.aborted:
                for index, _ in waiting:
                    results[index] = ToolResult.failed("aborted before it was started", ABORTED)
                waiting = []
            if running:
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    results[running.pop(task)] = task.result()
            while written < len(calls) and (result := results[written]) is not None:
                event = logged[written] or self._log_call(calls[written])
                self._log_result(calls[written], event, result)
                written += 1

    async def _execute(self, call: Call) -> ToolResult:
        execution = Execution(
            self.agent, call["id"], call["name"], call["arguments"], **self.place,
            signal=self.signal, tool=self.agent.tools.get(call["name"]),
        )  # fmt: skip
        try:
            result = await execute(execution)
        except BaseException as raised:
            error = calling.contained(raised)
            if error is self.agent.log_fault:
                raise
            result = _thrown(error)
        self.agent.hooks.emit("tools/result", execution, result)
        return result

    def _log_call(self, call: Call) -> Event:
        data = {"callId": call["id"], "name": call["name"], "arguments": call["arguments"]}
        return self.agent.append("tool/call", {**self.place, **data})

    def _log_result(self, call: Call, logged: Event, result: ToolResult) -> None:
        data: dict[str, Any] = {**self.place, "message": _message(call, result)}
        if result.error is not None:
            data["error"] = result.error._asdict()
        if result.meta is not None:
            data["meta"] = result.meta
        self.agent.append("tool/result", data, sources=[logged["seq"]])
        self.contexts += [_context(item) for item in result.additional_contexts]
        self.concludes = self.concludes or (result.concludes_turn and not result.is_error)


async def execute(execution: Execution) -> ToolResult:
    """Take one call through its pipeline; a throw in it is the result's error."""
    tool = execution.tool
    if tool is None:
        return ToolResult.failed(f'unknown tool "{execution.name}"', UNKNOWN_TOOL)
    hooks = execution.agent.hooks
    try:
        execution.arguments = tool.read_arguments(execution.raw_arguments)
        refusal = await _refusal(execution)
        if refusal is not None:
            return ToolResult.failed(refusal, DENIED)
        body = _body(execution)
        result = ToolResult.of(await hooks.waterfall("tools/execute", execution, last=body))
    except Exception as error:
        if error is execution.agent.log_fault:
            raise
        result = _thrown(error)
    result = await _reviewed(execution, result)
    if tool.finalize is not None:
        result = replace(result, content=tool.finalize(result.content))
    return result


async def _refusal(execution: Execution) -> str | None:
    """Ask listeners, then guards; give the reason why the call may not run."""
    agent = execution.agent
    answer = await agent.hooks.waterfall(
        "tools/pre-execute", execution, last=lambda: {"kind": "allow"}
    )
    decided = decision("tools/pre-execute", answer)
    kind, reason = decided.get("kind"), reason_of(decided)
    if kind == "ask" and not await is_allowed(agent, execution, reason, agent.approval()):
        return reason or "it was not allowed"
    if kind not in ("allow", "ask"):
        return reason or "it was denied"
    reasons = (guard(execution) for guard in agent.tools.guards)
    return next((reason for reason in reasons if reason), None)


def _body(execution: Execution) -> Callable[[], Any]:
    tool = execution.tool
    assert tool is not None

    async def body() -> ToolResult:
        return ToolResult.of(await calling.call(tool.body, execution))

    return body


async def _reviewed(execution: Execution, result: ToolResult) -> ToolResult:
    """Let listeners on tools/post-execute accept, change or block a result."""
    answer = await execution.agent.hooks.waterfall(
        "tools/post-execute", execution, result, last=lambda: {"kind": "accept"}
    )
    review = decision("tools/post-execute", answer)
    contexts = [*result.additional_contexts, *(review.get("additionalContexts") or ())]
    result = replace(result, additional_contexts=contexts)
    if review.get("kind") == "block":
        blocked = ToolResult.failed(str(review.get("feedback", "blocked")), BLOCKED)
        return replace(blocked, additional_contexts=contexts, meta=result.meta)
    if "content" in review:
        return replace(result, content=as_content(review["content"]))
    if "value" in review and not result.is_error:
        return replace(result, content=as_content(review["value"]), value=review["value"])
    return result


def _thrown(error: Exception) -> ToolResult:
    fault = getattr(error, "fault", None)
    if not isinstance(error, ToolFailure) or fault is None:
        fault = ToolFault(type(error).__name__, str(getattr(error, "code", "UNKNOWN")))
    return ToolResult.failed(str(error) or type(error).__name__, fault)


def _message(call: Call, result: ToolResult) -> Message:
    block: dict[str, Any] = {"type": "tool-result", "toolCallId": call["id"]}
    block["content"] = [dict(item) for item in result.content]
    if result.is_error:
        block["isError"] = True
    source = {"kind": "tool", "callId": call["id"]}
    return {"source": source, "content": [block], "role": "user", "id": str(uuid.uuid4())}


def _context(item: Any) -> Message:
    if isinstance(item, Mapping):
        return dict(item)
    return user_message(str(item), source={"kind": "plugin", "plugin": "tools"})
