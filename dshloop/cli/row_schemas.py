"""What the rows that other programs publish no schema for take as config (their manuals say it).

Handed to `profile check`; JSON schemas by the name of the row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TEXT = {"type": ["string", "null"]}
_FLAG = {"type": ["boolean", "null"]}
_ROUTE = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {"loop": {"type": "string"}, "driver": {"type": "string"}},
            "required": ["loop"],
        },
    ]
}
_ROUTES = {"type": "object", "additionalProperties": _ROUTE}
_AGENT = {
    "type": "object",
    "properties": {
        **{
            key: {"type": "string"}
            for key in (
                "id", "sessionId", "resumeSessionId", "loop", "driver", "provider", "model",
                "reasoningEffort", "cwd",
            )
        },
        "maxTokens": {"type": "integer", "minimum": 1},
    },
    "required": ["id"],
}  # fmt: skip


def _whole(low: int, high: int) -> dict[str, Any]:
    return {"type": ["integer", "null"], "minimum": low, "maximum": high}


def _flags(*names: str) -> dict[str, Any]:
    return {"type": ["object", "null"], "properties": dict.fromkeys(names, _FLAG)}


ROW_SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "dsh-loop-dock": {
        "type": "object",
        "properties": {
            "defaultLoop": _TEXT,
            "defaultDriver": _TEXT,
            "presetLoops": _ROUTES,
            "sessionLoops": _ROUTES,
            "pingReply": {"type": "string"},
            "agents": {"type": "array", "items": _AGENT},
        },
    },
    "dsh-loop-dock/headless-driver": {
        "type": "object",
        "properties": {"maxParallelToolCalls": {"type": "number"}, "fakeDriver": _FLAG},
        "additionalProperties": True,  # the rest goes to dsh's own engine
    },
    "dsh-agentmemory": {
        "type": ["object", "null"],
        "properties": {
            "baseUrl": _TEXT,
            "secret": _TEXT,
            "agentId": _TEXT,
            **dict.fromkeys(
                (
                    "enabled", "enableTools", "enableSessionStartEnd", "compactionBridge",
                    "injectContext", "injectContextOnCompaction", "injectSemantic",
                ),
                _FLAG,
            ),
            "curlTimeoutMs": _whole(1, 60000),
            "observeBatchLimit": _whole(1, 200),
            "maxContentChars": _whole(1, 100000),
            "maxArgsChars": _whole(1, 50000),
            "injectContextMaxChars": _whole(1, 200000),
            "injectSemanticMaxResults": _whole(1, 50),
            "injectSemanticMaxChars": _whole(1, 100000),
            "store": {"enum": ["daemon", "local", None]},
            **dict.fromkeys(("readOnly", "isolateAgent", "allowInsecureHttp"), _FLAG),
        },
    },
    "dsh-patchouli-agent-loop": {
        "type": ["object", "null"],
        "properties": {
            "retrieve": _flags("sessionStart", "preStep", "turnStopping", "toolPostExecute"),
            "store": _flags(
                "agentCreated", "agentDisposed", "requestError", "agentError", "turnEnd",
                "toolResult",
            ),
            "modelTools": _flags("retrieve", "update"),
        },
    },
}  # fmt: skip
