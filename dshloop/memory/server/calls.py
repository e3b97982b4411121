"""One call of an endpoint and its answer, and reading what a caller sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from dshloop.memory.server.settings import LONGEST_AGENT, Settings
from dshloop.memory.store import DocumentStore, MemoryStore

if TYPE_CHECKING:
    from dshloop.memory.server.state import State

EVERY_AGENT = "*"
LONGEST_PAGE = 5000
DEFAULT_PAGE = 500
"""Rows of a list that names no limit (agentmemory 13, D3)."""


class Answer(NamedTuple):
    """A status with a JSON value, with ``parts`` of JSON text that come one by one, or with
    neither: no body."""

    status: int = 200
    value: Any = None
    parts: Iterator[str] | None = None


class CallRefusedError(Exception):
    """A call that is answered by a status and ``{"error": text}``; without a text by no body."""

    def __init__(self, status: int, text: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.text = text


Endpoint = Callable[["Call", MemoryStore], Answer]


@dataclass(frozen=True, slots=True)
class Call:
    """What a caller sent: ``body`` is empty when there was none that can be read.

    ``tail`` is the rest of the path, as it came, for routes that end in one.
    """

    state: State
    query: Mapping[str, str]
    body: Mapping[str, Any]
    tail: str = ""

    @property
    def settings(self) -> Settings:
        """The server's settings."""
        return self.state.settings

    def needed(self, error: str, *keys: str) -> tuple[str, ...]:
        """Give the trimmed strings of keys; refuse with ``error`` when one is missing or blank."""
        found = [text_in(self.body, key) for key in keys]
        if not all(found):
            raise CallRefusedError(400, error)
        return tuple(one for one in found if one)

    def agent_filter(self) -> str | None:
        """Give the agent whose rows are asked for: named in body or query, else, isolated, the
        server's own; None for all."""
        named = text_in(self.body, "agentId") or self.query.get("agentId", "").strip()
        if named == EVERY_AGENT:
            return None
        if named:
            return named[:LONGEST_AGENT]
        return self.settings.agent if self.settings.isolated else None

    def writing_agent(self) -> str | None:
        """Give the agent whom a body names, cut to what is stored."""
        named = text_in(self.body, "agentId")
        return None if named is None else named[:LONGEST_AGENT]

    def page(self) -> tuple[int, int]:
        """Give the limit and offset that the query asks for."""
        limit = whole_number(self.query.get("limit")) or 0
        offset = whole_number(self.query.get("offset")) or 0
        return min(limit, LONGEST_PAGE) if limit > 0 else DEFAULT_PAGE, max(offset, 0)

    def asks(self, key: str) -> bool:
        """Tell whether the query says ``key=true``."""
        return self.query.get(key) == "true"


def documents_of(store: MemoryStore) -> DocumentStore:
    """Give the store as one that keeps documents; without it the route isn't there."""
    if not isinstance(store, DocumentStore):
        raise CallRefusedError(404)
    return store


def text_in(body: Mapping[str, Any], key: str) -> str | None:
    """Give a trimmed string; None for a blank one and for anything else."""
    value = body.get(key)
    return value.strip() or None if isinstance(value, str) else None


def texts_in(body: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Give the strings of a list that are not blank."""
    value = body.get(key)
    if not isinstance(value, list):
        return ()
    return tuple(one for one in value if isinstance(one, str) and one.strip())


def positive_integer(value: Any) -> int | None:
    """Give a JSON number that is a positive integer; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, float) and not value.is_integer():
        return None
    return int(value) if value >= 1 else None


def whole_number(text: str | None) -> int | None:
    """Read an integer as a query writes it; None for anything else."""
    text = (text or "").strip()
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    return int(text[:18])


def encoded(value: Any) -> str:
    """Write a value as JSON text; lone surrogates become escapes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def plain(value: float) -> float | int:
    """Give an integer where a number is one."""
    return int(value) if float(value).is_integer() else value
