"""The adapter that needs no model."""

from __future__ import annotations

import asyncio

from dshloop.llm.messages import ModelRequest
from dshloop.llm.ping import PROVIDER, REPLY, PingAdapter, ping_chunks


def test_one_delta_for_each_code_point() -> None:
    assert list(ping_chunks("a😀")) == [
        {"type": "block-start", "index": 0, "blockType": "text"},
        {"type": "text-delta", "index": 0, "text": "a"},
        {"type": "text-delta", "index": 0, "text": "😀"},
        {"type": "block-end", "index": 0, "block": {"type": "text", "text": "a😀"}},
        {"type": "usage", "usage": {"inputTokens": 0, "outputTokens": 3}},
        {"type": "finish", "reason": {"kind": "stop"}},
    ]


def test_the_request_is_ignored() -> None:
    async def chunks() -> list[dict]:
        request = ModelRequest(PROVIDER, "any", messages=[{"role": "user"}])
        return [chunk async for chunk in PingAdapter().stream(request)]

    assert asyncio.run(chunks()) == list(ping_chunks(REPLY))


def test_any_model_is_accepted() -> None:
    resolved = {"provider": "loop-ping", "id": "m", "name": "m"}
    assert PingAdapter().resolve_model("loop-ping", "m") == resolved
