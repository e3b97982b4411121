"""Worker processes that share the cells of a run: started once, each runs many cells.

One thread a worker hands it cells and waits for its answers; the caller's thread takes what has
ended from `Pool.results`, and ends workers whose cell is far over its time.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dshloop.errors import SystemRefusedError
from dshloop.files import why
from dshloop.redact import redact_text
from dshloop.runs.matrix.plan import Cell

TRIES = 2
"""How often a cell is begun whose worker dies."""

OVERTIME = 8.0
"""Seconds behind a cell's time-out after which its worker is ended: longer than the worker itself
gives what won't end. Commands that check have their own time."""

_HERE = Path(__file__).parent
_STOP_SECONDS = 3.0
_LOOK = 0.2  # seconds between looks at who is over its time
_TAIL = 400  # characters of a dead worker's last words


class Finished(NamedTuple):
    """A cell that has ended: its record, or None and how its worker died each time."""

    cell: Cell
    record: dict[str, Any] | None
    tries: int
    overdue: bool = False
    words: str = ""


@dataclass(frozen=True, slots=True)
class Setup:
    """What workers are started with: what all cells share, their environment, their logs."""

    surroundings: Any
    variables: Mapping[str, str]
    logs: Path


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class Worker:
    """One process."""

    def __init__(self, setup: Setup, number: int) -> None:
        self.log = setup.logs / f"worker-{number}.log"
        try:
            self._start(setup)
        except OSError as fault:
            raise SystemRefusedError(f"can't start a worker process: {why(fault)}") from fault
        self.deadline: float | None = None
        self.overdue = False
        self._send([*sys.path, str(_HERE.parents[2])])
        self._send(setup.surroundings)

    def _start(self, setup: Setup) -> None:
        with open(self.log, "ab", opener=_private) as log:
            self._log_begins = log.tell()
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(_HERE / "worker.py")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=dict(setup.variables),
                start_new_session=sys.platform != "win32",  # Ctrl-C is for the pool alone
            )

    def run(self, cell: Cell, seconds: float) -> dict[str, Any] | None:
        """Have a cell run; give the answer, None when the process died."""
        self.deadline, self.overdue = time.monotonic() + seconds, False
        self._send(cell)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        self.deadline = None
        if not line.endswith(b"\n"):
            return None
        answer: dict[str, Any] = json.loads(line)
        return answer

    def let_go(self) -> None:
        """Close its input, which makes it end."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except OSError:
            pass  # it is gone

    def kill(self) -> None:
        """End it at once, with all that it started and that is still of its group."""
        if sys.platform == "win32" or self._process.returncode is not None:
            self._process.kill()
            return
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def ended(self, seconds: float | None = None) -> bool:
        """Wait until it has ended, so long at most."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        """Wait for its end and let go of its pipes; an empty log goes."""
        self.let_go()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        if not self.log.exists() or self.log.stat().st_size == 0:
            self.log.unlink(missing_ok=True)

    @property
    def last_words(self) -> str:
        """How it ended, and the end of what it wrote; no secrets in it."""
        code = self._process.returncode
        words = " ".join(redact_text(self._written()).split())[-_TAIL:]
        how = f"killed by signal {-code}" if code and code < 0 else f"exit code {code}"
        return f"{how}: {words}" if words else how

    def _written(self) -> str:
        """Read the end of what it wrote, which may be much."""
        try:
            with self.log.open("rb") as log:
                size = log.seek(0, os.SEEK_END)
                log.seek(max(self._log_begins, size - 4 * _TAIL))
                return log.read().decode("utf-8", "replace")
        except OSError:
            return ""  # someone took it away

    def _send(self, value: Any) -> None:
        assert self._process.stdin is not None
        try:
            pickle.dump(value, self._process.stdin)
            self._process.stdin.flush()
        except (OSError, ValueError):
            pass  # it is gone, or was let go of; reading its answer tells


class Pool:
    """Runs cells on up to ``jobs`` workers; leave the block to end them all."""

    def __init__(self, setup: Setup, cells: Iterable[Cell], jobs: int) -> None:
        self._setup = setup
        self._waiting = deque(cells)
        self._left = len(self._waiting)
        self._results: queue.SimpleQueue[Finished | BaseException | None] = queue.SimpleQueue()
        self._stopping = False
        self._workers: dict[int, Worker] = {}
        count = min(jobs, self._left)
        self._threads = [
            threading.Thread(target=self._serve, args=(number,), daemon=True)
            for number in range(1, count + 1)
        ]
        for thread in self._threads:
            thread.start()

    def interrupt(self) -> None:
        """Have `results` end now; may be called from a signal handler."""
        self._results.put(None)

    def results(self) -> Iterator[Finished]:
        """Yield what has ended, as it ends; less than all after `interrupt`.

        Raises what a thread raised, such as OSError when no process can be started.
        """
        while self._left:
            try:
                found = self._results.get(timeout=_LOOK)
            except queue.Empty:
                self._look()
                continue
            if found is None:
                yield from self._there_already()
                return
            if isinstance(found, BaseException):
                raise found
            self._left -= 1
            yield found

    def _there_already(self) -> Iterator[Finished]:
        while not self._results.empty():
            found = self._results.get()
            if isinstance(found, Finished):
                yield found

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping = True
        self._waiting.clear()
        try:
            self._end()
        except BaseException:  # a second Ctrl-C: at once
            for worker in list(self._workers.values()):
                worker.kill()
            raise
        for thread in self._threads:
            thread.join()

    def _end(self) -> None:
        for worker in list(self._workers.values()):
            worker.let_go()
        until = time.monotonic() + _STOP_SECONDS
        for worker in list(self._workers.values()):
            if not worker.ended(max(until - time.monotonic(), 0)):
                worker.kill()
                worker.ended()

    def _look(self) -> None:
        now = time.monotonic()
        for worker in list(self._workers.values()):
            if worker.deadline is not None and worker.deadline < now:
                worker.overdue = True
                worker.kill()

    # --- in the threads ------------------------------------------------------------------------

    def _serve(self, number: int) -> None:
        worker: Worker | None = None
        try:
            while not self._stopping:
                try:
                    cell = self._waiting.popleft()
                except IndexError:
                    break
                worker = self._finish(cell, worker, number)
        except BaseException as fault:
            self._results.put(fault)
        finally:
            if worker is not None:
                worker.close()
            self._workers.pop(number, None)

    def _finish(self, cell: Cell, worker: Worker | None, number: int) -> Worker | None:
        """Run one cell, again where its worker dies; give the worker for the next one."""
        seconds = self._setup.surroundings.timeout + OVERTIME
        seconds += sum(check.seconds for check in cell.asked.checks if check.words)
        words = ""
        for tries in range(1, TRIES + 1):
            if worker is None:
                worker = self._workers[number] = Worker(self._setup, number)
                if self._stopping:
                    worker.let_go()
            answer = worker.run(cell, seconds)
            if answer is not None:
                self._results.put(Finished(cell, answer["record"], tries))
                if not answer["spent"]:
                    return worker
                worker.close()
                return None
            worker.kill()  # what it left of its group
            worker.close()
            overdue, words, worker = worker.overdue, worker.last_words, None
            if self._stopping:
                return None
            if overdue:
                break
        self._results.put(Finished(cell, None, tries, overdue, words))
        return None
