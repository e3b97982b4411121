"""The two tools with which a model asks memory and tells it something (patchouli 7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dshloop.host.tools import ToolResult
from dshloop.llm.messages import text_block
from dshloop.lossless_json import NotLossless, js_text, js_trim, snapshot
from dshloop.plugins.patchouli.arguments import DshTool
from dshloop.plugins.patchouli.points import TOOL_RETRIEVE, TOOL_UPDATE, meta_of
from dshloop.plugins.patchouli.recall import checked
from dshloop.plugins.patchouli.service import MemoryService, Outcome

if TYPE_CHECKING:
    from dshloop.host.tools import Execution

_SAFE = 2**53 - 1

RETRIEVE = "memory_retrieve"
UPDATE = "memory_update"

RETRIEVE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "The information to retrieve."},
        "limit": {
            "type": "integer",
            "description": "Optional positive maximum number of results requested from each "
            "plugin.",
        },
        "metadata": {
            "type": "object",
            "additionalProperties": True,
            "description": "Optional plugin-defined JSON metadata used to refine retrieval.",
        },
    },
    "required": ["query"],
}
UPDATE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "messages": {
            "type": "array",
            "description": "One or more user or assistant messages to submit.",
            "items": {
                "type": "object",
                "properties": {
                    "role": {"type": "string", "enum": ["user", "assistant"]},
                    "content": {"type": "string"},
                },
                "required": ["role", "content"],
                "additionalProperties": False,
            },
        },
        "resources": {
            "type": "array",
            "description": "Workspace files to store as managed knowledge artifacts.",
            "items": {
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "enum": ["workspace-file"]},
                    "path": {"type": "string"},
                    "mediaType": {"type": "string"},
                    "name": {"type": "string"},
                    "role": {"type": "string", "enum": ["source", "attachment"]},
                },
                "required": ["kind", "path"],
                "additionalProperties": False,
            },
        },
    },
}


def retrieve_tool(memory: MemoryService) -> DshTool:
    """Make memory_retrieve."""

    async def body(execution: Execution) -> ToolResult:
        header = _header(execution, RETRIEVE)
        data = retrieve_data(execution.arguments)
        request = _request(TOOL_RETRIEVE, header, data)
        return answered(await memory.retrieve(request, signal=execution.signal))

    description = "Retrieve stored data related to the supplied query."
    return DshTool(RETRIEVE, description, body, RETRIEVE_SCHEMA, reads=True)


def update_tool(memory: MemoryService) -> DshTool:
    """Make memory_update."""

    async def body(execution: Execution) -> ToolResult:
        header = _header(execution, UPDATE)
        request = _request(TOOL_UPDATE, header, update_data(execution.arguments))
        return answered(await memory.update(request, signal=execution.signal))

    description = "Submit messages or workspace files to installed memory plugins."
    return DshTool(UPDATE, description, body, UPDATE_SCHEMA)


def retrieve_data(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Make the data of a retrieval out of a call's arguments. Raises ValueError."""
    query = js_trim(arguments["query"])
    if not query:
        raise ValueError(f"{RETRIEVE} query must be non-empty")
    data: dict[str, Any] = {"query": query}
    if "limit" in arguments:
        limit = arguments["limit"]
        if not 0 < limit <= _SAFE:
            raise ValueError(f"{RETRIEVE} limit must be a positive safe integer")
        data["limit"] = int(limit)
    if "metadata" in arguments:
        data["metadata"] = arguments["metadata"]
    return data


def update_data(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Make the data of an update out of a call's arguments. Raises ValueError."""
    messages = [
        {"role": each["role"], "content": _trimmed(each["content"], "message content")}
        for each in arguments.get("messages", ())
    ]
    resources = [_resource(each) for each in arguments.get("resources", ())]
    if not messages and not resources:
        raise ValueError(f"{UPDATE} requires at least one message or resource")
    data: dict[str, Any] = {}
    if messages:
        data["messages"] = messages
    if resources:
        data["resources"] = resources
    return data


def _resource(given: Mapping[str, Any]) -> dict[str, Any]:
    resource = {"kind": given["kind"], "path": _trimmed(given["path"], "resource path")}
    for name in ("mediaType", "name"):
        if name in given:
            resource[name] = _trimmed(given[name], f"resource {name}")
    if "role" in given:
        resource["role"] = given["role"]
    return resource


def _trimmed(text: str, what: str) -> str:
    trimmed = js_trim(text)
    if not trimmed:
        raise ValueError(f"{UPDATE} {what} must be non-empty")
    return trimmed


def answered(outcomes: list[Outcome]) -> ToolResult:
    """Make the tool's result: one text, the outcomes as JSON, failures included."""
    good = list(checked(outcomes))
    return ToolResult([text_block(js_text(good))], value=good)


def _header(execution: Execution, tool: str) -> Mapping[str, Any]:
    agent: Any = execution.agent
    if agent is None:
        raise ValueError(f"{tool} requires an owning agent session")
    header: Mapping[str, Any] = agent.session.header.raw
    return header


def _request(point: str, header: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return {"meta": meta_of(point, header), "data": snapshot(data)}
    except NotLossless as fault:
        raise TypeError(f"agent-loop observation must be lossless JSON ({fault})") from fault
