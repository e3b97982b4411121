"""The sessions of a host that are kept on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dshloop.errors import SessionExistsError, SessionReadOnlyError
from dshloop.files import shown
from dshloop.paths import Places
from dshloop.sessions.catalog import entries, find, find_id
from dshloop.sessions.log import SessionLog
from dshloop.sessions.session import Clock


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
        log = SessionLog.open(entry.path, clock=self.clock, command=self.command)
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
