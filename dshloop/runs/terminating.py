"""SIGTERM and SIGHUP while an event loop runs: the first asks for an orderly end, the next forces.

As Ctrl-C (runs/interrupts.py), the first is an action of the loop, never an exception within it.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

GRACE = 5.0
"""Seconds that an orderly end may take, as with dsh (dsh-sessions 11)."""

_NAMES = ("SIGTERM", "SIGHUP")  # Windows has no SIGHUP


@contextmanager
def terminations(
    loop: asyncio.AbstractEventLoop, action: Callable[[int], object]
) -> Iterator[None]:
    """Have the first call an action with its number; the second, or GRACE, ends the process.

    The end is a SystemExit of 128 and the number. Outside the main thread it does nothing: whoever
    runs us there owns the signals.
    """
    asked: list[asyncio.TimerHandle] = []

    def begin(number: int) -> None:
        asked.append(loop.call_later(GRACE, force, number))
        action(number)

    def force(number: int) -> None:
        raise SystemExit(128 + number)

    def on_signal(number: int, _frame: object) -> None:
        if asked:
            force(number)
        loop.call_soon_threadsafe(begin, number)

    before: dict[int, Any] = {}
    try:
        for name in _NAMES:
            number = getattr(signal, name, None)
            if number is not None:
                before[number] = signal.signal(number, on_signal)
    except ValueError:
        pass  # another thread than the main one
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for timer in asked:
            timer.cancel()
