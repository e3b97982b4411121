"""Reading a request's body: within its limit, in time, and as the contract reads it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from dshloop.memory.server.calls import CallRefusedError

if TYPE_CHECKING:
    from starlette.requests import Request

DEEPEST = 127
"""Levels of nesting that are read (agentmemory 1)."""

PIECE_SECONDS = 20.0
BODY_SECONDS = 120.0
"""How long a client may take for the next piece of a body, and for all of it."""

LARGE = 1 << 18
"""Bytes from which on a body counts as large: few are held at once."""

_NOTHING: Mapping[str, Any] = {}


class Bodies:
    """Reads bodies; of large ones only some at a time, the others wait unread."""

    def __init__(self, large_at_once: int = 4) -> None:
        self._large = asyncio.Semaphore(large_at_once)

    async def read(self, request: Request, limit: int) -> Body:
        """Read a body of at most ``limit`` bytes; refuses with 413 and 408."""
        declared = request.headers.get("content-length", "")
        if declared.isascii() and declared.isdigit() and int(declared[:18]) > limit:
            raise _too_large(limit)
        try:
            async with asyncio.timeout(BODY_SECONDS):
                return await self._read(request, limit)
        except TimeoutError:
            raise CallRefusedError(408, "the body took too long to arrive") from None

    async def _read(self, request: Request, limit: int) -> Body:
        pieces: list[bytes] = []
        size, held = 0, False
        stream = request.stream()
        try:
            while True:
                async with asyncio.timeout(PIECE_SECONDS):
                    piece = await anext(stream, None)
                if piece is None:
                    return Body(b"".join(pieces), self._large if held else None)
                size += len(piece)
                if size > limit:
                    raise _too_large(limit)
                if size > LARGE and not held:
                    await self._large.acquire()
                    held = True
                pieces.append(piece)
        except BaseException:
            if held:
                self._large.release()
            raise


class Body:
    """The bytes of a body; `release` lets the next large one in."""

    __slots__ = ("_large", "data")

    def __init__(self, data: bytes, large: asyncio.Semaphore | None = None) -> None:
        self.data = data
        self._large = large

    def release(self) -> None:
        """Say that the body was dealt with."""
        large, self._large = self._large, None
        self.data = b""
        if large is not None:
            large.release()


def parsed(data: bytes, content_type: str) -> Mapping[str, Any]:
    """Read a body that is a JSON object; anything else counts as none (agentmemory 1)."""
    if not data or "application/json" not in content_type.lower():
        return _NOTHING
    try:
        text = data.decode()
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
        if not isinstance(value, dict):
            return _NOTHING
        if (text.count("[") + text.count("{")) > DEEPEST and _depth(value) > DEEPEST:
            return _NOTHING
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()  # refuses lone surrogates
    except (ValueError, RecursionError):
        return _NOTHING
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if abs(number) == float("inf"):
        raise ValueError(f"{text} is too large a number")
    return number


def _depth(value: Any) -> int:
    """Count levels of nesting, without recursion."""
    deepest, pending = 0, [(value, 1)]
    while pending:
        one, level = pending.pop()
        deepest = max(deepest, level)
        members = one.values() if isinstance(one, dict) else one
        pending += [(each, level + 1) for each in members if isinstance(each, (dict, list))]
    return deepest


def _too_large(limit: int) -> CallRefusedError:
    return CallRefusedError(413, f"the body is larger than {limit >> 20} MiB")
