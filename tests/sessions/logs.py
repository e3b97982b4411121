"""Whole sessions with tool calls, for tests that damage, copy and convert them."""

from __future__ import annotations

from typing import Any

from tests.transcripts.logs import event

Events = list[dict[str, Any]]


def message(text: str, **source: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"id": f"m-{text[:8]}", "role": "user", "content": content, "source": source}


def talk(number: int, seq: int, *, calls: int = 1, text: str = "hello") -> Events:
    """A whole turn of v0 with one step that calls tools and one that answers."""
    made: Events = []

    def add(kind: str, data: Any, **rest: Any) -> int:
        made.append(event(kind, seq + len(made), data, **rest))
        return int(made[-1]["seq"])

    def place(step: int) -> dict[str, int]:
        return {"turn": number, "step": step}

    add("turn/start", {"turn": number})
    add("step/start", place(1))
    asked = add("user/message", message(text, kind="user"), surfaceOp="append")
    title = {"title": text, "messageSeqs": [asked], "source": {"kind": "fallback"}}
    add("session/title", title)
    names = [f"c{number}-{at}" for at in range(calls)]
    answer(add, place(1), "I look", names)
    started = [
        add("tool/call", {**place(1), "callId": name, "name": "read", "arguments": "{}"})
        for name in names
    ]
    for name, call in zip(names, started, strict=True):
        block = {"type": "tool-result", "toolCallId": name}
        block["content"] = [{"type": "text", "text": f"result of {name}"}]
        source = {"kind": "tool", "callId": name}
        said = {"id": f"r-{name}", "role": "user", "content": [block], "source": source}
        add(
            "tool/result",
            {**place(1), "message": said},
            surfaceOp="append",
            sourceEventSeqs=[call],
        )
    add("step/end", place(1))
    add("step/start", place(2))
    answer(add, place(2), f"answer {number}", [])
    add("step/end", place(2))
    add("turn/end", {"turn": number, "reason": {"kind": "completed"}})
    return made


def answer(add: Any, place: dict[str, int], text: str, names: list[str]) -> None:
    """Add the chunks of an answer and the message they make."""
    sources = [
        add("assistant/chunk", {**place, "chunk": {"type": "text-delta", "index": 0, "text": each}})
        for each in text
    ]
    content: list[dict[str, Any]] = [{"type": "text", "text": text}]
    content += [
        {"type": "tool-call", "id": name, "name": "read", "arguments": "{}"} for name in names
    ]
    source = {"kind": "model", "provider": "p", "model": "m"}
    said = {"id": f"a-{sources[0]}", "role": "assistant", "content": content, "source": source}
    data = {**place, "message": said, "usage": {"inputTokens": 5, "outputTokens": len(text)}}
    add("assistant/message", data, surfaceOp="append", sourceEventSeqs=sources)


def conversation(turns: int, **options: Any) -> Events:
    """Several turns, one after the other."""
    made: Events = []
    for number in range(1, turns + 1):
        made += talk(number, len(made), **options)
    return made
