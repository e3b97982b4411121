"""The adapter that needs no model: one fixed reply, character by character (loop-dock 13)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

from dshloop.llm.messages import Chunk, ModelRequest, text_block

PROVIDER = "loop-ping"
MODEL = "ping"
REPLY = "loop-ping: local no-model reply (generated locally, no model call)."


class PingAdapter:
    """Answers every request with the same text; ignores what it is asked."""

    def __init__(self, provider: str = PROVIDER, reply: str = REPLY) -> None:
        self.provider = provider
        self._reply = reply

    def resolve_model(self, provider: str, model: str) -> dict[str, str]:
        """Accept any model name."""
        return {"provider": provider, "id": model, "name": model}

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:  # noqa: ARG002
        """Yield the reply's chunks, letting others run between them."""
        for chunk in ping_chunks(self._reply):
            await asyncio.sleep(0)
            yield chunk


def ping_chunks(reply: str) -> Iterator[Chunk]:
    """Yield block-start, a delta for each code point, block-end, usage and finish."""
    yield {"type": "block-start", "index": 0, "blockType": "text"}
    for char in reply:
        yield {"type": "text-delta", "index": 0, "text": char}
    yield {"type": "block-end", "index": 0, "block": text_block(reply)}
    yield {"type": "usage", "usage": {"inputTokens": 0, "outputTokens": utf16_length(reply)}}
    yield {"type": "finish", "reason": {"kind": "stop"}}


def utf16_length(text: str) -> int:
    """Count the UTF-16 units of a text, as JavaScript measures strings."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
