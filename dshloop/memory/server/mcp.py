"""The tools of MCP clients that speak REST: recall and save (agentmemory 3.11)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dshloop.memory.server import memories, search
from dshloop.memory.server.calls import Answer, Call, CallRefusedError, encoded, text_in
from dshloop.memory.store import MemoryStore

RECALL, SAVE = "memory_recall", "memory_save"

_TEXT = {"type": "string"}
_TOOLS = [
    {
        "name": RECALL,
        "description": "Search past observations and memories.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": _TEXT,
                "limit": {"type": "number"},
                "format": {"type": "string", "enum": list(search.FORMATS)},
                "token_budget": {"type": "number"},
                "project": _TEXT,
            },
            "required": ["query"],
        },
    },
    {
        "name": SAVE,
        "description": "Keep a memory: a decision, a preference, a fact.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "content": _TEXT,
                "type": _TEXT,
                "concepts": _TEXT,
                "files": _TEXT,
                "project": _TEXT,
            },
            "required": ["content"],
        },
    },
]


def tools(call: Call, store: MemoryStore) -> Answer:
    """List the tools."""
    return Answer(200, {"tools": _TOOLS})


def call_tool(call: Call, store: MemoryStore) -> Answer:
    """Call a tool; its answer comes as text."""
    (name,) = call.needed("name is required", "name")
    given = call.body.get("arguments")
    arguments = dict(given) if isinstance(given, Mapping) else {}
    if name == RECALL:
        if text_in(arguments, "query") is None:
            raise CallRefusedError(400, "query is required for memory_recall")
        answer = search.search(replace(call, body=arguments), store)
        return _told(json.dumps(answer.value, ensure_ascii=False, indent=2))
    if name == SAVE:
        if text_in(arguments, "content") is None:
            raise CallRefusedError(400, "content is required for memory_save")
        arguments |= {key: _list(arguments.get(key)) for key in ("concepts", "files")}
        return _told(encoded(memories.remember(replace(call, body=arguments), store).value))
    raise CallRefusedError(400, f"Unknown tool: {name}")


def _list(value: Any) -> Any:
    """Read a list that MCP clients write with commas."""
    return [one.strip() for one in value.split(",")] if isinstance(value, str) else value


def _told(text: str) -> Answer:
    return Answer(200, {"content": [{"type": "text", "text": text}]})
