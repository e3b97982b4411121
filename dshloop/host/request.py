"""One request to a model within a step, and the events it leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dshloop.host.abort import AbortSignal
from dshloop.host.agent import Agent
from dshloop.host.calling import contained
from dshloop.llm.messages import (
    Assembly,
    Chunk,
    ModelAdapter,
    ModelRequest,
    assistant_message,
    failure,
)

MALFORMED = "MALFORMED_RESPONSE"
_OVER: Any = object()


class Answer(NamedTuple):
    """How a request ended: tool calls to run, cut for want of tokens, or failed."""

    calls: Sequence[Mapping[str, Any]] = ()
    cut: bool = False
    failure: Mapping[str, Any] | None = None


async def ask(
    agent: Agent, signal: AbortSignal, place: Mapping[str, int], system: str | None = None
) -> Answer:
    """Ask the agent's model; stream its chunks into the session, then the whole message.

    Listeners on agent/request say with what config, those on agent/request-error whether a
    failed request is made again, in the same step.
    """
    about = {"agent": agent, **place, "signal": signal}
    while True:
        config = await agent.hooks.waterfall("agent/request", about, last=lambda: _config(agent))
        config = config if isinstance(config, Mapping) else {}
        provider, model = config.get("provider"), config.get("model")
        if not provider or not model:
            return Answer(failure=failure(_no_model(agent.id)))
        adapter = agent.adapter(provider)
        if adapter is None:
            return Answer(failure=failure(f'there is no model provider "{provider}"'))
        if signal.aborted:
            return Answer()
        answer = await _request(agent, adapter, _Asked(config, place, system), signal)
        if answer.failure is None or signal.aborted:
            return answer
        event = {**about, "provider": provider, "failure": answer.failure}
        verdict = await agent.hooks.waterfall("agent/request-error", event, last=lambda: None)
        if not isinstance(verdict, Mapping) or verdict.get("kind") != "retry" or signal.aborted:
            return answer


class _Asked(NamedTuple):
    config: Mapping[str, Any]
    place: Mapping[str, int]
    system: str | None


async def _request(
    agent: Agent, adapter: ModelAdapter, asked: _Asked, signal: AbortSignal
) -> Answer:
    config = asked.config
    tools = [tool.as_json() for tool in agent.tools.offered]
    _record_header(agent, adapter, asked, tools)
    request = ModelRequest(
        provider=config["provider"],
        model=config["model"],
        system=asked.system,
        messages=agent.surface.messages(),
        tools=tools,
        max_tokens=config.get("maxTokens"),
        reasoning_effort=config.get("reasoningEffort"),
        temperature=config.get("temperature"),
        stop=config.get("stop") or (),
        session_id=agent.id,
        seed=config.get("seed"),
        attachments=agent.attachments(),
    )
    exchange = _Exchange(agent, asked.place, config["provider"], config["model"])
    error = await exchange.run(adapter.stream(request), signal)
    return exchange.conclude(error, aborted=signal.aborted)


@dataclass(slots=True)
class _Exchange:
    agent: Agent
    place: Mapping[str, int]
    provider: str
    model: str
    assembly: Assembly = field(default_factory=Assembly)
    chunks: list[int] = field(default_factory=list)
    error: Mapping[str, Any] | None = None

    async def run(
        self, stream: AsyncIterator[Chunk], signal: AbortSignal
    ) -> Mapping[str, Any] | None:
        """Take the stream in until its end or the abort; give the failure, if it was one."""
        task = asyncio.ensure_future(self._take(stream))
        signal.on_abort(task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            if not signal.aborted:
                raise
        return self.error

    async def _take(self, stream: AsyncIterator[Chunk]) -> None:
        try:
            await self._take_all(stream)
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()

    async def _take_all(self, stream: AsyncIterator[Chunk]) -> None:
        while True:
            try:
                chunk = await anext(stream, _OVER)
            except BaseException as raised:  # the adapter's; what the log raises is not caught
                error = contained(raised)
                self.error = failure(str(error), getattr(error, "code", "UNKNOWN"))
                return
            if chunk is _OVER:
                return
            try:
                event = self.agent.append("assistant/chunk", {**self.place, "chunk": chunk})
            except (TypeError, ValueError, RecursionError) as error:
                self.error = failure(f"the model's answer is malformed: {error}", MALFORMED)
                return
            self.chunks.append(event["seq"])
            self.assembly.add(chunk)

    def conclude(self, error: Mapping[str, Any] | None, *, aborted: bool) -> Answer:
        """Record the message; after an abort what could be seen of it, after a failure none."""
        finish = self.assembly.finish or {}
        kind = finish.get("kind")
        if aborted and kind is None:
            if self.assembly.visible():
                self._record(self.assembly.visible(), interrupted=True)
            return Answer()
        if error is None and kind in ("error", "aborted"):
            error = finish.get("failure") or failure("the request failed")
        if error is None and kind is None:
            error = failure("the model's stream ended before its answer did", "STREAM_CLOSED")
        content = self.assembly.content() if error is None else []
        calls = [block for block in content if block["type"] == "tool-call"]
        if len({call["id"] for call in calls}) < len(calls):
            error = failure("two calls of the model's answer have the same id", MALFORMED)
        if error is not None:
            return Answer(failure=error)
        self._record(content)
        cut = kind == "max-tokens"
        return Answer(calls=() if cut else calls, cut=cut)

    def _record(self, content: Sequence[Any], *, interrupted: bool = False) -> None:
        state = None if interrupted else self.assembly.replay_state
        message = assistant_message(content, self.provider, self.model, state)
        data: dict[str, Any] = {**self.place, "message": message}
        if self.assembly.usage is not None:
            data["usage"] = self.assembly.usage
        if interrupted:
            data["interrupted"] = True
        self.agent.append("assistant/message", data, sources=self.chunks)


_CONFIG = ("provider", "model", "reasoningEffort", "temperature", "maxTokens", "stop", "seed")


def _config(agent: Agent) -> dict[str, Any]:
    """Give the config that the agent's own options make."""
    options = agent.options
    config: dict[str, Any] = {"provider": options.provider, "model": options.model}
    if options.reasoning_effort is not None:
        config["reasoningEffort"] = options.reasoning_effort
    if options.max_tokens is not None:
        config["maxTokens"] = options.max_tokens
    if options.seed is not None:
        config["seed"] = options.seed
    return config


def _record_header(
    agent: Agent, adapter: ModelAdapter, asked: _Asked, tools: list[dict[str, Any]]
) -> None:
    """Record what the request is made with, as far as it isn't known from the last one."""
    given = asked.config
    config = {key: given[key] for key in _CONFIG if given.get(key) is not None}
    header: dict[str, Any] = {"config": config}
    if asked.system is not None:
        header["system"] = asked.system
    if tools:
        header["tools"] = tools
    agent.requests += 1
    reason = _header_reason(agent, header)
    if reason is not None:
        agent.append("request/header", {"header": header, "reason": reason})
    context = {"provider": config["provider"], "model": config["model"]}
    window = _window(adapter, config["provider"], config["model"])
    context |= {} if window is None else {"contextWindow": window}
    if agent.latest.get("request/context") != context:
        agent.append("request/context", context)


def _window(adapter: ModelAdapter, provider: str, model: str) -> int | None:
    """Give the tokens that a model takes in, where its adapter knows; it may be another author's,
    and not resolve models at all."""
    resolve = getattr(adapter, "resolve_model", None)
    try:
        resolved = resolve(provider, model) if callable(resolve) else None
    except Exception:
        return None
    window = resolved.get("contextWindow") if isinstance(resolved, Mapping) else None
    return window if type(window) is int and window > 0 else None


def _header_reason(agent: Agent, header: Mapping[str, Any]) -> str | None:
    """Say why a header is recorded again; None when the last one still holds."""
    last = agent.latest.get("request/header")
    if last is None:
        return "initial"
    if agent.requests == 1 and agent.session.resumed:
        return "resume"
    return "change" if last.get("header") != header else None


def _no_model(agent_id: str) -> str:
    return (
        f'agent "{agent_id}" has no provider/model: set AgentOptions.provider and '
        "AgentOptions.model or supply both via the agent/request waterfall"
    )
