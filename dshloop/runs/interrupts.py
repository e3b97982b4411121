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

from dshloop.signals import handled_by

T = TypeVar("T")

GRACE = 1.0
"""Seconds that what is cancelled at the end may take."""

_left: list[object] = []  # loops that were left, with their tasks: nobody must take them apart


class Running:
    """An event loop for a run; leaving the block ends what still runs in it, or leaves it alone.

    One handler has every Ctrl-C of the block, so that none comes between two of them. The first
    is an action of the loop when it comes within `run`; outside of it, and from the second on, it
    is raised. Where ``keeps`` is set, the first outside of it waits for the next `run` instead:
    for a block that has more to tell than that it was interrupted. In another thread than the
    main one it does nothing: whoever runs us there owns the signals.
    """

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self.interrupted = 0
        self.keeps = False
        self._kept = False
        self.broken = False  # a KeyboardInterrupt came out of the loop: nothing runs in it again
        self._action: Callable[[], object] | None = None  # set as long as `run` is at work
        self._task: asyncio.Task[Any] | None = None
        self._before: Any = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of the block."""
        return self._runner.get_loop()

    def run(
        self,
        work: Callable[[], Coroutine[Any, Any, T]],
        action: Callable[[], object] | None = None,
    ) -> T:
        """Run what ``work`` makes; the block's first Ctrl-C calls the action, the next ends it.

        Without an action the first Ctrl-C cancels the work. Raises KeyboardInterrupt.
        """
        # Nothing is made before this: an exception can come up to here, and would leave it behind.
        self._action = self._cancel if action is None else action
        try:
            return self._runner.run(self._begun(work, action is None))
        except asyncio.CancelledError:
            if action is None and self.interrupted:
                raise KeyboardInterrupt from None
            raise
        finally:
            self._action = None

    async def _begun(self, work: Callable[[], Coroutine[Any, Any, T]], cancelled: bool) -> T:
        if cancelled and self.interrupted:  # before there was anything to cancel
            raise asyncio.CancelledError
        self._task = asyncio.current_task()
        if self._kept and self._action is not None:
            self._kept = False
            self._action()
        return await work()

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _on_signal(self, *_: object) -> None:
        self.interrupted += 1
        action = self._action
        if action is None and self.keeps and self.interrupted == 1:
            self._kept = True
            return
        if action is None or self.interrupted > 1:
            self.broken = self.broken or action is not None
            raise KeyboardInterrupt
        self._runner.get_loop().call_soon_threadsafe(action)

    def __enter__(self) -> Self:
        self._runner.get_loop()
        try:
            self._before = signal.signal(signal.SIGINT, self._on_signal)
        except ValueError:
            pass  # another thread than the main one
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: object, trace: TracebackType | None
    ) -> None:
        try:
            self._end()
        finally:
            if signal.getsignal(signal.SIGINT) == self._on_signal:
                try:
                    signal.signal(signal.SIGINT, self._before)
                except ValueError:
                    pass  # a generator that is closed by another thread

    def _end(self) -> None:
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
def interrupts(loop: asyncio.AbstractEventLoop, action: Callable[[], object]) -> Iterator[None]:
    """Have the first Ctrl-C call an action in the loop while the block runs, the second end it.

    Outside the main thread it does nothing: whoever runs us there owns the signals.
    """
    times = 0

    def on_signal(*_: object) -> None:
        nonlocal times
        times += 1
        if times > 1:
            raise KeyboardInterrupt
        loop.call_soon_threadsafe(action)

    with handled_by(signal.SIGINT, on_signal):
        yield
