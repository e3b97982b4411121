"""Messages, blocks and stream chunks in DSH's shapes (dsh-sessions 5)."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

Chunk = dict[str, Any]
Message = dict[str, Any]


class ModelRequest(NamedTuple):
    """What an adapter is asked: the history the model sees, and how to answer.

    ``attachments`` has the bytes of the images in it.
    """

    provider: str
    model: str
    system: str | None = None
    messages: Sequence[Message] = ()
    tools: Sequence[Mapping[str, Any]] = ()
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    temperature: float | None = None
    stop: Sequence[str] = ()
    session_id: str | None = None
    seed: int | None = None
    attachments: Attachments | None = None


class Attachments(Protocol):
    """Has the bytes of what is attached to messages."""

    def read(self, attachment_id: str) -> bytes:
        """Give an attachment's bytes. Raises ATTACHMENT_NOT_FOUND."""
        ...


class ModelAdapter(Protocol):
    """A provider of models.

    ``stream`` yields chunks and ends with a ``finish`` chunk, usage before it; a failed request
    finishes with reason kind ``error``. It is cancelled like any other coroutine.
    """

    provider: str

    def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Answer one request."""
        ...


def text_block(text: str) -> dict[str, Any]:
    """Make a text block."""
    return {"type": "text", "text": text}


def user_message(
    text: str, *, source: Mapping[str, Any] | None = None, images: Sequence[Chunk] = ()
) -> Message:
    """Make a message of the user's, or of whatever ``source`` names, under a new id."""
    return {
        "content": [text_block(text), *images],
        "source": dict(source or {"kind": "user"}),
        "role": "user",
        "id": str(uuid.uuid4()),
    }


def assistant_message(
    content: Sequence[Any], provider: str, model: str, replay_state: object = None
) -> Message:
    """Make a message of a model's under a new id; the state is for its provider."""
    source = {"kind": "model", "provider": provider, "model": model}
    return {
        "role": "assistant",
        "content": list(content),
        "source": source if replay_state is None else {**source, "replayState": replay_state},
        "id": str(uuid.uuid4()),
    }


def failure(message: str, code: str = "UNKNOWN") -> dict[str, Any]:
    """Make the description of a failure as logs hold it."""
    return {"message": message, "code": code}


def plain_text(content: object) -> str:
    """Join the text blocks of a message's content."""
    blocks = content if isinstance(content, list) else []
    texts = (block["text"] for block in blocks if _is_text(block))
    return "".join(texts)


def _is_text(block: object) -> bool:
    return (
        isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    )


@dataclass(slots=True)
class Assembly:
    """An answer that is coming in: feed it every chunk, take blocks, usage and the end from it."""

    usage: Mapping[str, Any] | None = None
    finish: Mapping[str, Any] | None = None
    replay_state: object = None
    _blocks: dict[int, dict[str, Any]] = field(default_factory=dict)
    _pieces: dict[int, list[str]] = field(default_factory=dict)  # of blocks that have not ended

    def add(self, chunk: Chunk) -> None:
        """Take one chunk in; unknown kinds are ignored."""
        kind = chunk.get("type")
        if kind in _DELTAS:
            self._delta(chunk, *_DELTAS[kind])
        elif kind == "usage":
            self.usage = chunk["usage"]
        elif kind == "finish":
            self.finish, self.replay_state = chunk["reason"], chunk.get("replayState")
        elif kind == "block-start":
            self._start(chunk["index"], chunk["blockType"])
        elif kind == "block-end":
            self._blocks[chunk["index"]] = chunk["block"]
            self._pieces.pop(chunk["index"], None)

    def _start(self, index: int, block_type: str) -> None:
        self._blocks[index], self._pieces[index] = _empty_block(block_type), []

    def _delta(self, chunk: Chunk, block_type: str, source: str) -> None:
        index = chunk["index"]
        if index not in self._pieces:
            self._open(index, block_type)
        self._pieces[index].append(chunk[source])
        if block_type == "tool-call":
            block = self._blocks[index]
            block.update({name: chunk[name] for name in ("id", "name") if name in chunk})

    def _open(self, index: int, block_type: str) -> None:
        """Take deltas for a block that was never begun, or that has ended already."""
        ended = self._blocks.get(index)
        self._start(index, block_type)
        if ended is not None:
            self._blocks[index] = ended
            self._pieces[index].append(ended[_target(ended)])

    def content(self) -> list[dict[str, Any]]:
        """Give all blocks in the order of their index."""
        return [self._block(index) for index in sorted(self._blocks)]

    def _block(self, index: int) -> dict[str, Any]:
        block = self._blocks[index]
        if index not in self._pieces:
            return block
        return {**block, _target(block): "".join(self._pieces[index])}

    def visible(self) -> list[dict[str, Any]]:
        """Give what a person has seen of it so far: the text blocks that aren't empty."""
        return [block for block in self.content() if block["type"] == "text" and block["text"]]


_DELTAS = {
    "text-delta": ("text", "text"),
    "reasoning-delta": ("reasoning", "text"),
    "tool-call-delta": ("tool-call", "argumentsDelta"),
}
"""A delta's type -> the block it belongs to, and its own key for the piece."""


def _target(block: Mapping[str, Any]) -> str:
    return "arguments" if block["type"] == "tool-call" else "text"


def _empty_block(block_type: str) -> dict[str, Any]:
    if block_type == "tool-call":
        return {"type": block_type, "id": "", "name": "", "arguments": ""}
    return {"type": block_type, "text": ""}
