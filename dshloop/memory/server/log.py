"""The server's log: lines with their time, written by a thread of its own.

Nobody waits for a log: when its reader stands still, lines are dropped and counted.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from asyncio import CancelledError
from collections.abc import Callable
from typing import TextIO

from dshloop.terminal import one_line
from dshloop.times import iso_time

_WAITING = 10_000
_LONGEST = 2_000
_LAST_SECONDS = 2.0


class Log:
    """Writes lines to a stream; `close` waits a moment for the last ones."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.time) -> None:
        self._stream = stream
        self._clock = clock
        self._lines: queue.Queue[str | None] = queue.Queue(_WAITING)
        self._dropped = 0
        self._thread = threading.Thread(target=self._write, name="memory-log", daemon=True)
        self._thread.start()

    def __call__(self, text: str) -> None:
        try:
            self._lines.put_nowait(f"{iso_time(self._clock())} {one_line(text, _LONGEST)}\n")
        except queue.Full:
            self._dropped += 1

    def close(self) -> None:
        """Write what is waiting."""
        try:
            self._lines.put(None, timeout=_LAST_SECONDS)
        except queue.Full:
            return
        self._thread.join(_LAST_SECONDS)

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            dropped, self._dropped = self._dropped, 0
            told = f"{line}({dropped} lines were lost)\n" if dropped else line
            try:
                self._stream.write(told)
                self._stream.flush()
            except (OSError, ValueError):
                continue  # nobody reads it any more


class Forwarded(logging.Handler):
    """Passes on what uvicorn logs."""

    def __init__(self, log: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            fault = record.exc_info[1]
            if isinstance(fault, CancelledError):
                return  # a call that a second signal cut off, one of perhaps hundreds
            said = f"{said.strip()} {type(fault).__name__}: {fault}"
        self._log(said)
