"""The wire of chat completions: ``POST <base>/chat/completions``, as DSH 0.1 speaks it.

Reasoning goes back within the turn it was given in, as DeepSeek wants it, and never later.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dshloop.llm.history import Answer, Item, Result, Said, image_of, read_history
from dshloop.llm.messages import ModelRequest
from dshloop.llm.openai_answer import ChatReader
from dshloop.llm.wire import Endpoint

OFF = "off"


class ChatWire:
    """Chat completions, as most servers of models speak them."""

    def url(self, base: str) -> str:
        """Give where requests are posted; a base that names it already stays."""
        base = base.rstrip("/")
        return base if base.endswith("/chat/completions") else f"{base}/chat/completions"

    def headers(self, key: str | None) -> dict[str, str]:
        """Give the key as a bearer token."""
        return {} if key is None else {"authorization": f"Bearer {key}"}

    def body(self, request: ModelRequest, endpoint: Endpoint) -> dict[str, Any]:
        """Give the body of a request. Raises WireError, UNSUPPORTED_CONTENT."""
        body: dict[str, Any] = {
            "model": request.model,
            "messages": list(_messages(request)),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        limit = request.max_tokens or endpoint.max_tokens
        if limit is not None:
            openai = endpoint.dialect == "openai"
            body["max_completion_tokens" if openai else "max_tokens"] = limit
        if request.tools:
            body["tools"] = [{"type": "function", "function": dict(tool)} for tool in request.tools]
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.stop:
            body["stop"] = list(request.stop)
        if request.seed is not None:
            body["seed"] = request.seed
        return {**body, **_effort(request.reasoning_effort, endpoint)}

    def reader(self, request: ModelRequest) -> ChatReader:  # noqa: ARG002 - nothing depends on it
        """Give what reads the answer."""
        return ChatReader()


def _effort(effort: str | None, endpoint: Endpoint) -> dict[str, Any]:
    if effort is None:
        return {}
    if endpoint.dialect == "deepseek":
        if effort == OFF:
            return {"thinking": {"type": "disabled"}}
        return {"thinking": {"type": "enabled"}, "reasoning_effort": effort}
    return {"reasoning_effort": "none" if effort == OFF else effort}


def _messages(request: ModelRequest) -> Iterator[dict[str, Any]]:
    if request.system:
        yield {"role": "system", "content": request.system}
    for item in read_history(request.messages):
        yield _message(item, request)


def _message(item: Item, request: ModelRequest) -> dict[str, Any]:
    if isinstance(item, Said):
        role = "user" if item.role == "user" else "system"
        return {"role": role, "content": _said(item, request) if item.images else item.text}
    if isinstance(item, Result):
        return {"role": "tool", "tool_call_id": item.call_id, "content": item.text}
    return _answer(item, request.provider)


def _said(item: Said, request: ModelRequest) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"type": "text", "text": item.text}] if item.text else []
    for block in item.images:
        media_type, content = image_of(block, request.attachments)
        url = f"data:{media_type};base64,{content}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return parts


def _answer(item: Answer, provider: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": item.text() or None}
    reasoning = item.text("reasoning")
    if reasoning and item.current and item.provider == provider:
        message["reasoning_content"] = reasoning
    if item.calls:
        message["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"] or "{}"},
            }
            for call in item.calls
        ]
    return message
