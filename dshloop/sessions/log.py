"""One session's log: append-only, one writer, nothing on disk before the first event.

A log that is opened for writing is read again under the lock. What must be mended (a torn last
line, a turn left open) is mended by the first append, so that opening alone changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshloop.errors import (
    SessionExistsError,
    SessionNotFoundError,
    SessionReadOnlyError,
    SessionUnreadableError,
)
from dshloop.files import shown, writing
from dshloop.locks import hold
from dshloop.paths import private_folder
from dshloop.sessions.events import encode_line, lenient_line, new_header
from dshloop.sessions.naming import LOCK_NAME, LOG_NAME, log_path
from dshloop.sessions.session import Clock, EventList
from dshloop.sessions.writing import keep_cut_lines, publish, write_all
from dshloop.transcripts.header import read_header
from dshloop.transcripts.vocabulary import V0, Event

if TYPE_CHECKING:  # a new session reads none
    from dshloop.transcripts.dsh import Transcript


class SessionLog(EventList):
    """A session on disk; use `create` or `open`, and `close` in the end.

    ``append`` has given the event to the system when it returns, so it outlives this process;
    ``flush`` makes it outlive the machine. Raises WRITE_FAILED, and then holds the log as it was
    before.
    """

    def __init__(
        self,
        path: Path,
        header: Mapping[str, Any],
        events: Sequence[Event],
        *,
        clock: Clock,
        command: str,
    ) -> None:
        super().__init__(header, events, clock)
        self.path = path
        self._command = command
        self._held = ExitStack()
        self._file = -1
        self._size = 0  # bytes of the file that belong to the log
        self._pending = b""  # lines that the next append writes before its own
        self._dirty = False

    @classmethod
    def create(
        cls,
        root: Path,
        session_id: str,
        *,
        cwd: str | None,
        clock: Clock,
        command: str,
        agent_preset: str | None = None,
    ) -> SessionLog:
        """Begin a session; the file comes with its first event.

        Raises SESSION_EXISTS now when the file is there, and at the first append when another
        process was faster.
        """
        path = log_path(root, cwd, session_id)
        if path.exists():
            raise _exists(session_id, path)
        created = int(clock() * 1000)
        header = new_header(session_id, created_at=created, cwd=cwd, agent_preset=agent_preset)
        log = cls(path, header, [], clock=clock, command=command)
        log._pending = encode_line(header)
        return log

    @classmethod
    def continuing(
        cls,
        root: Path,
        session_id: str,
        events: Sequence[Event],
        *,
        cwd: str | None,
        clock: Clock,
        command: str,
        agent_preset: str | None = None,
        parent_session: str | None = None,
        seeded: bool = False,
    ) -> SessionLog:
        """Begin a session that goes on behind events of another one; raises as `create`.

        A turn that they leave open is closed. The file comes with the first new event. With
        ``seeded`` the header says how many events are the other one's.
        """
        from dshloop.transcripts.closers import closers_of

        log = cls.create(
            root, session_id, cwd=cwd, clock=clock, command=command, agent_preset=agent_preset
        )
        closing = closers_of(events, V0)
        if parent_session is not None:
            header = {**log.header.raw, "parentSession": parent_session}
            if seeded:
                header["seedLength"] = len(events) + len(closing)
            log.header, log._pending = read_header(header), encode_line(header)
        log.events = [*events, *closing]
        log.resumed, log.stored = bool(events), len(events)
        log._pending += b"".join(map(lenient_line, log.events))
        return log

    def descend(self, parent: str, depth: int, origin: str) -> None:
        """Say in the header whose agent began this session; nothing may be appended yet."""
        child = {"parentSession": parent, "origin": origin, "delegationDepth": depth}
        self.header = read_header({**self.header.raw, **child})
        self._pending = encode_line(self.header.raw)

    @classmethod
    def open(cls, path: Path, *, clock: Clock, command: str, wait: float = 0.0) -> SessionLog:
        """Open a log of ours to go on with it; holds its lock until `close`.

        Raises LOCK_HELD with the owner, SESSION_NOT_FOUND, SESSION_READ_ONLY for formats we don't
        write, SESSION_UNREADABLE for a log that DSH would refuse.
        """
        from dshloop.transcripts.dsh import read_transcript

        if not path.exists():  # no lock file is left where there is no session
            raise SessionNotFoundError(f"there is no session log {shown(path)}", file=shown(path))
        with ExitStack() as held:
            held.enter_context(_hold(path, command, wait))
            transcript = read_transcript(path)
            require_writable(transcript)
            _remove_drafts(path)
            log = cls._of(transcript, clock, command)
            log._held = held.pop_all()
        return log

    @classmethod
    def _of(cls, transcript: Transcript, clock: Clock, command: str) -> SessionLog:
        assert transcript.header is not None, "require_writable has seen it"
        closing = transcript.closers()
        events = [*transcript.events, *closing]
        log = cls(transcript.path, transcript.header.raw, events, clock=clock, command=command)
        log.resumed = True
        log.stored = len(transcript.events)
        log._size = transcript.good_bytes
        log._pending = b"".join(map(encode_line, closing))
        return log

    def append(
        self,
        kind: str,
        data: Any,
        *,
        surface_op: str | Mapping[str, Any] | None = None,
        sources: Sequence[int] | None = None,
        later: bool = False,
    ) -> Event:
        """Add one event and give it back; the first one also creates or mends the file.

        What is for ``later`` is written together with the next event that isn't, so that setting
        an agent up leaves no trace when nothing comes of it.
        """
        event = self._next_event(kind, data, surface_op, sources)
        lines = self._pending + encode_line(event)
        if not later:
            self._store(lines)
        self._pending = lines if later else b""
        self.events.append(event)
        return event

    def keep(self) -> None:
        """Write what was added for later now; a session that is new is then there."""
        if self._pending:
            self._store(self._pending)
            self._pending = b""

    def flush(self) -> None:
        """Wait until the disk has everything appended so far."""
        if self._dirty:
            with writing(self.path):
                os.fsync(self._file)
            self._dirty = False

    def close(self) -> None:
        """Flush, close the file and release the lock; may be called twice."""
        try:
            self.flush()
        finally:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1
            self._held.close()

    # --- the file ------------------------------------------------------------------------------

    def _store(self, data: bytes) -> None:
        if self._file >= 0:
            self._write(data)
        elif self._size:
            self._reopen(data)
        else:
            self._publish(data)

    def _publish(self, data: bytes) -> None:
        """Create the file with header and first event at once, never over another one."""
        with writing(self.path):
            private_folder(self.path.parent)
        with ExitStack() as held:
            held.enter_context(_hold(self.path, self._command, 0.0))
            with writing(self.path):
                self._file = self._create_file(data)
            self._held = held.pop_all()
        self._size = len(data)

    def _create_file(self, data: bytes) -> int:
        draft = self.path.with_name(f".{LOG_NAME}.{os.urandom(6).hex()}.tmp")
        try:
            return publish(draft, self.path, data)
        except FileExistsError:
            raise _exists(self.header.id, self.path) from None

    def _reopen(self, data: bytes) -> None:
        """Cut the file to its good prefix, keeping a copy of whole lines that are cut."""
        with writing(self.path):
            self._file = os.open(self.path, os.O_RDWR | getattr(os, "O_BINARY", 0))
            keep_cut_lines(self.path, self._file, self._size)
            os.ftruncate(self._file, self._size)
            os.lseek(self._file, 0, os.SEEK_END)
        try:
            self._write(data)
        except BaseException:
            os.close(self._file)
            self._file = -1
            raise

    def _write(self, data: bytes) -> None:
        try:
            write_all(self._file, data)
        except BaseException:
            with writing(self.path):
                os.ftruncate(self._file, self._size)
                os.lseek(self._file, self._size, os.SEEK_SET)
                raise
        self._size += len(data)
        self._dirty = True


def require_writable(transcript: Transcript) -> None:
    """Raise SESSION_READ_ONLY or SESSION_UNREADABLE when we can't go on with a log."""
    file = shown(transcript.path)
    fault = transcript.refusal
    if fault is not None:
        raise SessionUnreadableError(
            f"can't go on with {file}: {fault.message}",
            hint=f"See what is whole with: dshloop session show {file}",
            file=file,
            line=fault.line,
            byte=fault.byte,
        )
    if transcript.version != V0 or transcript.compressed:
        raise SessionReadOnlyError(f"{file} is a log of dsh, which dshloop only reads", file=file)


def _hold(path: Path, command: str, wait: float) -> Any:
    name = path.parent.name
    lock = path.with_name(LOCK_NAME)
    return hold(lock, command=command, wait=wait, what=f"session {name}")


def _exists(session_id: str, path: Path) -> SessionExistsError:
    return SessionExistsError(
        f'session "{session_id}" already exists', session=session_id, file=shown(path)
    )


def _remove_drafts(path: Path) -> None:
    """Remove what a process left that was killed while it created the log."""
    for draft in path.parent.glob(f".{LOG_NAME}.*.tmp"):
        draft.unlink(missing_ok=True)
