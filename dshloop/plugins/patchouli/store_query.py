"""What a retrieve call asks our store for (docs/patchouli.md). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dshloop.lossless_json import js_trim
from dshloop.memory.answers import Filters
from dshloop.memory.entries import KINDS
from dshloop.plugins.patchouli import points

LIMIT = 5
TOOL_LIMIT = 10
MOST = 100
_TEXTS = ("project", "agent", "type", "session", "concept", "file", "since", "until", "kind")
METADATA = (*_TEXTS, "allProjects", "old", "minScore")
"""The keys of ``data.metadata`` that our store knows."""


class Asked(NamedTuple):
    """A question; entries of ``but_session`` are in the model's sight already."""

    query: str
    filters: Filters
    limit: int
    min_score: float | None
    but_session: str | None


def asked_of(request: Mapping[str, Any], project: str | None) -> Asked | None:
    """Read a request; None when it asks nothing. Raises ValueError for wrong metadata."""
    meta, data = request["meta"], request["data"]
    query = data["query"] if isinstance(data.get("query"), str) else last_words(data)
    query = js_trim(query)
    if not query:
        return None
    metadata = data.get("metadata") or {}
    _check(metadata)
    attributes = meta.get("attributes", {})
    by_tool = attributes.get("point") != points.PRE_STEP
    limit = data.get("limit", TOOL_LIMIT if by_tool else LIMIT)
    return Asked(
        query,
        _filters(metadata, project),
        max(1, min(MOST, int(limit))),
        metadata.get("minScore"),
        None if by_tool else attributes.get("sessionId"),
    )


def last_words(data: Mapping[str, Any]) -> str:
    """Give the text of the last message that a user wrote, empty when there is none."""
    for message in reversed(data.get("messages") or ()):
        source = message.get("source") or {}
        if source.get("kind") == "user" and isinstance(message.get("content"), list):
            blocks = (block for block in message["content"] if block.get("type") == "text")
            return "\n".join(str(block.get("text", "")) for block in blocks)
    return ""


def _check(metadata: Mapping[str, Any]) -> None:
    for key, value in metadata.items():
        if key not in METADATA:
            raise ValueError(f'metadata has no key "{key}"; there are {", ".join(METADATA)}')
        if key in _TEXTS and (not isinstance(value, str) or not value.strip()):
            raise ValueError(f"metadata.{key} must be a text")
        if key in ("allProjects", "old") and not isinstance(value, bool):
            raise ValueError(f"metadata.{key} must be true or false")
    if metadata.get("kind", KINDS[0]) not in KINDS:
        raise ValueError(f"metadata.kind must be one of {', '.join(KINDS)}")
    score = metadata.get("minScore", 0)
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        raise ValueError("metadata.minScore must be a number from 0 to 1")


def _filters(metadata: Mapping[str, Any], project: str | None) -> Filters:
    everywhere = metadata.get("allProjects") is True
    names = ("agent", "type", "session", "concept", "file")
    return Filters(
        kinds=(metadata["kind"],) if "kind" in metadata else KINDS,
        project=metadata.get("project", None if everywhere else project),
        since=_moment(metadata.get("since"), end=False),
        until=_moment(metadata.get("until"), end=True),
        old=metadata.get("old", False),
        **{name: metadata[name] for name in names if name in metadata},
    )


def _moment(text: str | None, *, end: bool) -> float | None:
    """Read a day, a moment or an age. Raises DATE_INVALID."""
    if text is None:
        return None
    import time

    from dshloop.memory.moments import read_moment

    moment = read_moment(text, time.time())
    return moment.end if end else moment.start
