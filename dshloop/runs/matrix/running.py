"""A run of a matrix from beginning to end: each cell recorded as it ends, stopped when asked."""

from __future__ import annotations

import signal
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from dshloop.runs.matrix.outcomes import CRASHED, TIMEOUT, blank
from dshloop.runs.matrix.plan import Cell
from dshloop.runs.matrix.pool import Finished, Pool, Setup
from dshloop.runs.matrix.record import Record, Run, Writer
from dshloop.runs.matrix.wanted import Wanted, surroundings
from dshloop.times import iso_time


@dataclass(slots=True)
class Progress:
    """How far a run is; ``interrupted`` when it was stopped before its end."""

    records: dict[int, Record] = field(default_factory=dict)
    interrupted: bool = False


def run_cells(
    wanted: Wanted, run: Run, jobs: int, progress: Progress, *, retry: bool = False
) -> Generator[Record, None, None]:
    """Run the cells that have no record yet, and yield each record once it is on the disk.

    With ``retry`` those that came to nothing are run again. Ctrl-C and SIGTERM end it between two
    records: cells under way are stopped, their sessions let go of, and they are run again when
    the run goes on. A second Ctrl-C is raised at once. Raises LOCK_HELD when another process is
    at work on the run, WRITE_FAILED.
    """
    with run.writer(wanted.command) as writer:
        progress.records.update(run.records())
        todo = [cell for cell in wanted.cells if _open(progress.records.get(cell.number), retry)]
        skipped = [cell for cell in todo if cell.skip is not None]
        yield from _kept(writer, progress, *(_skip(cell, wanted) for cell in skipped))
        wanting = [cell for cell in todo if cell.skip is None]
        if not wanting:
            return
        setup = Setup(surroundings(wanted, run), wanted.variables, run.folder)
        with Pool(setup, wanting, jobs) as pool, _stopping(pool, progress):
            for finished in pool.results():
                yield from _kept(writer, progress, _record(finished, run, wanted))


def _open(record: Record | None, retry: bool) -> bool:
    return record is None or (retry and record.get("outcome") != "completed")


def _kept(writer: Writer, progress: Progress, *records: Record) -> Sequence[Record]:
    writer.add(*records)
    progress.records.update((record["number"], record) for record in records)
    return records


def _record(finished: Finished, run: Run, wanted: Wanted) -> Record:
    """Give a cell's record; without an answer of its worker one that says how that died."""
    if finished.record is not None:
        return {**finished.record, "tries": finished.tries}
    outcome, code = (TIMEOUT, "TIMEOUT") if finished.overdue else (CRASHED, "WORKER_DIED")
    message = (
        "the cell did not end when its time was over"
        if finished.overdue
        else f"the worker process died {finished.tries} times ({finished.words})"
    )
    return {
        **blank(finished.cell),
        "outcome": outcome,
        "passed": False,
        "session": finished.cell.session(run.id),
        "failure": {"code": code, "message": message},
        "tries": finished.tries,
        **_at(wanted),
    }


def _skip(cell: Cell, wanted: Wanted) -> Record:
    failure = {"code": "SKIPPED", "message": cell.skip}
    return {**blank(cell), "failure": failure, **_at(wanted)}


def _at(wanted: Wanted) -> dict[str, Any]:
    return {"finished_at": iso_time(wanted.clock())}


@contextmanager
def _stopping(pool: Pool, progress: Progress) -> Iterator[None]:
    """Have Ctrl-C and SIGTERM end the pool's results, the second one at once."""

    def on_signal(*_: object) -> None:
        if progress.interrupted:
            raise KeyboardInterrupt
        progress.interrupted = True
        pool.interrupt()

    before = {}
    try:
        for kind in (signal.SIGINT, signal.SIGTERM):
            before[kind] = signal.signal(kind, on_signal)
    except ValueError:
        pass  # another thread than the main one: whoever runs us there owns the signals
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
