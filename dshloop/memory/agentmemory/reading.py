"""The face of the store that only asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from dshloop.errors import (
    AmbiguousIdError,
    MemoryNotFoundError,
)
from dshloop.memory.agentmemory.daemon import EVERY_AGENT, Daemon
from dshloop.memory.agentmemory.found import (
    each_once,
    is_named,
    observation_in,
    passes,
    session_passes,
)
from dshloop.memory.agentmemory_client import calls
from dshloop.memory.agentmemory_client.answers import Hit as Found
from dshloop.memory.agentmemory_client.identity import require_known
from dshloop.memory.answers import DEFAULT_LIMIT, Document, Filters, Hit, Record, Stats
from dshloop.memory.entries import MEMORY, OBSERVATION, Entry, Memory, Observation, Session
from dshloop.memory.interchange.agentmemory_shape import LESSON
from dshloop.memory.status import Probe

NAME = "agentmemory"
_SHOWN_CANDIDATES = 10
_MOST_LESSONS = 10_000
_EVERYTHING = Filters()


class AgentmemoryReader:
    """What the daemon holds; ``notice`` is told what a person should know."""

    name = NAME

    def __init__(self, daemon: Daemon, notice: Callable[[str], None] | None = None) -> None:
        self.daemon = daemon
        self._notice = notice or (lambda _text: None)

    # --- questions -----------------------------------------------------------------------------

    def recall(
        self,
        query: str,
        filters: Filters = _EVERYTHING,
        *,
        limit: int = DEFAULT_LIMIT,
        offset: int = 0,
        min_score: float | None = None,
        semantic: bool | None = None,
    ) -> Sequence[Hit]:
        """Find what answers a question, as `recalling.recall` says."""
        from dshloop.memory.agentmemory.recalling import MOST_HITS, recall

        hits = recall(
            self.daemon, query, filters, limit + offset, min_score=min_score, semantic=semantic
        )
        if limit + offset > MOST_HITS and len(hits) >= MOST_HITS:
            self._notice(f"agentmemory gives at most {MOST_HITS} hits")
        return hits[offset : offset + limit]

    # --- lists ---------------------------------------------------------------------------------

    def list(
        self,
        filters: Filters = _EVERYTHING,
        *,
        limit: int | None = None,
        offset: int = 0,
        oldest_first: bool = False,
    ) -> Sequence[Entry]:
        """Give entries by when they were made."""
        end = None if limit is None else offset + limit
        if filters.kinds == (MEMORY,):
            memories = self.daemon.memories(
                old=filters.old, newest_first=not oldest_first, scope=_scope(filters.agent)
            )
            return list(islice(self._passing(memories, filters), offset, end))
        found = sorted(self._entries(filters), key=lambda entry: entry.created_at)
        return (found if oldest_first else found[::-1])[offset:end]

    def count(self, filters: Filters = _EVERYTHING) -> int:
        """Count the entries that pass."""
        return sum(1 for _ in self._entries(filters))

    def sessions(
        self,
        *,
        project: str | None = None,
        agent: str | None = None,
        since: float | None = None,
        until: float | None = None,
        limit: int | None = DEFAULT_LIMIT,
        offset: int = 0,
        oldest_first: bool = False,
    ) -> Sequence[Session]:
        """Give sessions, the last started first."""
        found = [
            one
            for one in self.daemon.sessions(_scope(agent))
            if session_passes(one, project, agent, since, until)
        ]
        found.sort(key=lambda session: session.started_at)
        ordered = found if oldest_first else found[::-1]
        return ordered[offset : None if limit is None else offset + limit]

    def get_session(self, id: str) -> Session | None:  # noqa: A002
        """Give a session by its whole id."""
        return self.daemon.session(id)

    def rows(self, where: Filters | None = None) -> Iterator[Record]:
        """Give sessions, entries (superseded versions too) and lessons, for an export."""
        filters = (where or _EVERYTHING)._replace(old=True)
        named: set[str] | None = None
        if where is not None:
            named = {entry.session for entry in self._entries(filters) if entry.session}
        for session in self.daemon.sessions():
            if named is None or session.id in named:
                yield session
        yield from self._entries(filters)
        if where is None:
            yield from self._lessons()

    def _lessons(self) -> Iterator[Document]:
        from dshloop.memory.interchange import fields

        for row in self.daemon.ask(calls.lessons(limit=_MOST_LESSONS)).rows:
            at = fields.moment(row, "updatedAt") or fields.moment(row, "createdAt") or 0.0
            yield Document(LESSON, fields.text(row, "id"), dict(row), at)

    def _entries(self, filters: Filters) -> Iterator[Entry]:
        """Give memories, then the observations of each session, the oldest first."""
        scope = _scope(filters.agent)
        if MEMORY in filters.kinds:
            yield from self._passing(self.daemon.memories(old=filters.old, scope=scope), filters)
        if OBSERVATION in filters.kinds:
            for session in list(self.daemon.sessions(scope)):
                if filters.session in (None, session.id) and _may_hold(session, filters):
                    yield from self._passing(self.daemon.observations(session, scope), filters)

    def _passing(self, entries: Iterator[Entry], filters: Filters) -> Iterator[Entry]:
        now = self.daemon.clock()
        return (entry for entry in each_once(entries) if passes(entry, filters, now))

    # --- single entries ------------------------------------------------------------------------

    def get(self, id: str) -> Entry:  # noqa: A002
        """Give an entry by its id or the beginning of it. MEMORY_NOT_FOUND, AMBIGUOUS_ID."""
        named, now = id.strip(), self.daemon.clock()
        everything = Filters(old=True)
        whole = self._whole(named)
        if whole is not None and passes(whole, everything, now):
            return whole
        near = [entry for entry in self._entries(everything) if named and is_named(entry.id, named)]
        exact = [entry for entry in near if entry.id == named]
        if len(exact or near) > 1:
            candidates = sorted(entry.id for entry in near)[:_SHOWN_CANDIDATES]
            raise AmbiguousIdError(
                f'"{named}" fits {len(near)} entries: {", ".join(candidates)}',
                candidates=candidates,
            )
        if not near:
            raise MemoryNotFoundError(
                f'there is no "{named}" in agentmemory at {self.daemon.where}', id=named
            )
        return (exact or near)[0]

    def history(self, id: str) -> Sequence[Memory]:  # noqa: A002
        """Give the versions of a memory, the oldest first."""
        memory = self._memory(id)
        older = list(self.older(memory))
        newer: list[Memory] = []
        if not memory.latest:
            known = {one.previous: one for one in self.daemon.memories() if one.previous}
            following = known.get(memory.id)
            while following is not None and following not in newer:
                newer.append(following)
                following = known.get(following.id)
        return [*reversed(older), memory, *newer]

    def older(self, memory: Memory) -> Iterator[Memory]:
        """Give the versions before one, the newest first."""
        seen = {memory.id}
        while memory.previous is not None and memory.previous not in seen:
            seen.add(memory.previous)
            before = self.daemon.memory(memory.previous)
            if before is None:
                return
            yield before
            memory = before

    def around(self, id: str, *, before: int, after: int) -> Sequence[Entry]:  # noqa: A002
        """Give an entry with its neighbours in time."""
        entry = self.get(id)
        if entry.session:
            found = self.list(Filters(session=entry.session), oldest_first=True)
        else:
            same = Filters(kinds=(MEMORY,), project=entry.project, agent=entry.agent)
            found = [
                one
                for one in self.list(same, oldest_first=True)
                if (one.project, one.agent) == (entry.project, entry.agent)
            ]
        at = next((at for at, one in enumerate(found) if one.id == entry.id), None)
        return [entry] if at is None else found[max(0, at - before) : at + after + 1]

    def probe(self, seconds: float) -> Probe:
        """Ask the daemon who and how it is, within a time. Raises as `Daemon`."""
        with self.daemon.client.brisk(seconds) as client:
            require_known(client.peer, client.ask(calls.livez()))
            health = client.ask(calls.health())
            require_known(client.peer, health)
        auth = "accepted" if client.peer.secrets else "none needed"
        return Probe(health.version, auth, (health.status, *health.alerts))

    def stats(self) -> Stats:
        """Count what is there."""
        now, types, projects = self.daemon.clock(), dict[str, int](), dict[str, int]()
        versions = 0
        for memory in self.daemon.memories():
            if passes(memory, _EVERYTHING, now):
                types[memory.type] = types.get(memory.type, 0) + 1
                projects[memory.project] = projects.get(memory.project, 0) + 1
            versions += not memory.latest
        sessions = list(self.daemon.sessions())
        return Stats(
            self.name,
            self.daemon.where,
            memories=sum(types.values()),
            observations=sum(one.observations for one in sessions),
            sessions=len(sessions),
            versions=versions,
            projects=projects,
            types=types,
            semantic=self.daemon.ask(calls.flags()).model,
        )

    def close(self) -> None:
        """Let go of the connections."""
        self.daemon.client.close()

    def _memory(self, id_: str) -> Memory:
        entry = self.get(id_)
        if isinstance(entry, Memory):
            return entry
        raise MemoryNotFoundError(f"{entry.id} is an observation, which has no versions", id=id_)

    def _whole(self, id_: str) -> Entry | None:
        """Look an entry up by its whole id, without going through all of them."""
        if id_.startswith("obs_"):
            found = self.daemon.ask(calls.expand([id_]))
            return next((self._observation(one) for one in found if one.id == id_), None)
        return self.daemon.memory(id_) if id_ else None

    def _observation(self, found: Found) -> Observation | None:
        session = self.daemon.session(found.session)
        return observation_in(found.row, session, self.daemon.clock())


def _scope(agent: str | None) -> str | None:
    """Open what an isolated daemon keeps apart where an agent is asked for by name."""
    return None if agent is None else EVERY_AGENT


def _may_hold(session: Session, filters: Filters) -> bool:
    return filters.project is None or session.project in (filters.project, "")
