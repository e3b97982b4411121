"""Whether the server lives, how it is, and what is switched on."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from dshloop.memory.interchange.agentmemory_export import VERSION
from dshloop.memory.server.calls import Answer, Call
from dshloop.memory.store import MemoryStore

SERVICE = "agentmemory"
_DOCS = "https://github.com/rohitg00/agentmemory#configuration"
_FLAGS = (
    ("GRAPH_EXTRACTION_ENABLED", "Graph extraction", True),
    ("CONSOLIDATION_ENABLED", "Consolidation", True),
    ("AGENTMEMORY_AUTO_COMPRESS", "Compression of observations", True),
    ("AGENTMEMORY_INJECT_CONTEXT", "Context at tool calls", False),
)


def livez(call: Call, store: MemoryStore) -> Answer:
    """Say that the server answers."""
    return Answer(200, {"status": "ok", **_ports(call)})


def health(call: Call, store: MemoryStore) -> Answer:
    """Say how the server is; the time of a read of the store stands for its health."""
    started = time.perf_counter()
    store.get_session("")
    latency = 1000 * (time.perf_counter() - started)
    used = os.times()
    told: dict[str, Any] = {
        "connectionState": "connected",
        "workers": [],
        "memory": {"heapUsed": _bytes(), "heapTotal": _bytes(), "rss": _bytes(), "external": 0},
        "cpu": {
            "userMicros": round(1e6 * used.user),
            "systemMicros": round(1e6 * used.system),
            "percent": 0,
        },
        "eventLoopLagMs": 0,
        "uptimeSeconds": round(call.state.clock() - call.state.started, 3),
        "kvConnectivity": {"status": "connected", "latencyMs": round(latency, 3)},
        "status": "healthy",
        "alerts": [],
        "notes": [],
    }
    answer = {
        "status": "healthy",
        "version": VERSION,
        "health": told,
        "functionMetrics": call.state.metrics(),
        "circuitBreaker": None,
        **_ports(call),
    }
    return Answer(200, answer)


def flags(call: Call, store: MemoryStore) -> Answer:
    """Say which features are on: none of those that need a language model."""
    rows = [
        {
            "key": key,
            "label": label,
            "enabled": False,
            "default": False,
            "affects": [],
            "needsLlm": needs_model,
            "description": f"{label}: not part of this server.",
            "enableHow": "It can't be switched on here.",
            "docsHref": _DOCS,
        }
        for key, label, needs_model in _FLAGS
    ]
    answer = {"version": VERSION, "provider": "noop", "embeddingProvider": "none", "flags": rows}
    return Answer(200, answer)


def _ports(call: Call) -> dict[str, Any]:
    return {
        "service": SERVICE,
        "viewerPort": None,
        "viewerSkipped": True,
        "streamsPort": call.settings.port + 1,
    }


def _bytes() -> int:
    """Give the most memory that this process had; 0 where the system doesn't tell."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024
