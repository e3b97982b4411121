"""The sessions of a host that are kept on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from dshloop.errors import SessionExistsError, SessionReadOnlyError, SessionUnreadableError
from dshloop.files import shown
from dshloop.loops.binding import without_bindings
from dshloop.paths import Places
from dshloop.sessions.catalog import Entry, entries, find, find_id
from dshloop.sessions.log import SessionLog
from dshloop.sessions.naming import uuid7
from dshloop.sessions.session import Clock
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


@dataclass(slots=True)
class StoredSessions:
    """Opens our logs for one command; ``command`` is what others see as the lock's owner."""

    places: Places
    cwd: Path
    clock: Clock
    command: str
    _opened: dict[str, SessionLog] = field(default_factory=dict)

    def create(self, session_id: str, *, cwd: str | None, agent_preset: str | None) -> SessionLog:
        """Begin a session. Raises SESSION_EXISTS when the id is taken, by dsh's sessions too."""
        taken = find_id(self.places, session_id)
        if taken is not None:
            raise SessionExistsError(
                f'session "{session_id}" already exists',
                session=session_id,
                file=shown(taken.path),
            )
        return SessionLog.create(
            self.places.sessions,
            session_id,
            cwd=cwd,
            clock=self.clock,
            command=self.command,
            agent_preset=agent_preset,
        )

    def inspect(self, name: str) -> SessionLog:
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
                session=entry.id,
                file=shown(entry.path),
            )
        try:
            log = SessionLog.open(entry.path, clock=self.clock, command=self.command)
        except SessionUnreadableError as fault:
            raise unreadable(entry, fault) from None
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

    def list(self) -> Sequence[str]:
        """Give the ids of all sessions, ours and those of dsh."""
        return [entry.id for entry in entries(self.places)]

    def resume(self, session_id: str) -> SessionLog:
        """Give the log that `inspect` opened, or open it."""
        if session_id not in self._opened:
            self.inspect(session_id)
        return self._opened.pop(session_id)

    def close(self) -> None:
        """Let go of what was inspected and never resumed."""
        for log in self._opened.values():
            log.close()
        self._opened.clear()
