"""Ctrl-C while an event loop runs: an action of the loop, never an exception in the middle of it.

A KeyboardInterrupt raised inside the loop can hit between taking a task's next step from the queue
and running it; that task then never goes on, and whoever waits for it waits for ever.
"""

from __future__ import annotations

import signal
from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def interrupts(loop: AbstractEventLoop, action: Callable[[], object]) -> Iterator[None]:
    """Have Ctrl-C call an action in the loop while the block runs.

    Outside the main thread it does nothing: whoever runs us there owns the signals.
    """
    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(action))
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
