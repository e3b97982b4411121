"""Who takes a signal of the process, for a while."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager


@contextmanager
def handled_by(number: int, handler: Callable[..., object]) -> Iterator[None]:
    """Have a handler take a signal while the block runs.

    In another thread than the main one it does nothing: whoever runs us there owns the signals.
    """
    before = signal.getsignal(number)
    try:
        signal.signal(number, handler)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(number, before)


def uninterrupted() -> AbstractContextManager[None]:
    """Do nothing at a Ctrl-C while the block runs: it is for a program that has the terminal.

    As a handler and not SIG_IGN, which that program would inherit.
    """
    return handled_by(signal.SIGINT, lambda *_: None)
