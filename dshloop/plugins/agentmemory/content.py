"""Texts of events as they may leave: what the blocks say, without secrets, cut. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dshloop.redact import MARK, redact

MARGIN = 10_000
"""Characters behind a cut that are looked at for secrets: one that is cut in half is none."""

_PRIVATE = "<private"
_SHORTEST = 6
"""Characters of a secret that is looked for: a shorter one is a word like any other."""


def said(content: object) -> str:
    """Join the text blocks of a message by newlines, those within tool results too."""
    return content if isinstance(content, str) else "\n".join(_texts(content))


def cleaned(text: str, limit: int, secret: str = "") -> str:
    """Take secrets and private blocks out of a text, then cut it; ``secret`` is the row's own.

    Only as much is looked at as can matter: outputs of tools may be long.
    """
    head = text[: limit + MARGIN]
    if len(head) < len(text) and _PRIVATE in head.lower():
        head = text
    if len(secret) >= _SHORTEST:
        head = head.replace(secret, MARK)
    redacted: str = redact(head, private=True).value
    return whole(redacted)[:limit]


def whole(text: str) -> str:
    """Replace lone surrogates: a daemon takes a body with one for an empty one (agentmemory 1)."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _texts(content: object) -> Iterator[str]:
    for block in content if isinstance(content, list | tuple) else ():
        if not isinstance(block, Mapping):
            continue
        kind, text = block.get("type"), block.get("text")
        if kind == "tool-result":
            inner = block.get("content")
            yield from [inner] if isinstance(inner, str) else _texts(inner)
        elif kind == "text" and isinstance(text, str):
            yield text


def member(value: Any, *path: str) -> Any:
    """Give what stands at a path of keys; None where there is nothing."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def string(value: Any) -> str:
    """Give a text as it is, anything else as none."""
    return value if isinstance(value, str) else ""
