"""The endpoints: each function makes a request that one of the clients sends, and that knows how
to read its answer (agentmemory 3). Pure. An argument that is None is left out of the request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from dshloop.memory.agentmemory_client import answers
from dshloop.memory.agentmemory_client.answers import Row
from dshloop.times import iso_time

T = TypeVar("T")


class Call(NamedTuple, Generic[T]):
    """A request below ``/agentmemory``.

    ``repeatable``: made twice it does no more than once, so it may be made again when its answer
    was lost. ``accept`` are statuses beyond 2xx whose body is an answer.
    """

    method: str
    path: str
    read: Callable[[Row], T]
    body: Mapping[str, Any] | None = None
    params: Mapping[str, str] | None = None
    repeatable: bool = True
    accept: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """What errors call it."""
        return f"{self.method} {self.path}"


# --- probes ------------------------------------------------------------------------------------


def livez() -> Call[answers.Alive]:
    """Ask whether something answers; needs no secret, and proves none."""
    return Call("GET", "/livez", answers.alive)


def health() -> Call[answers.Health]:
    """Ask how the daemon is and which version it has; needs the secret."""
    return Call("GET", "/health", answers.health, accept=(503,))


def flags() -> Call[answers.Flags]:
    """Ask which features are on."""
    return Call("GET", "/config/flags", answers.flags)


# --- sessions ----------------------------------------------------------------------------------


def session_start(
    session: str, project: str, cwd: str, *, agent: str | None = None, title: str | None = None
) -> Call[answers.Started]:
    """Begin a session and get the window of its project. All three texts must have something."""
    body = {"sessionId": session, "project": project, "cwd": cwd}
    return _post("/session/start", answers.started, body, agentId=agent, title=title)


def session_end(session: str) -> Call[None]:
    """Mark a session as completed; an unknown one is fine too."""
    return _post("/session/end", answers.nothing, {"sessionId": session})


def summarize(session: str) -> Call[Row]:
    """Make a session's summary; AGENTMEMORY_REFUSED where the daemon has no language model."""
    return _post("/summarize", answers.whole, {"sessionId": session})


def sessions(
    *,
    session: str | None = None,
    agent: str | None = None,
    project: str | None = None,
    limit: int | None = None,
    offset: int | None = None,
) -> Call[answers.Page]:
    """List sessions in the order they were stored, or one. 0.9.29 looks at ``agent`` only."""
    params: dict[str, Any] = {"sessionId": session, "agentId": agent, "project": project}
    params |= {"limit": limit, "offset": offset}
    return _get("/sessions", partial(answers.page, "sessions"), params)


def observations(
    session: str, *, agent: str | None = None, limit: int | None = None, offset: int | None = None
) -> Call[answers.Page]:
    """List a session's observations in the order they came. 0.9.29 gives all of them at once."""
    params = {"sessionId": session, "agentId": agent, "limit": limit, "offset": offset}
    return _get("/observations", partial(answers.page, "observations"), params)


# --- observing ---------------------------------------------------------------------------------


def observe(
    hook: str,
    session: str,
    project: str,
    cwd: str,
    at: float | str,
    data: Mapping[str, Any] | str,
    *,
    agent: str | None = None,
) -> Call[answers.Noted]:
    """Hand over what happened; ``at`` is in Unix seconds, or the text that is sent.

    AGENTMEMORY_REFUSED when the session is full (500), or a text is missing.
    """
    envelope: dict[str, Any] = {
        "hookType": hook,
        "sessionId": session,
        "project": project,
        "cwd": cwd,
        "agentId": agent,
        "timestamp": at if isinstance(at, str) else iso_time(at),
        "data": data,
    }
    return _post("/observe", answers.noted, envelope)


# --- windows -----------------------------------------------------------------------------------


def context(
    session: str, project: str, *, budget: int | None = None, agent: str | None = None
) -> Call[answers.Window]:
    """Ask for the window of a project, without what this session did."""
    body = {"sessionId": session, "project": project}
    return _post("/context", answers.window, body, budget=budget, agentId=agent)


def file_context(
    session: str, files: Sequence[str], *, project: str | None = None
) -> Call[answers.Window]:
    """Ask what other sessions did with files."""
    body = {"sessionId": session, "files": list(files)}
    return _post("/file-context", answers.window, body, project=project)


def enrich(
    session: str,
    files: Sequence[str],
    *,
    terms: Sequence[str] | None = None,
    tool: str | None = None,
    project: str | None = None,
) -> Call[answers.Window]:
    """Ask what is known of files before a tool touches them."""
    body = {"sessionId": session, "files": list(files)}
    named = None if terms is None else list(terms)
    return _post("/enrich", answers.window, body, terms=named, toolName=tool, project=project)


# --- searching ---------------------------------------------------------------------------------


def search(
    query: str,
    *,
    limit: int | None = None,
    project: str | None = None,
    cwd: str | None = None,
    format: str | None = None,  # noqa: A002
    token_budget: int | None = None,
    agent: str | None = None,
) -> Call[tuple[answers.Hit, ...]]:
    """Search memories and observations; ``format`` is full, compact or narrative.

    A memory without a project passes every project's filter.
    """
    return _post(
        "/search", answers.hits, {"query": query}, limit=limit, project=project, cwd=cwd,
        format=format, token_budget=token_budget, agentId=agent,
    )  # fmt: skip


def smart_search(
    query: str,
    *,
    limit: int | None = None,
    project: str | None = None,
    session: str | None = None,
    agent: str | None = None,
    lessons: bool | None = None,
) -> Call[tuple[answers.Hit, ...]]:
    """Search by words, vectors and graph. 0.9.29 doesn't look at ``project``: results of others
    come too, and don't say whose they are (agentmemory 13, D12)."""
    return _post(
        "/smart-search", answers.hits, {"query": query}, limit=limit, project=project,
        sessionId=session, agentId=agent, includeLessons=lessons,
    )  # fmt: skip


def expand(ids: Sequence[str], *, agent: str | None = None) -> Call[tuple[answers.Hit, ...]]:
    """Give up to 20 observations of search results whole; 0.9.29 leaves memories out."""
    return _post("/smart-search", answers.hits, {"expandIds": list(ids)}, agentId=agent)


# --- memories ----------------------------------------------------------------------------------


def remember(
    content: str,
    *,
    type: str | None = None,  # noqa: A002
    concepts: Sequence[str] | None = None,
    files: Sequence[str] | None = None,
    ttl_days: float | None = None,
    project: str | None = None,
    agent: str | None = None,
    observations: Sequence[str] | None = None,
) -> Call[answers.Kept]:
    """Keep a memory; it takes the place of one that it is nearly equal to (agentmemory 6)."""
    return _post(
        "/remember", answers.kept, {"content": content}, repeatable=False, type=type,
        concepts=_list(concepts), files=_list(files), ttlDays=ttl_days, project=project,
        agentId=agent, sourceObservationIds=_list(observations),
    )  # fmt: skip


def evolve(memory: str, content: str, *, title: str | None = None) -> Call[answers.Kept]:
    """Make a new version of a memory."""
    body = {"memoryId": memory, "newContent": content}
    return _post("/evolve", answers.kept, body, repeatable=False, newTitle=title)


def memories(
    *,
    limit: int,
    offset: int = 0,
    latest: bool = False,
    agent: str | None = None,
    project: str | None = None,
) -> Call[answers.Page]:
    """List memories, the oldest first, superseded versions too unless ``latest``.

    A ``limit`` must be named: 0.9.29 gives everything without one, and falls over above 16 MiB
    (agentmemory 13, D10). It doesn't look at ``project``.
    """
    params = {"limit": limit, "offset": offset, "agentId": agent, "project": project}
    more = {"latest": "true"} if latest else {}
    return _get("/memories", partial(answers.page, "memories"), {**params, **more})


def memory_counts() -> Call[answers.Counts]:
    """Count memories."""
    return _get("/memories", answers.counts, {"count": "true"})


def memory(id: str) -> Call[Row | None]:  # noqa: A002
    """Get a memory by its whole id, superseded ones too; None when there is none."""
    return Call("GET", f"/memories/{id}", answers.memory, accept=(404,))


def forget(
    *,
    memory: str | None = None,
    session: str | None = None,
    observations: Sequence[str] | None = None,
) -> Call[int]:
    """Take away a memory, observations of a session, or a session with all it has."""
    return _post(
        "/forget", answers.deleted, {}, memoryId=memory, sessionId=session,
        observationIds=_list(observations),
    )  # fmt: skip


# --- everything --------------------------------------------------------------------------------


def export(max_sessions: int, offset: int = 0) -> Call[Row]:
    """Get a page of the export: so many sessions with their observations, and all the rest."""
    params = {"maxSessions": max_sessions, "offset": offset}
    return _get("/export", answers.whole, params)


def import_(export: Row, strategy: str = "merge") -> Call[Row]:
    """Put an export in; ``strategy`` is merge, replace or skip."""
    return _post("/import", answers.whole, {"exportData": export, "strategy": strategy})


def lessons(*, project: str | None = None, limit: int = 50) -> Call[answers.Page]:
    """List lessons, the surest first."""
    params = {"project": project, "limit": limit}
    return _get("/lessons", partial(answers.page, "lessons"), params)


# --- parts -------------------------------------------------------------------------------------


def _post(
    path: str,
    read: Callable[[Row], T],
    body: Mapping[str, Any],
    *,
    repeatable: bool = True,
    **more: Any,
) -> Call[T]:
    whole = {key: value for key, value in {**body, **more}.items() if value is not None}
    return Call("POST", path, read, whole, repeatable=repeatable)


def _get(path: str, read: Callable[[Row], T], params: Mapping[str, Any]) -> Call[T]:
    given = {key: str(value) for key, value in params.items() if value is not None}
    return Call("GET", path, read, params=given)


def _list(values: Sequence[str] | None) -> list[str] | None:
    return None if values is None else list(values)
