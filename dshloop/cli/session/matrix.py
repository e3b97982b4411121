"""`dshloop session matrix`: agents or loops x drivers x models, compared on the same prompts."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.docked import run_rows
from dshloop.cli.invocation import Invocation
from dshloop.cli.params import ProfileCommand, invocation, new_app
from dshloop.errors import ExitCode, InterruptedByUserError, UsageError
from dshloop.result import End, Result, Stream

if TYPE_CHECKING:
    from pathlib import Path

    from dshloop.runs.matrix.record import Record, Run
    from dshloop.runs.matrix.running import Progress
    from dshloop.runs.matrix.wanted import Wanted

app = new_app("session", "")


def _run_ids(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    from dshloop.runs.matrix.record import runs

    found = [(run.id, run.about.file) for run in runs(invocation(ctx).places)]
    return [one for one in [("last", "the newest"), *found] if one[0].startswith(incomplete)]


def _axes(ctx: Any, args: list[str], incomplete: str) -> list[str]:
    from dshloop.runs.matrix.plan import AXES

    before, comma, begun = incomplete.rpartition(",")
    return [before + comma + axis for axis in AXES if axis.startswith(begun)]


@app.command(cls=ProfileCommand, epilog="Example: dshloop session matrix matrix.yml --jobs 4")
def matrix(
    ctx: typer.Context,
    file: Annotated[
        str | None, typer.Argument(help="What to run, as a YAML file (docs/matrix.md).")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", metavar="N", min=1, help="Cells at a time; as many as processors."
        ),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            "--resume",
            metavar="RUN",
            autocompletion=_run_ids,
            help="Go on with a run that stopped.",
        ),
    ] = None,
    new: Annotated[
        bool, typer.Option("--new", help="Begin a new run, though one of the file isn't complete.")
    ] = False,
    retry: Annotated[
        bool,
        typer.Option("--retry", help="With --resume: run cells again that did not complete."),
    ] = False,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="AXES",
            autocompletion=_axes,
            help="Sum cells up: agent, loop, driver, model, prompt, with commas.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the cells, and run none.")
    ] = False,
    show: Annotated[
        str | None,
        typer.Option(
            "--show", metavar="RUN", autocompletion=_run_ids, help="Show a run, and run nothing."
        ),
    ] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--compare",
            metavar="A B",
            autocompletion=_run_ids,
            help="Show what changed between two runs.",
        ),
    ] = None,
    list_runs: Annotated[bool, typer.Option("--list", help="List the runs.")] = False,
) -> Result[Any] | Stream:
    """Run every combination of agents or loops, drivers, models and prompts, and compare them.

    Each combination is a cell with a session of its own, whose last answer is checked. Worker
    processes share the cells. A run that was stopped goes on where it was, with the same file or
    --resume. The exit code is 1 when a cell fails: its turn, a check, or that it can't begin.
    """
    from dshloop.cli.session import matrix_shown

    invoked = invocation(ctx)
    _require_one(file=file, resume=resume, show=show, compare=compare, list_runs=list_runs or None)
    axes = None
    if by is not None:
        from dshloop.runs.matrix.table import read_axes

        axes = read_axes(by)
    if list_runs:
        return matrix_shown.listed_runs(invoked)
    if compare is not None:
        return matrix_shown.compared_runs(invoked, *compare)
    if show is not None:
        return matrix_shown.shown_run(invoked, show, axes)
    if retry and resume is None:
        raise UsageError("--retry is for a run that --resume names", option="--retry")
    wanted, run, notices = _wanted(invoked, file, resume, new=new, dry_run=dry_run)
    if run is None:
        return matrix_shown.planned_cells(wanted)
    records = _Records(wanted, run, jobs or _processors(), retry=retry)
    if invoked.json:
        return Stream(records.stream(axes), lambda _record: None)
    return _answer(invoked, records, axes, notices)


def _require_one(**given: Any) -> None:
    named = [name for name, value in given.items() if value is not None]
    if len(named) == 1:
        return
    if not named:
        raise UsageError("session matrix needs a FILE, --resume, --show, --compare or --list")
    options = {"file": "FILE", "list_runs": "--list"}
    words = [options.get(name, f"--{name}") for name in named]
    raise UsageError(f"{' and '.join(words)} exclude each other")


def _processors() -> int:
    import os

    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# --- what is run ---------------------------------------------------------------------------------


def _wanted(
    invoked: Invocation, file: str | None, resume: str | None, *, new: bool, dry_run: bool
) -> tuple[Wanted, Run | None, list[str]]:
    """Read the file, and say with which run to go on: one that is named, one that stopped, or a
    new one; none for a dry run."""
    from dataclasses import replace
    from pathlib import Path

    from dshloop.paths import absolute
    from dshloop.runs.matrix.record import find_run
    from dshloop.runs.matrix.wanted import new_run, require_same

    env = invoked.env
    if resume is not None:
        run = find_run(invoked.places, resume)
        invoked.profile = invoked.profile or run.about.profile
        wanted = _read(invoked, Path(run.about.file), Path(run.about.cwd))
        require_same(run, wanted)
        return wanted, None if dry_run else run, []
    wanted = _read(invoked, absolute(file or "", env.cwd, env.variables), env.cwd)
    notices = list(wanted.rows.notices)
    if dry_run:
        return wanted, None, notices
    before = None if new else _going_on(wanted, notices)
    if before is None:
        return wanted, new_run(wanted), notices
    return replace(wanted, cwd=Path(before.about.cwd)), before, notices


def _read(invoked: Invocation, path: Path, cwd: Path) -> Wanted:
    from dshloop.runs.matrix.file import read_matrix
    from dshloop.runs.matrix.wanted import Wanted

    return Wanted.of(
        invoked.places,
        read_matrix(path),
        run_rows(invoked),
        variables=invoked.env.variables,
        cwd=cwd,
        command=invoked.command,
        clock=invoked.env.clock,
    )


def _going_on(wanted: Wanted, notices: list[str]) -> Run | None:
    """Give the run of the file that isn't complete, if there is one; notice what is done."""
    from dshloop.runs.matrix.wanted import unfinished

    before, changed = unfinished(wanted)
    if before is not None:
        notices.append(
            f"run {before.id} of this file isn't complete and goes on; --new begins another"
        )
    if changed is not None:
        notices.append(f"run {changed.id} stays as it is, not complete: the file has changed since")
    return before


class _Records:
    """The records of a run, those of earlier first, then as they come."""

    def __init__(self, wanted: Wanted, run: Run, jobs: int, *, retry: bool) -> None:
        from dshloop.runs.matrix.running import Progress

        self.wanted, self.run, self.jobs, self.retry = wanted, run, jobs, retry
        self.progress: Progress = Progress(run.records())

    def come(self) -> Generator[Record, None, None]:
        """Run what is left."""
        from dshloop.runs.matrix.running import run_cells

        return run_cells(self.wanted, self.run, self.jobs, self.progress, retry=self.retry)

    @property
    def exit_code(self) -> ExitCode:
        """130 when it was stopped, 1 when a cell failed."""
        if self.progress.interrupted:
            return ExitCode.INTERRUPTED
        failed = any(one.get("passed") is False for one in self.progress.records.values())
        return ExitCode.FAILED if failed else ExitCode.DONE

    def stream(self, axes: Sequence[str] | None) -> Iterator[Mapping[str, Any] | End]:
        """Give all of it as records of a stream; the last one has the sums by axes."""
        from dshloop.runs.matrix.table import by_axes, counts, run_json

        earlier = list(self.progress.records.values())
        yield {"type": "run", **run_json(self.run, earlier)}
        for record in earlier:
            if not self.retry or record["outcome"] == "completed":
                yield {"type": "cell", **record}
        with closing(self.come()) as coming:
            for record in coming:
                yield {"type": "cell", **record}
        names = {ExitCode.DONE: "passed", ExitCode.FAILED: "failed"}
        found = self.progress.records.values()
        fields: dict[str, Any] = counts(found, self.run.about.cells)
        if axes is not None:
            fields["by"] = by_axes(found, axes)[0]
        outcome = names.get(self.exit_code, "interrupted")
        yield End(outcome, {"run": self.run.id, **fields}, exit_code=self.exit_code)


def _answer(
    invoked: Invocation, records: _Records, axes: Sequence[str] | None, notices: list[str]
) -> Result[Any]:
    """Run all that is left, telling how far it is, and give the table."""
    from dshloop.cli.session.matrix_shown import run_result
    from dshloop.runs.matrix.table import summary

    run, progress = records.run, records.progress
    failed = sum(record.get("passed") is False for record in progress.records.values())
    with invoked.progress(_told(records, failed)) as tell, closing(records.come()) as coming:
        for record in coming:
            failed += record["passed"] is False
            tell(_told(records, failed))
    stands = summary(progress.records.values(), run.about.cells)
    if progress.interrupted:
        raise InterruptedByUserError(
            f"stopped; run {run.id} has {stands}",
            hint=f"Go on with it: dshloop session matrix --resume {run.id}",
            run=run.id,
        )
    result = run_result(run, progress.records, axes)
    return result._replace(notices=[*notices, *result.notices], exit_code=records.exit_code)


def _told(records: _Records, failed: int) -> str:
    done, total = len(records.progress.records), records.run.about.cells
    return f"{done} of {total} cells, {failed} failed …"
