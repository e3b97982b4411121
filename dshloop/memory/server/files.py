"""What is known about files and a project: /file-context, /enrich, /profile, /timeline."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from dshloop.memory.answers import Filters
from dshloop.memory.entries import MEMORY, OBSERVATION, Entry, Observation
from dshloop.memory.interchange.agentmemory_shape import observation_row
from dshloop.memory.interchange.fields import iso_moment
from dshloop.memory.observing import cut
from dshloop.memory.project_profile import project_profile
from dshloop.memory.server.calls import Answer, Call, CallRefusedError, text_in, texts_in
from dshloop.memory.server.context import line_of, shown
from dshloop.memory.server.search import found
from dshloop.memory.store import MemoryStore
from dshloop.memory.window import item

_SESSIONS, _ROWS, _LEAST_IMPORTANCE = 15, 5, 4
_HITS, _ERRORS, _ENRICHED = 5, 3, 4000
_PROFILED_SESSIONS, _PROFILED_ROWS, _ACTIVITY = 20, 500, 10
_MOST_FILES = 50
_CONSIDERED = 500
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_WINDOWS = (3600.0, 86400.0, 30 * 86400.0)
_AROUND, _MOST_AROUND = 5, 500


def file_context(call: Call, store: MemoryStore) -> Answer:
    """Tell what happened to files in other sessions."""
    files = texts_in(call.body, "files")[:_MOST_FILES]
    if not files:
        return Answer(200, {"context": "", "files": []})
    session, project = text_in(call.body, "sessionId") or "", text_in(call.body, "project")
    return Answer(200, {"context": _history(call, store, files, session, project)})


def enrich(call: Call, store: MemoryStore) -> Answer:
    """Tell what is known about files and terms: their history, what is relevant, past errors."""
    session = text_in(call.body, "sessionId")
    if session is None or not _are_texts(call.body.get("files")):
        raise CallRefusedError(400, "sessionId (string) and files (string[]) are required")
    terms = call.body.get("terms")
    if terms is not None and not _are_texts(terms):
        raise CallRefusedError(400, "terms must be an array of strings")
    project = text_in(call.body, "project")
    if "project" in call.body and project is None:
        raise CallRefusedError(400, "project must be a non-empty string")
    named = texts_in(call.body, "files")[:_MOST_FILES]
    asked = [re.split(r"[/\\]", file)[-1] for file in named] + list(texts_in(call.body, "terms"))
    where = Filters(project=project, agent=call.agent_filter())
    parts = (
        _history(call, store, named, session, project),
        _relevant(store, " ".join(asked), where),
        _past_errors(store, named, where),
    )
    text = "\n\n".join(part for part in parts if part)
    return Answer(200, {"context": text[:_ENRICHED], "truncated": len(text) > _ENRICHED})


def profile(call: Call, store: MemoryStore) -> Answer:
    """Tell what a project looks like."""
    project = call.query.get("project", "").strip()
    if not project:
        raise CallRefusedError(400, "project query param is required")
    known = call.state.profile(project)
    if known is not None:
        return Answer(200, {"profile": known, "cached": True})
    sessions = store.sessions(project=project, limit=_PROFILED_SESSIONS)
    if not sessions:
        return Answer(200, {"profile": None, "reason": "no_sessions"})
    rows = store.list(Filters(kinds=(OBSERVATION,), project=project), limit=_PROFILED_ROWS)
    memories = store.list(Filters(kinds=(MEMORY,), project=project), limit=_PROFILED_ROWS)
    made = project_profile([*memories, *rows])
    errors = [*made.errors, *(one.title for one in rows if one.type == "error")]
    told = {
        "project": project,
        "updatedAt": call.state.now(),
        "topConcepts": [{"concept": name, "frequency": count} for name, count in made.concepts],
        "topFiles": [{"file": name, "frequency": count} for name, count in made.files],
        "conventions": list(made.conventions),
        "commonErrors": list(dict.fromkeys(errors))[:_ACTIVITY],
        "recentActivity": [
            one.title or one.first_prompt for one in sessions if one.title or _told(one.summary)
        ][:_ACTIVITY],
        "sessionCount": len(sessions),
        "totalObservations": sum(one.observations for one in sessions),
    }
    call.state.keep_profile(project, told)
    return Answer(200, {"profile": told, "cached": False})


def timeline(call: Call, store: MemoryStore) -> Answer:
    """Tell the observations around a moment, or around the newest one that has a word."""
    anchor = call.body.get("anchor")
    if not anchor or (isinstance(anchor, str) and not anchor.strip()):
        raise CallRefusedError(400, "anchor is required")
    if not isinstance(anchor, str):
        return Answer(200, {"entries": [], "anchor": anchor, "reason": "invalid_anchor"})
    before, after = (_around(call.body.get(key)) for key in ("before", "after"))
    where = Filters(
        kinds=(OBSERVATION,),
        project=text_in(call.body, "project"),
        agent=call.agent_filter(),
    )
    text = anchor.strip()
    nearest: Observation | None = None
    if _DATE.match(text):
        moment = iso_moment(text)
        if moment is None:
            return Answer(200, {"entries": [], "anchor": anchor, "reason": "invalid_date"})
    else:
        nearest = _newest_with(store, text, where)
        moment = None if nearest is None else nearest.created_at
    rows = [] if moment is None else _rows_around(store, where, moment, before, after)
    if moment is not None and not rows:
        return Answer(200, {"entries": [], "anchorIndex": 0})
    if moment is None:
        return Answer(200, {"entries": [], "anchor": anchor, "reason": "no_match"})
    at = _nearest(rows, moment) if nearest is None else rows.index(nearest)
    first = max(0, at - before)
    entries = [
        {
            "observation": observation_row(one),
            "sessionId": one.session,
            "relativePosition": number - at,
        }
        for number, one in enumerate(rows[first : at + after + 1], first)
    ]
    return Answer(200, {"entries": entries, "anchorIndex": at - first})


def _history(
    call: Call, store: MemoryStore, files: Sequence[str], session: str, project: str | None
) -> str:
    sections = []
    for file in files:
        where = Filters(kinds=(OBSERVATION,), project=project, file=file, agent=call.agent_filter())
        lines = list(_file_lines(store.list(where, limit=_CONSIDERED), session))
        if lines:
            sections.append("\n".join([f"## {shown(file)}", *lines]))
    body = "\n\n".join(sections)
    return f"<agentmemory-file-context>\n{body}\n</agentmemory-file-context>" if body else ""


def _file_lines(entries: Sequence[Entry], session: str) -> Iterator[str]:
    """Yield the lines of a file: of the newest other sessions, a few rows in all."""
    sessions: set[str | None] = set()
    count = 0
    for one in entries:
        telling = isinstance(one, Observation) and one.importance >= _LEAST_IMPORTANCE
        if not telling or one.session == session or count >= _ROWS:
            continue
        sessions.add(one.session)
        if len(sessions) > _SESSIONS:
            return
        count += 1
        yield line_of(one)


def _relevant(store: MemoryStore, query: str, where: Filters) -> str:
    if not query.strip():
        return ""
    texts = [cut(one.entry.content, 400) for one in found(store, query, where, _HITS, floor=None)]
    lines = [item(text) for text in texts]
    body = "\n".join(line for line in lines if line)
    tag = "agentmemory-relevant-context"
    return f"<{tag}>\n{body}\n</{tag}>" if body else ""


def _past_errors(store: MemoryStore, files: Sequence[str], where: Filters) -> str:
    bugs: dict[str, Entry] = {}
    for file in files:
        bug = where._replace(kinds=(MEMORY,), type="bug", file=file)
        bugs.update((one.id, one) for one in store.list(bug, limit=_ERRORS))
    newest = sorted(bugs.values(), key=lambda one: -one.created_at)[:_ERRORS]
    body = "\n".join(f"- {shown(one.title)}: {shown(one.content)}" for one in newest)
    return f"<agentmemory-past-errors>\n{body}\n</agentmemory-past-errors>" if body else ""


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _told(summary: Any) -> bool:
    return isinstance(summary, dict) and bool(summary.get("title"))


def _around(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return _AROUND
    return int(min(max(value, 0), _MOST_AROUND))


def _newest_with(store: MemoryStore, text: str, where: Filters) -> Observation | None:
    """Give the newest observation whose title, narrative or concepts have a text, in any case."""
    wanted = text.casefold()
    hits = [
        one.entry
        for one in found(store, text, where, _CONSIDERED)
        if isinstance(one.entry, Observation)
        and any(
            wanted in part.casefold()
            for part in (one.entry.title, one.entry.content, *one.entry.concepts)
        )
    ]
    return max(hits, key=lambda one: (one.created_at, one.id), default=None)


def _rows_around(
    store: MemoryStore, where: Filters, moment: float, before: int, after: int
) -> list[Observation]:
    """Give observations by their time, enough on both sides of a moment if there are so many."""
    for width in _WINDOWS:
        near = where._replace(since=moment - width, until=moment + width)
        rows = _by_time(store, near)
        at = bisect_left([one.created_at for one in rows], moment)
        if at > before and len(rows) - at > after:
            return rows
    return _by_time(store, where)


def _by_time(store: MemoryStore, where: Filters) -> list[Observation]:
    rows = [one for one in store.list(where, limit=None) if isinstance(one, Observation)]
    return sorted(rows, key=lambda one: (one.created_at, one.id))


def _nearest(rows: Sequence[Observation], moment: float) -> int:
    return min(range(len(rows)), key=lambda at: abs(rows[at].created_at - moment))
