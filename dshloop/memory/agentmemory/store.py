"""The face of the store that writes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn

from dshloop.errors import (
    MemoryNotFoundError,
    PeerAnswerError,
    StoreReadOnlyError,
    StoreUnsupportedError,
)
from dshloop.memory.agentmemory import sending
from dshloop.memory.agentmemory.daemon import Daemon
from dshloop.memory.agentmemory.found import memory_in, session_in
from dshloop.memory.agentmemory.reading import AgentmemoryReader
from dshloop.memory.agentmemory_client import calls
from dshloop.memory.agentmemory_client.answers import Row
from dshloop.memory.answers import (
    SKIP,
    Filters,
    Forgotten,
    Observed,
    Put,
    Record,
    Remembered,
    Similar,
)
from dshloop.memory.clean import clean_edit, clean_memory, clean_observation
from dshloop.memory.entries import (
    Edit,
    Entry,
    Memory,
    NewMemory,
    NewObservation,
    NewSession,
    Observation,
    Session,
)
from dshloop.memory.interchange import fields
from dshloop.redact import redact_text
from dshloop.times import iso_time

_NO_FOLDER = "."


class AgentmemoryStore(AgentmemoryReader):
    """The daemon as a store; what it has no way to do raises STORE_UNSUPPORTED."""

    def __init__(
        self,
        daemon: Daemon,
        notice: Callable[[str], None] | None = None,
        *,
        readonly: bool = False,
    ) -> None:
        super().__init__(daemon, notice)
        self._readonly = readonly

    # --- memories ------------------------------------------------------------------------------

    def remember(
        self,
        new: NewMemory,
        *,
        allow_secrets: bool = False,
        renew: bool = False,  # noqa: ARG002 - the daemon does nothing else
    ) -> Remembered:
        """Keep a memory; the daemon supersedes what it is nearly equal to, the same text too
        (agentmemory 6), whatever ``renew`` says."""
        self._writing()
        new, redacted = (new, 0) if allow_secrets else clean_memory(new)
        new = new.checked()
        kept = self.daemon.ask(sending.remembering(new))
        made = self._made(kept.memory)
        memory = sending.completed(made, new)
        if memory != made:
            memory = self._imported(memory)
        superseded = None if made.previous is None else self.daemon.memory(made.previous)
        return Remembered(
            memory,
            superseded=superseded,
            similar=None if kept.similar is None else self._similar(kept.similar),
            redacted=redacted,
        )

    def edit(
        self,
        id: str,  # noqa: A002
        *,
        content: str | None = None,
        title: str | None = None,
        type: str | None = None,  # noqa: A002
        concepts: Sequence[str] | None = None,
        files: Sequence[str] | None = None,
        strength: float | None = None,
        allow_secrets: bool = False,
    ) -> Remembered:
        """Store a new version of a memory.

        The daemon makes it of a text alone and doesn't find it by that (agentmemory 13, D14); then
        it is imported as a whole.
        """
        self._writing()
        change = Edit(content, title, type, concepts, files, strength)
        change, redacted = (change, 0) if allow_secrets else clean_edit(change)
        old = self.history(self._memory(id).id)[-1]
        wanted = sending.edited(old, change.checked())
        if wanted == old:
            return Remembered(old, redacted=redacted)
        said = (wanted.content, wanted.title) != (old.content, old.title)
        title = wanted.title if said else f"{wanted.title}…"  # no change in these makes no version
        kept = self.daemon.ask(calls.evolve(old.id, wanted.content, title=title))
        version = self._made(sending.new_version(kept.memory))
        memory = self._imported(
            version._replace(
                title=wanted.title, type=wanted.type, concepts=wanted.concepts,
                files=wanted.files, strength=wanted.strength,
            )
        )  # fmt: skip
        return Remembered(memory, superseded=old._replace(latest=False), redacted=redacted)

    def _made(self, row: Row) -> Memory:
        memory = memory_in(row, self.daemon.clock())
        if memory is None:
            raise PeerAnswerError("agentmemory gave no memory for one that it kept")
        return memory

    def _imported(self, memory: Memory) -> Memory:
        self.daemon.ask(sending.importing([memory]))
        return self.daemon.memory(memory.id) or memory

    def _similar(self, row: Row) -> Similar | None:
        memory = self.daemon.memory(fields.text(row, "id"))
        return None if memory is None else Similar(memory, fields.number(row, "similarity", 0.0))

    # --- observations and sessions -------------------------------------------------------------

    def observe(self, new: NewObservation, *, allow_secrets: bool = False) -> Observed:
        """Keep an observation as far as the daemon does: it cuts texts at 400 characters.

        What it takes for a repeat because only the beginning is the same, or another output came of
        the same input, is sent again with a mark (agentmemory 13, D4)."""
        self._writing()
        new, redacted = (new, new.redacted) if allow_secrets else clean_observation(new)
        mark = "" if new.key else _new_mark()
        noted = self.daemon.ask(sending.observing(new, self.daemon.clock(), mark))
        rows = self._observed_in(new.session)
        if noted.id is None and not any(sending.is_repeat(one, new) for one in rows):
            noted = self.daemon.ask(sending.observing(new, self.daemon.clock(), _new_mark()))
            rows = self._observed_in(new.session)
        told = [one for one in rows if _is_told(one, noted.id, new)]
        observation = (
            told[-1] if told else sending.as_sent(new, noted.id or "", self.daemon.clock())
        )
        return Observed(observation, noted.duplicate, redacted)

    def _observed_in(self, id_: str) -> list[Observation]:
        session = self.daemon.session(id_)
        return [] if session is None else [*self.daemon.observations(session)]

    def start_session(self, new: NewSession) -> Session:
        """Begin a session, or make a known one active again with what it has: the daemon would
        overwrite it (agentmemory 13, D1)."""
        self._writing()
        before = self.daemon.session_row(new.id)
        title = None if new.title is None else redact_text(new.title)
        started = self.daemon.ask(
            calls.session_start(
                new.id, new.project, new.cwd or _NO_FOLDER, agent=new.agent, title=title
            )
        )
        if before is not None and started.session.get("startedAt") != before.get("startedAt"):
            self._resumed(before)
        session = self.daemon.session(new.id) or session_in(started.session, self.daemon.clock())
        if session is None:
            raise PeerAnswerError("agentmemory gave no session for one that it began")
        return session

    def _resumed(self, row: Row) -> None:
        """Put a session's row back, active."""
        kept = {key: value for key, value in row.items() if key != "endedAt"}
        now = {"status": "active", "updatedAt": iso_time(self.daemon.clock())}
        whole = sending.exported(sessions=[{**kept, **now}])
        self.daemon.ask(calls.import_(whole))

    def end_session(self, id: str) -> Session | None:  # noqa: A002
        """Mark a session as completed; the daemon isn't told of an unknown one, of which it would
        make a row (agentmemory 13, D2)."""
        self._writing()
        if self.daemon.session_row(id) is None:
            return None
        self.daemon.ask(calls.session_end(id))
        return self.daemon.session(id)

    # --- forgetting ----------------------------------------------------------------------------

    def forget(
        self,
        ids: Sequence[str] = (),
        *,
        where: Filters | None = None,
        dry_run: bool = False,
        purge: bool = False,  # noqa: ARG002 - the daemon knows nothing else
    ) -> Forgotten:
        """Take entries away for good, one by one. Raises MEMORY_NOT_FOUND, AMBIGUOUS_ID."""
        self._writing()
        named, missing = self._named(ids)
        if ids and not named:
            raise MemoryNotFoundError(
                f"none of {', '.join(missing)} is in agentmemory at {self.daemon.where}",
                ids=list(missing),
            )
        passing = [] if where is None else self.list(where, oldest_first=True)
        entries = tuple({one.id: one for one in (*named, *passing)}.values())
        if not dry_run:
            self._take_away(entries)
        return Forgotten(entries, tuple(missing))

    def forget_session(self, id: str) -> Forgotten:  # noqa: A002
        """Take away a session with its observations, for good."""
        self._writing()
        session = self.daemon.session(id)
        if session is None:
            return Forgotten((), (id,))
        entries = tuple(self.daemon.observations(session))
        self.daemon.ask(calls.forget(session=id))
        return Forgotten(entries)

    def _named(self, ids: Sequence[str]) -> tuple[list[Entry], list[str]]:
        named: list[Entry] = []
        missing: list[str] = []
        for id_ in ids:
            try:
                named.append(self.get(id_))
            except MemoryNotFoundError:
                missing.append(id_)
        return named, missing

    def _take_away(self, entries: Sequence[Entry]) -> None:
        """Take entries away; a memory goes with its older versions, observations go by session."""
        by_session: dict[str, list[str]] = {}
        for entry in entries:
            if isinstance(entry, Observation):
                by_session.setdefault(entry.session, []).append(entry.id)
                continue
            older = list(self.older(entry)) if entry.latest else []
            for memory in (entry, *older):
                self.daemon.ask(calls.forget(memory=memory.id))
        for session, ids in by_session.items():
            self.daemon.ask(calls.forget(session=session, observations=ids))

    # --- records -------------------------------------------------------------------------------

    def put(
        self, records: Iterable[Record], *, on_conflict: str = SKIP, dry_run: bool = False
    ) -> Iterator[Put]:
        """Store records as they are, batch by batch. Raises as `Transferable` says."""
        from dshloop.memory.agentmemory.carrying import put

        self._writing()
        return put(self.daemon, records, on_conflict=on_conflict, dry_run=dry_run)

    # --- what it can't do ----------------------------------------------------------------------

    def restore(self, ids: Sequence[str]) -> Sequence[Entry]:  # noqa: ARG002
        """Refuse: what the daemon has forgotten is gone. STORE_UNSUPPORTED."""
        self._refuse("way to bring back what was forgotten")

    def undo(self) -> Any:
        """Refuse: STORE_UNSUPPORTED."""
        self._refuse("undo")

    def _refuse(self, what: str) -> NoReturn:
        raise StoreUnsupportedError(
            f"the store {self.name} has no {what}",
            hint="Nothing was changed. The embedded store has one: --store embedded.",
            store=self.name,
        )

    def _writing(self) -> None:
        if self._readonly:
            raise StoreReadOnlyError(
                f"agentmemory at {self.daemon.where} was opened for reading only", store=self.name
            )


def _is_told(seen: Observation, id_: str | None, new: NewObservation) -> bool:
    """Whether this is the observation that was made, or the one of which it is a repeat."""
    return sending.is_repeat(seen, new) if id_ is None else seen.id == id_


def _new_mark() -> str:
    return os.urandom(6).hex()
