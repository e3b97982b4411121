"""Chunks of a model's answer, checked where they come in (dsh-sessions 5, shared shapes)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

BLOCKS = {"text": ("text",), "reasoning": ("text",), "tool-call": ("id", "name", "arguments")}
"""A block's type -> its texts."""
FINISHES = ("stop", "tool-calls", "max-tokens", "aborted", "error")
COUNTS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens")


class ChunkError(ValueError):
    """A chunk is none; the message says what is wrong."""


def require_chunk(chunk: Any) -> None:
    """Check the shape of a chunk. Raises ChunkError.

    Types that nobody knows yet are taken as they are. That all of it is JSON the log sees.
    """
    if not isinstance(chunk, dict) or not isinstance(chunk.get("type"), str):
        raise ChunkError(f"a chunk must be a mapping with a type, not {type(chunk).__name__}")
    check = _CHECKS.get(chunk["type"])
    if check is not None:
        check(chunk)


def _index(chunk: Mapping[str, Any]) -> None:
    if type(chunk.get("index")) is not int or chunk["index"] < 0:
        raise ChunkError(f"a {chunk['type']} needs an index, a whole number from 0")


def _text_delta(chunk: Mapping[str, Any]) -> None:
    _index(chunk)
    if not isinstance(chunk.get("text"), str):
        raise ChunkError(f"the text of a {chunk['type']} must be a string")


def _call_delta(chunk: Mapping[str, Any]) -> None:
    _index(chunk)
    for name in ("argumentsDelta", "id", "name"):
        if not isinstance(chunk.get(name, "" if name != "argumentsDelta" else None), str):
            raise ChunkError(f"{name} of a tool-call-delta must be a string")


def _block_start(chunk: Mapping[str, Any]) -> None:
    _index(chunk)
    if chunk.get("blockType") not in tuple(BLOCKS):
        raise ChunkError(f"blockType of a block-start must be one of {', '.join(BLOCKS)}")


def _block_end(chunk: Mapping[str, Any]) -> None:
    _index(chunk)
    block = chunk.get("block")
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(block, dict) or not isinstance(kind, str):
        raise ChunkError("a block-end needs a block, a mapping with a type")
    for name in BLOCKS.get(kind, ()):
        if not isinstance(block.get(name), str):
            raise ChunkError(f"{name} of a {kind} block must be a string")


def _usage(chunk: Mapping[str, Any]) -> None:
    usage = chunk.get("usage")
    if not isinstance(usage, dict):
        raise ChunkError("usage must be a mapping of counts")
    for name in COUNTS:
        count = usage.get(name, 0)
        if type(count) is not int or count < 0:
            raise ChunkError(f"{name} of a usage must be a whole number from 0")


def _finish(chunk: Mapping[str, Any]) -> None:
    reason = chunk.get("reason")
    kind = reason.get("kind") if isinstance(reason, dict) else None
    if not isinstance(reason, dict) or kind not in FINISHES:
        raise ChunkError(f"the reason of a finish must have a kind, one of {', '.join(FINISHES)}")
    failed = reason.get("failure")
    if failed is None:
        return
    if not isinstance(failed, dict) or not all(
        isinstance(failed.get(name), str) for name in ("message", "code")
    ):
        raise ChunkError("the failure of a finish needs a message and a code")


_CHECKS: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
    "text-delta": _text_delta,
    "reasoning-delta": _text_delta,
    "tool-call-delta": _call_delta,
    "block-start": _block_start,
    "block-end": _block_end,
    "usage": _usage,
    "finish": _finish,
}
