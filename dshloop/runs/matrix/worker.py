"""A worker process: runs one cell after the other for the pool that started it.

It is run as a file, since what it is made of is found only with the ``sys.path`` that it is given.
Pickles come on standard input: a list for ``sys.path``, `Surroundings`, then cells. Each cell is
answered with one line of JSON on what was standard output; what loops and plugins print goes to
standard error. The process ends when its input does, whatever still runs.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dshloop.runs.matrix.cell import CellRun
    from dshloop.runs.matrix.plan import Cell
    from dshloop.runs.matrix.surroundings import Surroundings

PATIENCE = 2.0
"""Seconds that a cell may take to let go of its session when the pool is gone."""


def main() -> None:
    """Serve until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the pool says when to end
    source = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed is no answer
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    _keep_from_children(source, answers)
    sys.path[:] = pickle.load(source)
    code = 1
    try:
        code = Worker(source, answers).serve()
    except BaseException:  # of our own: these are the last words, which the pool tells
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)  # a cell may have left threads behind


def _keep_from_children(*pipes: IO[bytes]) -> None:
    """Have a process that a cell forks let go of what the pool waits for the end of."""
    ends = [pipe.fileno() for pipe in pipes]

    def let_go() -> None:
        while ends:  # once: children of the child may have other files there
            os.close(ends.pop())

    if sys.platform != "win32":
        os.register_at_fork(after_in_child=let_go)


class _State(NamedTuple):
    """What a cell may leave otherwise than it found it, to the harm of those that come after it."""

    path: list[str]
    variables: dict[str, str]
    cwd: str | None

    @classmethod
    def now(cls) -> _State:
        try:
            cwd = str(Path.cwd())
        except OSError:
            cwd = None  # it is gone
        return cls([*sys.path], {**os.environ}, cwd)

    def restore(self) -> None:
        sys.path[:] = self.path
        if self.variables != os.environ:
            os.environ.clear()
            os.environ.update(self.variables)
        if self.cwd is not None:
            with suppress(OSError):
                os.chdir(self.cwd)


class Worker:
    """Takes cells in, and gives a record for each."""

    def __init__(self, source: IO[bytes], answers: IO[bytes]) -> None:
        self._source, self._answers = source, answers
        self._cells: queue.SimpleQueue[Cell | None] = queue.SimpleQueue()
        self._under_way: tuple[CellRun, Any] | None = None
        self._over = threading.Event()
        self._answering = threading.Lock()

    def serve(self) -> int:
        """Run cells until there are no more, or one can't be ended."""
        around: Surroundings = pickle.load(self._source)
        as_begun = _State.now()
        threading.Thread(target=self._read, daemon=True).start()
        while (cell := self._cells.get()) is not None and not self._over.is_set():
            as_begun.restore()
            self._run(cell, around)
        return 0

    def _read(self) -> None:
        """Pass cells on; when the pool closes its end or is gone, end what is under way."""
        while True:
            try:
                self._cells.put(pickle.load(self._source))
            except Exception:  # the end, also in the middle of a cell
                break
        self._over.set()
        self._cells.put(None)
        running = self._under_way
        if running is not None:
            run, loop = running
            try:
                loop.call_soon_threadsafe(run.stop)
            except RuntimeError:
                pass  # the loop was closed just now
        time.sleep(PATIENCE)
        os._exit(1)

    def _run(self, cell: Cell, around: Surroundings) -> None:
        """Run a cell in an event loop of its own, and answer; end here when it can't be ended."""
        import asyncio

        from dshloop.runs.interrupts import Running
        from dshloop.runs.matrix.cell import CellRun

        run = CellRun(cell, around, time.time)

        async def record() -> dict[str, Any]:
            self._under_way = run, asyncio.get_running_loop()
            if self._over.is_set():
                run.stop()
            return await run.record()

        with Running() as running:
            found = running.run(record)
            self._under_way = None
            if run.spent:  # leaving the loop would wait for it
                self._leave(found)
            watch = threading.Timer(PATIENCE, self._leave, [found])
            watch.daemon = True
            watch.start()
        watch.cancel()
        with self._answering:
            if not self._over.is_set():
                self._answer(found, spent=False)

    def _leave(self, record: dict[str, Any]) -> None:
        """Answer, and end this process: something of the cell still runs, such as a thread."""
        with self._answering:
            self._answer(record, spent=True)
            os._exit(0)

    def _answer(self, record: dict[str, Any], *, spent: bool) -> None:
        self._answers.write(json.dumps({"record": record, "spent": spent}).encode() + b"\n")
        self._answers.flush()


if __name__ == "__main__":
    main()
