"""What ends a conversation, and what stops what it is doing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dshloop.errors import ExitCode
from dshloop.host.abort import DISPOSED, USER, Cause
from dshloop.runs.interrupts import interrupts
from dshloop.signals import uninterrupted

_TWICE = 1.0  # seconds within which a second Ctrl-C leaves


class Ending:
    """``code`` is what the conversation ends with; None as long as it goes on."""

    def __init__(self) -> None:
        self.code: ExitCode | None = None
        self._interrupted_at = float("-inf")
        self._stop: Callable[[Cause], object] | None = None

    def near(self) -> bool:
        """Whether the conversation ends as soon as what is being done is over."""
        return self.code is not None

    @contextmanager
    def stopping(self, stop: Callable[[Cause], object], *, keys: bool = True) -> Iterator[None]:
        """Have whatever ends the process stop what the block does, and so Ctrl-C.

        Without ``keys`` Ctrl-C is the business of a program that has the terminal.
        """
        before, self._stop = self._stop, stop
        loop = asyncio.get_running_loop()
        try:
            with interrupts(loop, self.interrupt) if keys else uninterrupted():
                yield
        finally:
            self._stop = before

    def interrupt(self) -> None:
        """Ctrl-C while something is done, which it stops."""
        self.pressed()
        if self._stop is not None:
            self._stop(USER)

    def pressed(self) -> None:
        """Ctrl-C, wherever: the second within a second leaves."""
        now = time.monotonic()
        if now - self._interrupted_at <= _TWICE:
            self.code = ExitCode.INTERRUPTED
        self._interrupted_at = now

    def terminate(self, number: int) -> None:
        """End in good order at a signal: what is being done is stopped, and its text kept."""
        self.code = ExitCode(128 + number)
        if self._stop is not None:
            self._stop(DISPOSED)
