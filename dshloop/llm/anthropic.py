"""The wire of Messages: ``POST <base>/v1/messages``, an answer as named events.

As DSH 0.2 speaks it. Signatures of thinking are kept in an answer's replay state, one note a
block, and go back with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from dshloop.llm.anthropic_answer import MessagesReader
from dshloop.llm.history import Answer, Merged, Result, Said, image_of, merged, read_history
from dshloop.llm.messages import ModelRequest
from dshloop.llm.wire import Endpoint

VERSION = "2023-06-01"
MAX_TOKENS = 32_000
"""What an answer may hold where nobody says: the wire wants a number."""

OFF = "off"
_EPHEMERAL = {"type": "ephemeral"}


class MessagesWire:
    """Messages, as DeepSeek and Anthropic speak them."""

    def url(self, base: str) -> str:
        """Give where requests are posted; a base that ends in /v1 gets /messages only."""
        base = base.rstrip("/")
        if base.endswith("/messages"):
            return base
        return f"{base}/messages" if base.endswith("/v1") else f"{base}/v1/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        """Give the key and the version of the wire."""
        said = {"anthropic-version": VERSION}
        return said if key is None else {**said, "x-api-key": key}

    def body(self, request: ModelRequest, endpoint: Endpoint) -> dict[str, Any]:
        """Give the body of a request. Raises WireError, UNSUPPORTED_CONTENT."""
        system, messages = _conversation(request, endpoint)
        body: dict[str, Any] = {
            "model": request.model,
            "max_tokens": request.max_tokens or endpoint.max_tokens or MAX_TOKENS,
            "stream": True,
            "messages": messages,
        }
        if system:
            body["system"] = system
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.stop:
            body["stop_sequences"] = list(request.stop)
        if endpoint.dialect == "anthropic":
            _mark_cached(body)
        return {**body, **_effort(request.reasoning_effort, endpoint)}

    def reader(self, request: ModelRequest) -> MessagesReader:
        """Give what reads the answer."""
        return MessagesReader(request.model)


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    shown = {"name": tool["name"], "description": tool["description"]}
    return {**shown, "input_schema": tool["parameters"]}


def _effort(effort: str | None, endpoint: Endpoint) -> dict[str, Any]:
    if effort is None:
        return {}
    if effort == OFF:
        return {"thinking": {"type": "disabled"}}
    kind = "enabled" if endpoint.dialect == "deepseek" else "adaptive"
    return {"thinking": {"type": kind}, "output_config": {"effort": effort}}


def _mark_cached(body: dict[str, Any]) -> None:
    """Ask for what will be sent again to be cached: up to the system prompt, and up to now."""
    if "system" in body:
        block = {"type": "text", "text": body["system"], "cache_control": _EPHEMERAL}
        body["system"] = [block]
    if body["messages"]:
        last = body["messages"][-1]["content"]
        last[-1] = {**last[-1], "cache_control": _EPHEMERAL}


def _conversation(request: ModelRequest, endpoint: Endpoint) -> tuple[str, list[dict[str, Any]]]:
    items = read_history(request.messages)
    rules = [item.text for item in items if isinstance(item, Said) and item.role != "user"]
    spoken = [item for item in items if not isinstance(item, Said) or item.role == "user"]
    system = "\n\n".join(filter(None, (request.system, *rules)))
    messages = [_message(side, request, endpoint) for side in merged(spoken)]
    return system, messages


def _message(side: Merged, request: ModelRequest, endpoint: Endpoint) -> dict[str, Any]:
    if side.answer is not None:
        content = list(_answer(side.answer, request, endpoint))
    else:
        content = [_result(result) for result in side.results]
        content += [part for said in side.said for part in _said(said, request)]
    return {"role": side.role, "content": content}


def _said(said: Said, request: ModelRequest) -> Iterator[dict[str, Any]]:
    """Give what was said; images go before the words that are about them."""
    for block in said.images:
        media_type, content = image_of(block, request.attachments)
        source = {"type": "base64", "media_type": media_type, "data": content}
        yield {"type": "image", "source": source}
    if said.text:
        yield {"type": "text", "text": said.text}


def _result(result: Result) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.call_id}
    block["content"] = result.text
    return {**block, "is_error": True} if result.is_error else block


def _answer(answer: Answer, request: ModelRequest, endpoint: Endpoint) -> Iterator[dict[str, Any]]:
    for at, block in enumerate(answer.blocks):
        note = answer.replay[at] if at < len(answer.replay) else {}
        if block["type"] == "text":
            yield {"type": "text", "text": block["text"]}
        elif block["type"] == "tool-call":
            yield {
                "type": "tool_use",
                "id": block["id"],
                "name": block["name"],
                "input": _arguments(block["arguments"]),
            }
        elif answer.provider == request.provider and answer.model == request.model:
            yield from _thinking(block, note, endpoint)


def _thinking(
    block: Mapping[str, Any], note: Mapping[str, Any], endpoint: Endpoint
) -> Iterator[dict[str, Any]]:
    """Give thinking back to the model it is from; Anthropic takes none without its signature."""
    if isinstance(note.get("redacted"), str):
        yield {"type": "redacted_thinking", "data": note["redacted"]}
        return
    signature = note.get("signature")
    if isinstance(signature, str):
        yield {"type": "thinking", "thinking": block["text"], "signature": signature}
    elif endpoint.dialect == "deepseek" and block["text"]:
        yield {"type": "thinking", "thinking": block["text"]}


def _arguments(raw: str) -> dict[str, Any]:
    """Give the arguments of a call as the object the wire wants, whatever a model once wrote."""
    try:
        value = json.loads(raw) if raw.strip() else {}
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"arguments": raw}
