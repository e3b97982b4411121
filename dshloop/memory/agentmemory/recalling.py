"""Recall: what the daemon finds, looked at again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dshloop.errors import MemoryEmptyError, SemanticUnavailableError
from dshloop.memory.agentmemory.daemon import Daemon
from dshloop.memory.agentmemory.found import observation_in, passes
from dshloop.memory.agentmemory.ranking import FLOOR, hit_of
from dshloop.memory.agentmemory_client import calls
from dshloop.memory.agentmemory_client.answers import Hit as Found
from dshloop.memory.answers import Filters, Hit
from dshloop.memory.entries import KINDS, Entry, Session
from dshloop.text import question

MOST_HITS = 100
"""So many the daemon gives (agentmemory 4)."""

_ALL = "memory"  # the session that memories seem to be of


def recall(
    daemon: Daemon,
    query: str,
    filters: Filters,
    wanted: int,
    *,
    min_score: float | None,
    semantic: bool | None,
) -> Sequence[Hit]:
    """Find what answers a question, best first: at least as many as are wanted, where there are.

    Raises MEMORY_EMPTY, SEMANTIC_UNAVAILABLE.
    """
    if not query.strip():
        raise MemoryEmptyError("there is nothing to look for: the question is blank")
    vectors = semantic is not False and _has_vectors(daemon, needed=semantic is True)
    found = _found(daemon, query, filters, wanted)
    best = max((one.score for one in found), default=0.0) or 1.0
    asked, now = question(query), daemon.clock()
    hits = [
        hit_of(entry, asked, one.score / best, by_meaning=vectors)
        for one, entry in _entries_of(daemon, found)
        if passes(entry, filters, now)
    ]
    floor = FLOOR if min_score is None else min_score
    kept = [hit for hit in hits if hit.score > 0 and hit.score >= floor]
    return sorted(kept, key=lambda hit: -hit.score)


def _has_vectors(daemon: Daemon, *, needed: bool) -> bool:
    model = daemon.ask(calls.flags()).model
    if needed and model is None:
        raise SemanticUnavailableError(
            f"agentmemory at {daemon.where} has no embedding model",
            hint="Set EMBEDDING_PROVIDER where the daemon runs, and restart it.",
        )
    return model is not None


def _found(daemon: Daemon, query: str, filters: Filters, wanted: int) -> Sequence[Found]:
    """Ask for more than is wanted where some will be left out again here."""
    plain = filters._replace(project=None, agent=None, old=False) == Filters()
    most = 2 * wanted + 10 if plain and set(filters.kinds) == set(KINDS) else MOST_HITS
    return daemon.ask(
        calls.search(
            query,
            limit=min(MOST_HITS, most),
            project=filters.project or None,
            agent=filters.agent or None,
            format="full",
        )
    )


def _entries_of(daemon: Daemon, found: Sequence[Found]) -> Iterator[tuple[Found, Entry]]:
    """Give the entries of search results; a memory is asked for: results don't have all of it
    (agentmemory 3.5)."""
    sessions: dict[str, Session] | None = None
    for one in found:
        entry: Entry | None = None
        if one.session == _ALL or one.id.startswith("mem_"):
            entry = daemon.memory(one.id)
        if entry is None:
            if sessions is None:
                sessions = {session.id: session for session in daemon.sessions()}
            entry = observation_in(one.row, sessions.get(one.session), daemon.clock())
        if entry is not None:
            yield one, entry
