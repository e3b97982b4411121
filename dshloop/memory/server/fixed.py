"""Routes whose answer is always the same: what needs a language model, or is switched off."""

from __future__ import annotations

from typing import Any

from dshloop.memory.server.calls import Answer, Call, Endpoint
from dshloop.memory.store import MemoryStore

_DOCS = "https://github.com/rohitg00/agentmemory#configuration"
_SLOTS = {
    "error": "Memory slots not enabled",
    "flag": "AGENTMEMORY_SLOTS",
    "enableHow": "They can't be switched on in this server.",
    "docsHref": _DOCS,
}
_IMAGES = {"error": "image embeddings disabled (set AGENTMEMORY_IMAGE_EMBEDDINGS=true)"}
_CONSOLIDATION = {
    "success": False,
    "skipped": True,
    "reason": "Consolidation disabled: there is no language model",
}
_BRIDGE = {"error": "Claude bridge not enabled"}
_TEAM = {"error": "Team memory not enabled"}
_SNAPSHOTS = {"error": "Snapshots not enabled"}
_FEW = {"consolidated": 0, "reason": "insufficient_observations"}
_INSIGHTS = {"success": True, "insights": []}

FIXED: tuple[tuple[str, str, int, Any], ...] = (
    ("POST", "/consolidate", 200, _FEW),
    ("POST", "/consolidate-pipeline", 200, _CONSOLIDATION),
    ("POST", "/patterns", 200, {"patterns": []}),
    ("POST", "/generate-rules", 200, {"rules": []}),
    ("GET", "/insights", 200, _INSIGHTS),
    ("GET", "/semantic", 200, {"semantic": []}),
    ("GET", "/procedural", 200, {"procedural": []}),
    ("GET", "/slots", 503, _SLOTS),
    ("GET", "/slot", 503, _SLOTS),
    ("POST", "/slot", 503, _SLOTS),
    ("DELETE", "/slot", 503, _SLOTS),
    ("POST", "/slot/append", 503, _SLOTS),
    ("POST", "/slot/replace", 503, _SLOTS),
    ("POST", "/slot/reflect", 503, _SLOTS),
    ("GET", "/snapshots", 404, _SNAPSHOTS),
    ("POST", "/snapshot/create", 404, _SNAPSHOTS),
    ("GET", "/team/feed", 404, _TEAM),
    ("GET", "/team/profile", 404, _TEAM),
    ("GET", "/claude-bridge/read", 404, _BRIDGE),
    ("POST", "/claude-bridge/sync", 404, _BRIDGE),
    ("POST", "/vision-embed", 503, _IMAGES),
    ("POST", "/vision-search", 503, _IMAGES),
)
"""Method, path, status and value (agentmemory 3.11)."""


def always(status: int, value: Any) -> Endpoint:
    """Make the endpoint that gives one answer."""

    def endpoint(call: Call, store: MemoryStore) -> Answer:
        return Answer(status, value)

    return endpoint
