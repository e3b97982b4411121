"""Streams of models as tests write them, read by the reader of a wire."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dshloop.llm.anthropic import MessagesWire
from dshloop.llm.messages import Assembly, Chunk, ModelRequest
from dshloop.llm.openai import ChatWire
from dshloop.llm.sse import EventParser
from dshloop.llm.wire import AnswerReader

ASKED = ModelRequest("p", "m")


def chat(*deltas: dict[str, Any], finish: str | None = "stop", usage: Any = None) -> bytes:
    """Give a stream of chat completions."""
    frames: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    if finish is not None:
        frames.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage is not None:
        frames.append({"choices": [], "usage": usage})
    return sse(*frames) + b"data: [DONE]\n\n"


def sse(*frames: Any) -> bytes:
    """Give frames as unnamed events."""
    return b"".join(b"data: " + json.dumps(frame).encode() + b"\n\n" for frame in frames)


def named(*frames: dict[str, Any]) -> bytes:
    """Give frames as events that are named by their type."""
    return b"".join(
        f"event: {frame['type']}\ndata: {json.dumps(frame)}\n\n".encode() for frame in frames
    )


START = {"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}}
STOP = {"type": "message_stop"}


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the frames of one block."""
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text(index: int, *pieces: str) -> list[dict[str, Any]]:
    """Give the frames of a text block."""
    deltas = ({"type": "text_delta", "text": piece} for piece in pieces)
    return block(index, {"type": "text", "text": ""}, *deltas)


def ending(reason: str = "end_turn", **usage: int) -> list[dict[str, Any]]:
    """Give the last frames of an answer."""
    said = {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}
    return [said, STOP]


def messages(*frames: Any, reason: str = "end_turn", **usage: int) -> bytes:
    """Give a whole stream of Messages around the frames of its blocks."""
    flat = [one for frame in frames for one in (frame if isinstance(frame, list) else [frame])]
    return named(START, *flat, *ending(reason, **{"output_tokens": 3, **usage}))


def chunks(reader: AnswerReader, stream: bytes) -> list[Chunk]:
    """Read a stream to its end."""
    parser = EventParser()
    found = [chunk for event in parser.feed(stream) for chunk in reader.read(event)]
    return [*found, *reader.end()]


def read_chat(stream: bytes) -> list[Chunk]:
    """Read a stream of chat completions."""
    return chunks(ChatWire().reader(ASKED), stream)


def read_messages(stream: bytes) -> list[Chunk]:
    """Read a stream of Messages."""
    return chunks(MessagesWire().reader(ASKED), stream)


def assembled(found: Sequence[Chunk]) -> Assembly:
    """Put chunks together as the host does, and check what every stream of chunks must be."""
    whole = Assembly()
    opened: dict[int, str] = {}
    for chunk in found:
        if chunk["type"] == "block-start":
            assert chunk["index"] == len(opened)
            opened[chunk["index"]] = chunk["blockType"]
        elif "index" in chunk:
            assert opened[chunk["index"]]
        if chunk["type"] == "block-end":
            before = whole.content()[chunk["index"]]
            assert before == chunk["block"], "the deltas of a block make the block"
            opened[chunk["index"]] = ""
        whole.add(chunk)
    assert set(opened.values()) <= {""}, "every block ends"
    assert [chunk["type"] for chunk in found][-2:][-1] == "finish"
    return whole
