"""Small logs for tests, written as bytes so that they can be damaged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

HEADER = {
    "type": "session",
    "version": 0,
    "id": "s-1",
    "createdAt": 1000,
    "cwd": "/home/dev",
    "delegationDepth": 0,
}


def line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def event(kind: str, seq: int, data: Any, **rest: Any) -> dict[str, Any]:
    return {"type": kind, "seq": seq, "time": 1000 + seq, "data": data, **rest}


def turn(number: int, seq: int, text: str = "hi") -> list[dict[str, Any]]:
    """The events of a turn without an answer, from ``seq`` on: five of them."""
    place = {"turn": number, "step": 1}
    message = {"content": [{"type": "text", "text": text}], "source": {"kind": "user"}}
    return [
        event("turn/start", seq, {"turn": number}),
        event("step/start", seq + 1, place),
        event("user/message", seq + 2, {**message, "role": "user", "id": "m"}, surfaceOp="append"),
        event("step/end", seq + 3, place),
        event("turn/end", seq + 4, {"turn": number, "reason": {"kind": "completed"}}),
    ]


def write(path: Path, events: Iterable[Mapping[str, Any]], header: Any = HEADER) -> Path:
    path.write_bytes(b"".join([line(header), *map(line, events)]))
    return path


def zstd_frames(parts: Iterable[bytes]) -> bytes:
    """Encode each part as a frame of its own, with checksum and without content size."""
    import zstandard

    parameters = zstandard.ZstdCompressionParameters(write_checksum=1, write_content_size=0)
    compressor = zstandard.ZstdCompressor(compression_params=parameters)
    return b"".join(compressor.compress(part) for part in parts)
