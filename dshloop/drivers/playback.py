"""A model and tools that say what a recording holds; nothing is asked, and nothing is run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from dshloop.host.agent import Agent
from dshloop.host.tools import Execution, Tool, ToolFault, ToolResult
from dshloop.llm.messages import Chunk, ModelRequest, failure
from dshloop.sessions.answers import Answer
from dshloop.sessions.recording import Offered, RecordedTurn, Recording

MISSING = "NOT_RECORDED"
Following = Callable[[], Awaitable[Mapping[str, Any]]]


class RecordedModel:
    """Gives the answers of the turn that runs, in their order, whatever it is asked.

    ``turn`` tells the number of that turn, ``abort`` aborts it with a cause. A request that isn't
    the agent's own, by ``own``, is for a summary.
    """

    provider = "recorded"

    def __init__(
        self,
        recording: Recording,
        turn: Callable[[], int],
        abort: Callable[[Mapping[str, Any]], object],
        own: Callable[[ModelRequest], bool],
    ) -> None:
        self._turns = {each.number: each for each in recording.turns}
        self._turn, self._abort, self._own = turn, abort, own
        self._summaries = iter(recording.summaries)
        self._given: dict[int, int] = {}
        self.providers = frozenset({recording.config.get("provider", self.provider)})

    def resolve_model(self, provider: str, model: str) -> dict[str, str]:
        """Accept any model name."""
        return {"provider": provider, "id": model, "name": model}

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Yield the next answer; where it was cut off, the turn is aborted as it was then."""
        number = self._turn()
        answer = self._next(number) if self._own(request) else next(self._summaries, None)
        if answer is None:
            said = f"the recording has no answer to this request of turn {number}"
            yield {"type": "finish", "reason": {"kind": "error", "failure": failure(said, MISSING)}}
            return
        for chunk in answer.chunks:
            yield chunk
        if answer.aborted is not None:
            self._abort(answer.aborted)
            await asyncio.Event().wait()  # until the abort cancels this

    def _next(self, number: int) -> Answer | None:
        turn = self._turns.get(number)
        place = self._given.get(number, 0)
        self._given[number] = place + 1
        if turn is None:
            return None
        if place < len(turn.answers):
            return turn.answers[place]
        return None if turn.cause is None else Answer((), turn.cause)


class RecordedTool(Tool):
    """A tool that takes any arguments: the recording knows what came of them."""

    def read_arguments(self, raw: str) -> Any:
        """Give them as they are."""
        return raw


def play_tools(agent: Agent, recording: Recording) -> None:
    """Offer what the recording's requests offered, answered from it; no other can be called."""
    results = _Results(recording, agent)
    known = [*recording.offered, *(Offered(name) for name in recording.tools)]
    by_name = {each.name: each for each in reversed(known)}
    agent.tools.stand_in([_recorded_tool(each, agent, results) for each in by_name.values()])
    agent.tools.restrict(allow=list(by_name))


def _recorded_tool(offered: Offered, agent: Agent, results: _Results) -> RecordedTool:
    name, description, parameters = offered
    real = agent.tools.get(name)
    exclusive = real is not None and real.exclusive
    return RecordedTool(name, description, results.of, parameters, exclusive=exclusive)


def play_memory(agent: Agent, recording: Recording) -> None:
    """Put before the model what memory recalled then, at the same places."""
    turns = {each.number: each for each in recording.turns}

    async def listener(event: Mapping[str, Any], following: Following) -> Mapping[str, Any]:
        answer = await following()
        turn = turns.get(event["turn"])
        entered = () if turn is None else turn.entered.get(event["step"], ())
        if answer.get("kind") != "enter" or not any(entered):
            return answer
        waiting = list(answer["messages"])
        merged = [each or (waiting.pop(0) if waiting else None) for each in entered]
        messages = [each for each in merged if each is not None]
        return {**answer, "messages": [*messages, *waiting]}

    agent.hooks.on("agent/pre-step", listener)


class _Results:
    """The results of each turn: by the call's id, else by what was called with what."""

    def __init__(self, recording: Recording, agent: Agent) -> None:
        self._turns = {each.number: each for each in recording.turns}
        self._agent = agent

    def of(self, execution: Execution) -> ToolResult:
        """Give the result of a call."""
        turn = self._turns.get(execution.turn)
        found = None if turn is None else _result(turn, execution)
        if turn is not None and turn.stopped_at == execution.call_id and turn.cause is not None:
            self._agent.cancel(turn.cause)
        if found is None:
            said = f"the recording has no result for {execution.name} {execution.raw_arguments}"
            return ToolResult.failed(said, ToolFault("NotRecordedError", MISSING))
        return found


def _result(turn: RecordedTurn, execution: Execution) -> ToolResult | None:
    asked = (execution.name, execution.raw_arguments)
    found = turn.results.get(execution.call_id)
    if found is None or (found.name, found.arguments) != asked:
        same = (each for each in turn.results.values() if (each.name, each.arguments) == asked)
        found = next(same, None)
    return None if found is None else _as_result(found.result)


def _as_result(data: Mapping[str, Any]) -> ToolResult:
    message = data.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    block = content[0] if isinstance(content, list) and content else {}
    error = data.get("error")
    fault = None
    if isinstance(error, Mapping):
        fault = ToolFault(str(error.get("name")), str(error.get("code")))
    return ToolResult(
        block.get("content") or [], fault, is_error=bool(block.get("isError")),
        meta=data.get("meta"),
    )  # fmt: skip
