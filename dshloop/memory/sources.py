"""Marks that tell where a text came from: memory's own tools, and what recall puts into prompts."""

from __future__ import annotations

import re

TRANSCRIPT = "transcript"
"""The ``kind`` of the source of what was read from a log."""

WRAPPERS = (
    "agentmemory-context",
    "agentmemory-file-context",
    "agentmemory-relevant-context",
    "agentmemory-past-errors",
    "dshloop-memory",
    "memory-context",
    "patchouli-memory",
)
"""Tags in which recalled text is put into a prompt."""

_MEMORY_TOOL = re.compile(
    r"(?:^|__|[./:])memory_(?:recall|retrieve|search|smart_search|context|timeline|list|get|show|profile)"
    r"|(?:^|__|[./:])(?:search_nodes|open_nodes|read_graph)$",
    re.I,
)
_WRAPPER = re.compile(rf"</?(?:{'|'.join(WRAPPERS)})[\s>]", re.I)


def is_memory_tool(name: str) -> bool:
    """Tell a tool that gives back what memory holds."""
    return _MEMORY_TOOL.search(name) is not None


def holds_recalled(text: str) -> bool:
    """Tell a text that recalled text was put into, by the tags around it."""
    return "<" in text and _WRAPPER.search(text) is not None
