"""Ctrl-C while an event loop runs: the first asks, the second ends at once.

The first is an action of the loop, never an exception in the middle of it: a KeyboardInterrupt
raised inside the loop can hit between taking a task's next step from the queue and running it;
that task then never goes on, and whoever waits for it waits for ever. After the second nobody
waits any more: it is raised wherever the process is, and the loop is left as it stands.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")

GRACE = 1.0
"""Seconds that what is cancelled at the end may take."""

_left: list[object] = []  # loops that were left, with their tasks: nobody must take them apart


class Running:
    """An event loop for a run; leaving the block ends what still runs in it, or leaves it alone."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self.interrupted = 0
        self.broken = False  # a KeyboardInterrupt came out of the loop: nothing runs in it again

    def run(self, work: Coroutine[Any, Any, T], action: Callable[[], object] | None = None) -> T:
        """Run a coroutine; the run's first Ctrl-C calls the action, the next one ends it.

        Without an action the first Ctrl-C cancels the coroutine. Raises KeyboardInterrupt.
        """
        try:
            if action is None:
                return self._runner.run(work)
            with interrupts(self._runner.get_loop(), action, self._count):
                return self._runner.run(work)
        except KeyboardInterrupt:
            self.broken = True
            raise

    def _count(self) -> int:
        self.interrupted += 1
        return self.interrupted

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: object, trace: TracebackType | None
    ) -> None:
        loop = self._runner.get_loop()
        tasks = asyncio.all_tasks(loop)
        try:
            if tasks and not self.broken:
                for task in tasks:
                    task.cancel()
                _, tasks = self._runner.run(_wait(tasks))
            if not tasks:
                self._runner.close()
        except KeyboardInterrupt:
            _left.append((self._runner, tasks))
            raise
        if tasks:
            _left.append((self._runner, tasks))


async def _wait(
    tasks: set[asyncio.Task[Any]],
) -> tuple[set[asyncio.Task[Any]], set[asyncio.Task[Any]]]:
    return await asyncio.wait(tasks, timeout=GRACE)


@contextmanager
def interrupts(
    loop: asyncio.AbstractEventLoop,
    action: Callable[[], object],
    count: Callable[[], int] | None = None,
) -> Iterator[None]:
    """Have the first Ctrl-C call an action in the loop while the block runs, the second end it.

    ``count`` counts over several blocks. Outside the main thread it does nothing: whoever runs us
    there owns the signals.
    """
    times = 0

    def on_signal(*_: object) -> None:
        nonlocal times
        times += 1
        if (times if count is None else count()) > 1:
            raise KeyboardInterrupt
        loop.call_soon_threadsafe(action)

    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, on_signal)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
