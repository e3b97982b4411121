"""A matrix with all it is run with, and which of its runs goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dshloop.errors import MatrixChangedError
from dshloop.files import shown
from dshloop.loops.loops_file import LoopsFile, Registered
from dshloop.paths import Places
from dshloop.runs.matrix.design import Matrix
from dshloop.runs.matrix.plan import Cell, cells, fingerprint
from dshloop.runs.matrix.record import About, Run, begin, new_id, runs
from dshloop.runs.matrix.surroundings import Surroundings
from dshloop.runs.profile import ProfileRows
from dshloop.runs.talking.asked import asked_rows
from dshloop.times import iso_time

if TYPE_CHECKING:
    from dshloop.loops.config import AgentEntry
    from dshloop.loops.engine_row import EngineConfig


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
    ) -> Wanted:
        """Plan a matrix. Raises MATRIX_INVALID, INVALID_CONFIG, USAGE for tools to be allowed."""
        entries: Sequence[AgentEntry] = ()
        if any(subject.entry for subject in matrix.subjects) and rows.dock_rows is not None:
            from dshloop.loops.config import read_dock_config

            entries = read_dock_config(rows.dock_rows.config).agents
        planned = tuple(cells(matrix, variables, entries))
        rows = asked_rows(rows, matrix.allow)
        if matrix.defined.loops or matrix.defined.drivers:
            file = rows.file or LoopsFile()
            rows = replace(rows, file=_merged(file, matrix.defined))
        print_of = fingerprint(matrix, planned, rows)
        folder = matrix.cwd or cwd
        return cls(places, matrix, rows, planned, print_of, variables, folder, command, clock)


def _merged(file: LoopsFile, defined: LoopsFile) -> LoopsFile:
    """Put what the matrix describes in the place of what loops.yml calls the same."""

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


def surroundings(wanted: Wanted, run: Run) -> Surroundings:
    """Give what all cells of a run share."""
    rows = wanted.rows
    workspace = wanted.matrix.workspace
    return Surroundings(
        places=wanted.places,
        rows=tuple((row.id, row.name, row.config, row.needs, row.off) for row in rows.rows),
        profile=rows.profile,
        file=rows.file,
        engine=_engine(rows),
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


def _engine(rows: ProfileRows) -> EngineConfig | None:
    """Give what the profile says of engines; nothing without a profile."""
    found = rows.dock_rows
    if found is None:
        return None
    from dshloop.runs.engines import engine_row

    return engine_row(found)
