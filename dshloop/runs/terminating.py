"""SIGTERM and SIGHUP while an event loop runs: the first asks for an orderly end, the next forces.

As Ctrl-C (runs/interrupts.py), the first is an action of the loop, never an exception within it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
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

    The end is a SystemExit of 128 and the number; outside of the loop the first is that. Outside
    the main thread it does nothing: whoever runs us there owns the signals.
    """
    timers: list[threading.Timer] = []

    def on_signal(number: int, _frame: object) -> None:
        if timers or not loop.is_running():
            raise SystemExit(128 + number)
        timers.append(_later(GRACE, number))
        loop.call_soon_threadsafe(action, number)

    before: dict[int, Any] = {}
    try:
        for name in _NAMES:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                before[number] = signal.signal(number, on_signal)
    except ValueError:
        pass  # another thread than the main one
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


def _later(seconds: float, number: int) -> threading.Timer:
    """Send a signal to the main thread after a while, also when its loop is stuck."""

    def send() -> None:
        main = threading.main_thread().ident
        if os.name == "posix" and main is not None:
            signal.pthread_kill(main, number)
        else:
            os.kill(os.getpid(), number)

    timer = threading.Timer(seconds, send)
    timer.daemon = True
    timer.start()
    return timer
