"""The sessions of a host that are kept on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from dshloop.errors import (
    LockHeldError,
    SessionExistsError,
    SessionIdError,
    SessionReadOnlyError,
    SessionUnreadableError,
)
from dshloop.files import shown
from dshloop.loops.binding import without_bindings
from dshloop.paths import Places
from dshloop.sessions.catalog import Entry, entries, find, find_id
from dshloop.sessions.log import SessionLog
from dshloop.sessions.naming import encode_id, uuid7
from dshloop.sessions.session import Clock, MemoryLog
from dshloop.transcripts.vocabulary import V0, Event


class Whole(NamedTuple):
    """What is whole of a log that can't be gone on with; its bindings count for nothing."""

    events: Sequence[Event] = ()
    cwd: str | None = None
    preset: str | None = None


def whole_of(entry: Entry) -> Whole:
    """Read what is whole: the events before the first that is refused, if the format is ours."""
    from dshloop.transcripts.dsh import read_transcript

    try:
        read = read_transcript(entry.path)
    except SessionUnreadableError:
        return Whole()
    header, refusal = read.header, read.refusal
    events = read.events if read.version == V0 else []
    if refusal is not None and refusal.seq is not None:
        events = events[: refusal.seq]
    if header is None:
        return Whole(without_bindings(events))
    return Whole(without_bindings(events), header.cwd, header.agent_preset)


def unreadable(entry: Entry, fault: SessionUnreadableError) -> SessionUnreadableError:
    """Say which session it is, and how to go on without what can't be read."""
    from shlex import quote

    hint = fault.hint or f"See what is whole with: dshloop session show {shown(entry.path)}"
    way_on = f"dshloop session run --resume {quote(entry.id)} --force-rebind"
    details = {**fault.details, "session": entry.id}
    return SessionUnreadableError(
        fault.message, hint=f"{hint}\nGo on with that in a new session: {way_on}", **details
    )


def _ways_on(session_id: str) -> str:
    """Say how to go on with a session that can't be written to."""
    from shlex import quote

    resume = f"dshloop session run --resume {quote(session_id)}"
    copy, ask = f"{resume} --fork", f"{resume} --read-only"
    return f"Go on in a copy of it: {copy}\nAsk about it, keeping nothing: {ask}"


def require_id(session_id: str) -> None:
    """Refuse what can't be the id of a session. Raises SESSION_ID_INVALID."""
    if session_id == "last":
        raise SessionIdError('no session can be called "last", which stands for the newest')
    encode_id(session_id)


@dataclass(slots=True)
class StoredSessions:
    """Opens our logs for one command; ``command`` is what others see as the lock's owner."""

    places: Places
    cwd: Path
    clock: Clock
    command: str
    _opened: dict[str, SessionLog | MemoryLog] = field(default_factory=dict)

    def create(self, session_id: str, *, cwd: str | None, agent_preset: str | None) -> SessionLog:
        """Begin a session. Raises SESSION_EXISTS when the id is taken, by dsh's sessions too."""
        return SessionLog.create(
            self.places.sessions,
            self._free(session_id),
            cwd=cwd,
            clock=self.clock,
            command=self.command,
            agent_preset=agent_preset,
        )

    def inspect(self, name: str) -> SessionLog | MemoryLog:
        """Open a session by ``last``, id or beginning of an id, to look at it before `resume`.

        The log is locked from here on, so what was seen stays true. Raises what finding and
        opening raise, SESSION_READ_ONLY for a session of dsh.
        """
        if name in self._opened:
            return self._opened[name]
        entry = find(self.places, name, self.cwd)
        if entry.home == "dsh":
            raise SessionReadOnlyError(
                f'session "{entry.id}" belongs to dsh, which keeps it in {shown(entry.path)}',
                hint=_ways_on(entry.id),
                session=entry.id,
                file=shown(entry.path),
            )
        try:
            log = SessionLog.open(entry.path, clock=self.clock, command=self.command)
        except SessionUnreadableError as fault:
            raise unreadable(entry, fault) from None
        except LockHeldError as held:
            held.hint = f"{held.hint}\n{_ways_on(entry.id)}"
            raise
        self._opened[log.header.id] = log
        return log

    def rebind(self, name: str) -> SessionLog:
        """Begin a session with what is whole of an unreadable one, which stays as it is.

        The new one records no binding yet. `resume` gives it. Raises as `inspect`.
        """
        entry = find(self.places, name, self.cwd)
        whole = whole_of(entry)
        log = SessionLog.continuing(
            self.places.sessions,
            uuid7(self.clock()),
            whole.events,
            cwd=whole.cwd or str(self.cwd),
            clock=self.clock,
            command=self.command,
            agent_preset=whole.preset,
            parent_session=entry.id,
        )
        self._opened[log.header.id] = log
        return log

    def fork(
        self, name: str, session_id: str | None, *, moved: bool = False
    ) -> tuple[SessionLog, int]:
        """Begin a copy of a session, of ours or of dsh, whoever has it open; `resume` gives it.

        It works where that one did, ``moved`` in the folder of this command.
        Says how many events of a turn that hasn't ended are left out. Raises what finding it
        raises, FORK_POINT_NOT_FOUND, SESSION_UNREADABLE, SESSION_EXISTS, SESSION_ID_INVALID.
        """
        from dshloop.sessions.fork import read_seed

        entry = find(self.places, name, self.cwd)
        new = uuid7(self.clock()) if session_id is None else self._free(session_id)
        seed = read_seed(entry.path)
        log = SessionLog.continuing(
            self.places.sessions,
            new,
            seed.events,
            cwd=str(self.cwd) if moved else seed.header.cwd or str(self.cwd),
            clock=self.clock,
            command=self.command,
            agent_preset=seed.header.agent_preset,
            parent_session=entry.id,
            seeded=True,
        )
        self._opened[new] = log
        return log, seed.left_out

    def view(self, name: str) -> MemoryLog:
        """Read a session, of ours or of dsh, to go on with it in memory only.

        Nobody has to let go of it. `resume` gives it. Raises as `inspect`.
        """
        from dshloop.sessions.to_v0 import v0_events
        from dshloop.transcripts.dsh import read_transcript

        entry = find(self.places, name, self.cwd)
        read = read_transcript(entry.path)
        if read.refusal is not None or read.header is None:
            said = read.refusal.message if read.refusal else "it has no header"
            fault = SessionUnreadableError(f"can't go on with {shown(entry.path)}: {said}")
            raise unreadable(entry, fault)
        events = [*read.events, *read.closers()]
        whole = events if read.version == V0 else list(v0_events(events))
        log = MemoryLog({**read.header.raw, "version": V0}, whole, self.clock)
        self._opened[log.header.id] = log
        return log

    def _free(self, session_id: str) -> str:
        """Give an id that a new session may have. Raises SESSION_EXISTS, SESSION_ID_INVALID."""
        require_id(session_id)
        taken = find_id(self.places, session_id)
        if taken is None:
            return session_id
        raise SessionExistsError(
            f'session "{session_id}" already exists', session=session_id, file=shown(taken.path)
        )

    def list(self) -> Sequence[str]:
        """Give the ids of all sessions, ours and those of dsh."""
        return [entry.id for entry in entries(self.places)]

    def resume(self, session_id: str) -> SessionLog | MemoryLog:
        """Give the log that `inspect` opened, or open it."""
        if session_id not in self._opened:
            self.inspect(session_id)
        return self._opened.pop(session_id)

    def close(self) -> None:
        """Let go of what was inspected and never resumed."""
        for log in self._opened.values():
            log.close()
        self._opened.clear()
