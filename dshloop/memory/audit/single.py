"""Findings about one entry by itself: secrets, recalled text, what is stale."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dshloop.memory.audit.findings import Finding
from dshloop.memory.entries import Entry, Memory, Observation
from dshloop.memory.interchange.carrying import cleaned
from dshloop.memory.sources import WRAPPERS, holds_recalled, is_memory_tool
from dshloop.redact import redact

STALE_SECONDS = 180 * 86_400.0
STALE_WORTH = 2.0
"""Older and worth no more: what agentmemory forgets by itself (agentmemory 3.6)."""


def findings_of(entry: Entry, now: float) -> Iterator[Finding]:
    """Give what is wrong with an entry."""
    looped = loop(entry)
    if looped is not None:
        yield looped
    hidden = secret(entry)
    if hidden is not None:
        yield hidden
    if is_stale(entry, now):
        yield Finding("STALE", (entry.id,), f"{_days(entry, now)} days old")


def secret(entry: Entry) -> Finding | None:
    """Tell an entry that holds a secret; which one is never told."""
    clean, found = cleaned(entry)
    if not found or not isinstance(clean, (Memory, Observation)):
        return None
    kinds = redact([entry.title, entry.content, dict(entry.source)], private=True).kinds
    return Finding("SECRET", (entry.id,), ", ".join(sorted(kinds)) or "secret", amended=clean)


def loop(entry: Entry) -> Finding | None:
    """Tell an entry that holds recalled text: by the tags around it, or by its tool."""
    if isinstance(entry, Observation) and is_memory_tool(_tool(entry)):
        detail = f"the result of {_tool(entry)}"
        return Finding("FEEDBACK_LOOP", (entry.id,), detail, forgotten=(entry.id,))
    if not holds_recalled(entry.content):
        return None
    rest = without_recalled(entry.content).strip()
    detail = "the tags of an injection"
    if not rest:
        return Finding("FEEDBACK_LOOP", (entry.id,), detail, forgotten=(entry.id,))
    title = without_recalled(entry.title).strip() or rest[:80]
    amended = entry._replace(content=rest, title=title)
    return Finding("FEEDBACK_LOOP", (entry.id,), detail, amended=amended)


def without_recalled(text: str) -> str:
    """Take out what stands between the tags of injections; an open tag reaches to the end."""
    for tag in WRAPPERS:
        if f"<{tag}" in text.lower() or f"</{tag}" in text.lower():
            text = re.sub(rf"(?is)<{tag}(?:\s[^>]*)?>.*?(?:</{tag}\s*>|\Z)|</?{tag}\b[^>]*>?", "",
                          text)  # fmt: skip
    return text


def is_stale(entry: Entry, now: float) -> bool:
    """Tell what is old and was worth little; superseded versions are history, not stale."""
    if isinstance(entry, Memory):
        at, worth = entry.updated_at, entry.strength
        return entry.latest and worth <= STALE_WORTH and now - at > STALE_SECONDS
    return entry.importance <= STALE_WORTH and now - entry.created_at > STALE_SECONDS


def recalls(entry: Entry) -> bool:
    """Tell an observation of a recall: after it, what the session says may be an echo."""
    if not isinstance(entry, Observation):
        return False
    return is_memory_tool(_tool(entry)) or holds_recalled(entry.content)


def _tool(entry: Observation) -> str:
    detail = entry.source.get("detail")
    return detail if isinstance(detail, str) else entry.title


def _days(entry: Entry, now: float) -> int:
    return int((now - entry.created_at) // 86_400)
