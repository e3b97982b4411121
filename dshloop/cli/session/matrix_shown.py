"""What `dshloop session matrix` shows: a run, its cells before they run, all runs, two of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dshloop.cli.invocation import Invocation
from dshloop.result import Caution, Result, Table

if TYPE_CHECKING:
    from dshloop.runs.matrix.record import Record, Run
    from dshloop.runs.matrix.wanted import Wanted


def run_result(run: Run, records: Mapping[int, Record], axes: Sequence[str] | None) -> Result[Any]:
    """Give a run's table, or sums by axes, and how it stands."""
    from dshloop.runs.matrix.table import by_axes, cells_table, reasons, run_json, summary

    ordered = dict(sorted(records.items()))
    data = {**run_json(run, ordered.values()), "records": list(ordered.values())}
    view = cells_table(ordered)
    if axes is not None:
        data["by"], view = by_axes(ordered.values(), axes)
    told = dict.fromkeys(note for record in ordered.values() for note in record["notices"])
    stands = f"run {run.id}: {summary(ordered.values(), run.about.cells)}"
    return Result(data, view, [*told, *reasons(ordered.values()), stands])


def shown_run(invoked: Invocation, name: str, axes: Sequence[str] | None) -> Result[Any]:
    """Show a run as far as it is. Raises MATRIX_RUN_NOT_FOUND."""
    from dshloop.runs.matrix.record import find_run

    run = find_run(invoked.places, name)
    return run_result(run, run.records(), axes)


def planned_cells(wanted: Wanted) -> Result[Any]:
    """List the cells that would run."""
    from dshloop.runs.matrix.plan import AXES

    data = [{"number": cell.number, **cell.axes, "skip": cell.skip} for cell in wanted.cells]
    shown = [axis for axis in AXES if any(one[axis] is not None for one in data)]
    rows = [
        (str(one["number"]), *(str(one[axis] or "-") for axis in shown), one["skip"] or "")
        for one in data
    ]
    columns = ("#", *(axis.upper() for axis in shown), "SKIPPED")
    what = "1 cell" if len(data) == 1 else f"{len(data)} cells"
    return Result(data, Table(columns, rows), [f"{what}; none was run"])


def listed_runs(invoked: Invocation) -> Result[Any]:
    """List all runs, the newest first; what is damaged is a warning."""
    from dshloop.errors import MatrixRunDamagedError
    from dshloop.runs.matrix.record import runs
    from dshloop.runs.matrix.table import run_json, runs_table

    damaged: list[MatrixRunDamagedError] = []
    found = []
    for run in runs(invoked.places, damaged.append):
        try:
            found.append((run, run_json(run, run.records().values())))
        except MatrixRunDamagedError as damage:
            damaged.append(damage)
    warnings = [Caution(one.message, one.code, details=one.details) for one in damaged]
    return Result([data for _, data in found], runs_table(found), warnings=warnings)


def compared_runs(invoked: Invocation, a: str, b: str) -> Result[Any]:
    """Show what changed from one run to another. Raises MATRIX_RUN_NOT_FOUND."""
    from dshloop.runs.matrix.compare import compared, compared_table, totals_lines
    from dshloop.runs.matrix.record import find_run

    first, second = find_run(invoked.places, a), find_run(invoked.places, b)
    found = compared(first.records().values(), second.records().values())
    warnings = [
        Caution(f"run {run.id} isn't complete", "MATRIX_UNFINISHED", details={"run": run.id})
        for run in (first, second)
        if len(run.records()) < run.about.cells
    ]
    data = {"a": first.id, "b": second.id, **found.as_json()}
    notices = [f"{len(found.changed)} changed, {found.same} the same", *totals_lines(found)]
    return Result(data, compared_table(found, first.id, second.id), notices, warnings)
