"""The calls that are made to a daemon, as values (dsh-agentmemory-bridge 5). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dshloop.plugins.agentmemory.config import BridgeConfig

BASE = "/agentmemory"
START, END = "session/start", "session/end"
OBSERVE, REMEMBER = "observe", "remember"
CONTEXT, SEARCH, SMART_SEARCH = "context", "search", "smart-search"

QUERY = 2000
"""Characters of a message that are searched for."""


class Call(NamedTuple):
    """A request: the path below ``/agentmemory/``, and its body."""

    path: str
    body: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Give the call as a person reads it."""
        return {"method": "POST", "path": f"{BASE}/{self.path}", "body": dict(self.body)}


class About(NamedTuple):
    """What every row of a session says."""

    session: str
    cwd: str
    project: str
    agent: str


def start(about: About) -> Call:
    """Begin a session; the answer has a window."""
    return Call(START, {"sessionId": about.session, **_place(about), "agentId": about.agent})


def end(about: About) -> Call:
    """End a session."""
    return Call(END, {"sessionId": about.session})


def context(about: About, config: BridgeConfig) -> Call:
    """Ask for the window of a session's project."""
    body = {"sessionId": about.session, "project": about.project}
    return Call(CONTEXT, body | _isolated(about, config))


def smart_search(about: About, query: str, config: BridgeConfig) -> Call:
    """Ask for what fits a message."""
    body: dict[str, Any] = {"query": query, "limit": config.inject_semantic_max_results}
    body |= {"project": about.project, "sessionId": about.session}
    return Call(SMART_SEARCH, body | _isolated(about, config))


def observe(about: About, hook: str, at: str, data: Mapping[str, Any]) -> Call:
    """Record what happened."""
    body = {"hookType": hook, "sessionId": about.session, **_place(about)}
    return Call(OBSERVE, {**body, "agentId": about.agent, "timestamp": at, "data": data})


def _place(about: About) -> dict[str, str]:
    return {"project": about.project, "cwd": about.cwd}


def _isolated(about: About, config: BridgeConfig) -> dict[str, str]:
    return {"agentId": about.agent} if config.isolate_agent else {}
