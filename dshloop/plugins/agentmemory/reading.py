"""Asking a home for a session's window, and for what fits a message (dsh-agentmemory-bridge 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dshloop.errors import DshloopError
from dshloop.memory.agentmemory_client import answers
from dshloop.memory.agentmemory_client.calls import Call as Request
from dshloop.plugins.agentmemory import calls
from dshloop.plugins.agentmemory.calls import About, Call
from dshloop.plugins.agentmemory.config import BridgeConfig
from dshloop.plugins.agentmemory.content import cleaned, member, said
from dshloop.plugins.agentmemory.homes import Home
from dshloop.plugins.agentmemory.windows import Found, lines

MEMORY_SESSION = "memory"
_EXPANDED = 20
"""Results that one request gives the texts of."""


def request(call: Call) -> Request[answers.Row]:
    """Give a call as the client makes it."""
    return Request("POST", f"/{call.path}", answers.whole, call.body)


def query_of(message: Any, config: BridgeConfig) -> str:
    """Give what is searched for because of a message; empty for nothing."""
    if not config.searches or member(message, "source", "kind") not in (None, "user"):
        return ""
    query = cleaned(said(member(message, "content")), calls.QUERY, config.secret)
    return query if query.strip() else ""


class Reading:
    """Reads from one home; raises the errors of the client."""

    def __init__(self, home: Home, config: BridgeConfig) -> None:
        self._home, self._config = home, config
        self._projects: dict[str, str | None] = {}

    async def window(self, about: About) -> str:
        """Give the window of a session's project, empty for nothing known."""
        value = await self._home.ask(request(calls.context(about, self._config)))
        return answers.window(value).text

    async def fitting(self, about: About, query: str) -> str:
        """Give what fits a message as lines, empty for nothing.

        Rows of other projects and of the session itself are left out; the narratives come with a
        second request, as search gives titles only.
        """
        value = await self._home.ask(request(calls.smart_search(about, query, self._config)))
        hits = [one for one in answers.hits(value) if one.session != about.session]
        told = await self._narratives([one.id for one in hits if one.id])
        own = await self._of_project(about.project, hits, told)
        found = [Found(one.title, one.narrative or told.get(one.id, ("", None))[0]) for one in own]
        limits = self._config.inject_semantic_max_results, self._config.inject_semantic_max_chars
        return lines(found, *limits)

    async def _narratives(self, ids: Sequence[str]) -> dict[str, tuple[str, str | None]]:
        """Give narratives by id, for memories their project too; what fails has none."""
        told: dict[str, tuple[str, str | None]] = {}
        try:
            for at in range(0, len(ids), _EXPANDED):
                body = {"expandIds": list(ids[at : at + _EXPANDED])}
                found = await self._home.ask(request(Call(calls.SMART_SEARCH, body)))
                for one in answers.hits(found):
                    told[one.id] = (one.narrative, None)
            for id_ in ids:
                if id_.startswith("mem_"):
                    told[id_] = await self._memory(id_)
        except DshloopError:
            pass
        return told

    async def _memory(self, id_: str) -> tuple[str, str | None]:
        """Give a memory's text and project: expanding leaves memories out (agentmemory 13, D13)."""
        row = answers.memory(await self._home.ask(_get(f"/memories/{id_}"))) or {}
        text, project = row.get("content"), row.get("project")
        named = project if isinstance(project, str) and project else None
        return text if isinstance(text, str) else "", named

    async def _of_project(
        self,
        project: str,
        hits: Sequence[answers.Hit],
        told: Mapping[str, tuple[str, str | None]],
    ) -> list[answers.Hit]:
        """Keep what is of a project or of none: the daemon doesn't filter (agentmemory 13, D12)."""
        sessions = {one.session for one in hits if one.session not in ("", MEMORY_SESSION)}
        if sessions - self._projects.keys():
            await self._learn_projects()
            self._projects = {**dict.fromkeys(sessions), **self._projects}
        kept = []
        for one in hits:
            if one.session == MEMORY_SESSION:
                theirs = told.get(one.id, ("", None))[1]
            else:
                theirs = self._projects.get(one.session)
            if theirs in (None, project):
                kept.append(one)
        return kept

    async def _learn_projects(self) -> None:
        try:
            value: Any = await self._home.ask(_get("/sessions"))
        except DshloopError:
            return
        for row in answers.objects(value, "sessions"):
            if isinstance(row.get("id"), str) and isinstance(row.get("project"), str):
                self._projects[row["id"]] = row["project"]


def _get(path: str) -> Request[answers.Row]:
    return Request("GET", path, answers.whole)
