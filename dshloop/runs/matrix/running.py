"""A run of a matrix from beginning to end: begun or gone on with, each cell recorded as it ends."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshloop.errors import MatrixChangedError
from dshloop.files import shown
from dshloop.paths import Places
from dshloop.runs.asked import asked_rows
from dshloop.runs.engines import engine_row, engine_settings
from dshloop.runs.matrix.cell import CRASHED, TIMEOUT, Surroundings, blank
from dshloop.runs.matrix.design import Matrix
from dshloop.runs.matrix.plan import Cell, cells, fingerprint
from dshloop.runs.matrix.pool import Finished, Pool, Setup
from dshloop.runs.matrix.record import About, Record, Run, Writer, begin, new_id, runs
from dshloop.runs.profile import ProfileRows
from dshloop.times import iso_time

if TYPE_CHECKING:
    from dshloop.config import Config
    from dshloop.loops.config import AgentEntry
    from dshloop.loops.loops_file import LoopsFile, Registered


@dataclass(frozen=True, slots=True)
class Wanted:
    """A matrix with all it is run with; ``cells`` are in order of their numbers."""

    places: Places
    matrix: Matrix
    rows: ProfileRows
    cells: tuple[Cell, ...]
    fingerprint: str
    variables: Mapping[str, str]
    cwd: Path
    command: str
    clock: Callable[[], float]
    config: Config | None = None

    @classmethod
    def of(
        cls,
        places: Places,
        matrix: Matrix,
        rows: ProfileRows,
        *,
        variables: Mapping[str, str],
        cwd: Path,
        command: str,
        clock: Callable[[], float],
        config: Config | None = None,
    ) -> Wanted:
        """Plan a matrix. Raises MATRIX_INVALID, INVALID_CONFIG, USAGE for tools to be allowed."""
        from dataclasses import replace

        from dshloop.loops.config import read_dock_config
        from dshloop.loops.loops_file import LoopsFile

        entries: Sequence[AgentEntry] = ()
        if any(subject.entry for subject in matrix.subjects) and rows.dock_rows is not None:
            entries = read_dock_config(rows.dock_rows.config).agents
        planned = tuple(cells(matrix, variables, entries))
        rows = asked_rows(rows, matrix.allow)
        if matrix.defined.loops or matrix.defined.drivers:
            file = rows.file or LoopsFile()
            rows = replace(rows, file=_merged(file, matrix.defined))
        print_of = fingerprint(matrix, planned, rows)
        folder = matrix.cwd or cwd
        return cls(
            places, matrix, rows, planned, print_of, variables, folder, command, clock, config
        )


def _merged(file: LoopsFile, defined: LoopsFile) -> LoopsFile:
    """Put what the matrix describes in the place of what loops.yml calls the same."""
    from dshloop.loops.loops_file import LoopsFile

    def together(
        theirs: Sequence[Registered], ours: Sequence[Registered]
    ) -> tuple[Registered, ...]:
        names = {one.id for one in ours}
        return (*(one for one in theirs if one.id not in names), *ours)

    return LoopsFile(
        file.path or defined.path,
        together(file.loops, defined.loops),
        together(file.drivers, defined.drivers),
    )


# --- which run -----------------------------------------------------------------------------------


def unfinished(wanted: Wanted) -> tuple[Run | None, Run | None]:
    """Give the newest run of the file if it isn't complete: as one that can go on, or as one of
    what the file was before it changed."""
    file = shown(wanted.matrix.path)
    newest = next((run for run in runs(wanted.places) if run.about.file == file), None)
    if newest is None or len(newest.records()) >= newest.about.cells:
        return None, None
    if newest.about.fingerprint == wanted.fingerprint:
        return newest, None
    return None, newest


def require_same(run: Run, wanted: Wanted) -> None:
    """Refuse to go on with a run of something else. Raises MATRIX_CHANGED."""
    if run.about.fingerprint != wanted.fingerprint:
        raise MatrixChangedError(
            f"matrix run {run.id} can't go on: {shown(wanted.matrix.path)}, a script, a variable "
            "or the profile is another than when it began",
            hint=f"Begin a new run: dshloop session matrix {shown(wanted.matrix.path)} --new. "
            f"What is there stays: dshloop session matrix --show {run.id}.",
            run=run.id,
            file=run.about.file,
        )


def new_run(wanted: Wanted) -> Run:
    """Begin a run. Raises WRITE_FAILED."""
    now = wanted.clock()
    about = About(
        new_id(wanted.matrix.path, now),
        shown(wanted.matrix.path),
        wanted.fingerprint,
        len(wanted.cells),
        iso_time(now),
        wanted.rows.profile,
        shown(wanted.cwd),
        wanted.command,
    )
    return begin(wanted.places, about)


# --- running -------------------------------------------------------------------------------------


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
        for cell in [cell for cell in todo if cell.skip is not None]:
            skipped = {**blank(cell), "failure": _skip(cell), **_at(wanted)}
            yield _kept(writer, progress, skipped)
        wanting = [cell for cell in todo if cell.skip is None]
        if not wanting:
            return
        setup = Setup(_surroundings(wanted, run), wanted.variables, run.folder)
        with Pool(setup, wanting, jobs) as pool, _stopping(pool, progress):
            for finished in pool.results():
                yield _kept(writer, progress, _record(finished, run, wanted))


def _open(record: Record | None, retry: bool) -> bool:
    return record is None or (retry and record.get("outcome") != "completed")


def _kept(writer: Writer, progress: Progress, record: Record) -> Record:
    writer.add(record)
    progress.records[record["number"]] = record
    return record


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


def _skip(cell: Cell) -> dict[str, Any]:
    return {"code": "SKIPPED", "message": cell.skip}


def _at(wanted: Wanted) -> dict[str, Any]:
    return {"finished_at": iso_time(wanted.clock())}


def _surroundings(wanted: Wanted, run: Run) -> Surroundings:
    rows = wanted.rows
    engines = engine_settings(
        wanted.places,
        variables=wanted.variables,
        config=wanted.config,
        row=engine_row(rows.dock_rows),
    )
    workspace = wanted.matrix.workspace
    return Surroundings(
        places=wanted.places,
        rows=tuple((row.id, row.name, row.config, row.needs, row.off) for row in rows.rows),
        profile=rows.profile,
        file=rows.file,
        engines=engines,
        variables=dict(wanted.variables),
        cwd=wanted.cwd,
        command=wanted.command,
        run=run.id,
        folder=wanted.matrix.path.parent,
        timeout=wanted.matrix.timeout,
        allow_partial=wanted.matrix.allow_partial,
        workspace=workspace,
        work=None if workspace is None else run.folder / "work",
    )


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
