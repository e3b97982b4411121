"""The table of routes: which endpoint answers, and on which lane."""

from __future__ import annotations

from typing import NamedTuple

from dshloop.memory.server import (
    commits,
    context,
    files,
    governance,
    lessons,
    mcp,
    memories,
    observations,
    probes,
    search,
    sessions,
    transfer,
)
from dshloop.memory.server.calls import Endpoint
from dshloop.memory.server.fixed import FIXED, always
from dshloop.memory.server.lanes import READ, STREAM, WRITE

BASE = "/agentmemory"


class Mapped(NamedTuple):
    """One route. ``public`` ones answer without the secret; ``imports`` may have a large body."""

    method: str
    path: str
    endpoint: Endpoint
    lane: str = READ
    public: bool = False
    imports: bool = False

    @property
    def name(self) -> str:
        """Name the route in /health."""
        return f"api::{self.method.lower()}::{self.path.strip('/').replace('/', '::')}"


ROUTES: tuple[Mapped, ...] = (
    Mapped("POST", "/observe", observations.observe, WRITE),
    Mapped("POST", "/search", search.search),
    Mapped("POST", "/remember", memories.remember, WRITE),
    Mapped("POST", "/smart-search", search.smart_search),
    Mapped("POST", "/context", context.context),
    Mapped("POST", "/session/start", sessions.start, WRITE),
    Mapped("POST", "/session/end", sessions.end, WRITE),
    Mapped("GET", "/sessions", sessions.sessions),
    Mapped("GET", "/observations", observations.observations, STREAM),
    Mapped("POST", "/summarize", sessions.summarize),
    Mapped("GET", "/replay/sessions", sessions.replay_sessions, STREAM),
    Mapped("GET", "/replay/load", sessions.replay_load),
    Mapped("GET", "/memories", memories.memories, STREAM),
    Mapped("GET", "/memories/{id:path}", memories.memory),
    Mapped("POST", "/evolve", memories.evolve, WRITE),
    Mapped("POST", "/forget", governance.forget, WRITE),
    Mapped("DELETE", "/governance/memories", governance.delete_memories, WRITE),
    Mapped("POST", "/governance/bulk-delete", governance.bulk_delete, WRITE),
    Mapped("POST", "/relations", memories.relate, WRITE),
    Mapped("GET", "/relations", memories.relations),
    Mapped("POST", "/verify", memories.verify),
    Mapped("POST", "/evict", governance.evict),
    Mapped("POST", "/auto-forget", governance.auto_forget),
    Mapped("GET", "/audit", governance.audit),
    Mapped("GET", "/livez", probes.livez, public=True),
    Mapped("GET", "/health", probes.health),
    Mapped("GET", "/config/flags", probes.flags),
    Mapped("GET", "/diagnostics/followup", search.followup),
    Mapped("GET", "/export", transfer.export, STREAM),
    Mapped("POST", "/import", transfer.import_, WRITE, imports=True),
    Mapped("POST", "/session/commit", commits.link, WRITE),
    Mapped("GET", "/session/by-commit", commits.by_commit),
    Mapped("GET", "/commits", commits.commits),
    Mapped("POST", "/lessons", lessons.create, WRITE),
    Mapped("GET", "/lessons", lessons.lessons),
    Mapped("POST", "/lessons/search", lessons.search),
    Mapped("POST", "/lessons/strengthen", lessons.strengthen, WRITE),
    Mapped("POST", "/lessons/delete", lessons.delete, WRITE),
    Mapped("POST", "/file-context", files.file_context),
    Mapped("POST", "/enrich", files.enrich),
    Mapped("GET", "/profile", files.profile),
    Mapped("POST", "/timeline", files.timeline),
    Mapped("GET", "/mcp/tools", mcp.tools),
    Mapped("POST", "/mcp/call", mcp.call_tool, WRITE),
    *(Mapped(method, path, always(status, value)) for method, path, status, value in FIXED),
)
