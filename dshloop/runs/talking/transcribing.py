"""A copy of a session in a file of the user's, written while it runs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from dshloop.errors import OutputExistsError, WriteFailedError
from dshloop.files import shown, writing
from dshloop.sessions.events import lenient_line
from dshloop.sessions.session import Session
from dshloop.transcripts.vocabulary import Event


class Transcribing:
    """Writes every event to a new file: as the line of a log, or as a person reads it.

    A name that ends in ``.jsonl`` makes it a log, which all that reads logs takes. Raises
    OUTPUT_EXISTS at once, and WRITE_FAILED when the file can't be made or written.
    """

    def __init__(self, path: Path) -> None:
        if os.path.lexists(path):
            raise _exists(path)
        self._path = path
        self._as_log = path.suffix == ".jsonl"
        self._file: TextIO | None = None
        self._ours = False  # the file was made here

    def begin(self, session: Session) -> None:
        """Make the file, and write what the session holds already.

        When a conversation goes on in another session, that one takes the place of the first.
        """
        with writing(self._path):
            try:
                self._file = _opened(self._path, os.O_TRUNC if self._ours else os.O_EXCL)
            except FileExistsError:
                raise _exists(self._path) from None
        fresh, self._ours = not self._ours, True
        try:
            self._begin(session)
        except WriteFailedError:
            file, self._file = self._file, None
            with contextlib.suppress(OSError):
                if file is not None:
                    file.close()  # what it could not write before, it can't now
            if fresh:  # the next try finds the name free
                self._path.unlink(missing_ok=True)
            raise

    def _begin(self, session: Session) -> None:
        if self._as_log:
            self._write(_line(session.header.raw))
        else:
            self._write(f"session {session.header.id}\n\n")
        for event in session.events:
            self.see(event)

    def see(self, event: Event) -> None:
        """Write a new event. Raises WRITE_FAILED."""
        if self._as_log:
            self._write(_line(event))
            return
        from dshloop.runs.kept.show import event_text

        text = event_text(event)
        if text is not None:
            self._write(f"{text}\n\n")

    def end(self) -> None:
        """Close the file; may be called twice."""
        file, self._file = self._file, None
        if file is not None:
            with writing(self._path):
                file.close()

    def _write(self, text: str) -> None:
        if self._file is None:
            return
        with writing(self._path):
            self._file.write(text)
            self._file.flush()


def _opened(path: Path, how: int) -> TextIO:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | how, 0o600)
    return os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="\n")


def _line(value: Mapping[str, Any]) -> str:
    return lenient_line(value).decode("utf-8", "backslashreplace")


def _exists(path: Path) -> OutputExistsError:
    return OutputExistsError(f"{shown(path)} exists already", file=shown(path))
