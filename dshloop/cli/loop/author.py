"""`dshloop loop new` and `loop test`: what authors of loops begin with, and try them with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from dshloop.cli.docked import DryRun
from dshloop.cli.loop.common import app
from dshloop.cli.params import Command, invocation, seconds
from dshloop.result import Result


@app.command(cls=Command, epilog="Example: dshloop loop new careful")
def new(
    ctx: typer.Context,
    loop: Annotated[str, typer.Argument(metavar="NAME", help="The loop's id.")],
    driver: Annotated[
        bool, typer.Option("--driver", help="A loop that makes its agents itself.")
    ] = False,
    into: Annotated[
        str | None, typer.Option(metavar="DIR", help="The new folder; without it ./NAME.")
    ] = None,
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Write a package with a loop, its tests and a README into a new folder.

    A strategy, which prepares agents that a driver runs; with --driver one with an engine.
    """
    from dshloop.files import shown
    from dshloop.paths import absolute
    from dshloop.runs.authoring.new import plan_package

    run = invocation(ctx)
    journal = run.journal_for(dry_run=dry_run)
    folder = absolute(loop if into is None else into, run.env.cwd, run.env.variables)
    package = plan_package(loop, "driver" if driver else "strategy", folder)
    if not dry_run:
        journal.record(run.command, package.changes, cwd=run.env.cwd)
    data = {
        "loop": package.names.id,
        "kind": package.kind,
        "folder": shown(folder),
        "package": package.names.package,
        "files": package.files,
        "dry_run": dry_run,
    }
    lines = [f"{'would write' if dry_run else 'wrote'} {shown(folder)}"]
    lines += [f"  {name}" for name in package.files]
    where = _as_typed(folder, run.env.cwd)
    notices = [f"try it: dshloop loop test {where}", f"install it: pip install {where}"]
    told = ["dry run: nothing was changed"] if dry_run else notices
    return Result(data, "\n".join(lines), notices=told)


def _as_typed(folder: Path, cwd: Path) -> str:
    """Give a folder as a word for a shell that nobody takes for a package's name."""
    from shlex import quote

    inside = folder.is_relative_to(cwd)
    return f"./{quote(str(folder.relative_to(cwd)))}" if inside else quote(str(folder))


@app.command("test", cls=Command, epilog="Example: dshloop loop test ./careful")
def try_loop(
    ctx: typer.Context,
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODULE|PACKAGE|FOLDER",
            help="MODULE:OBJECT, a module or its file, an installed package, a project's folder, "
            "a loops.yml.",
        ),
    ],
    check: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this check; give it again for more."),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0.1, callback=seconds, help="How long one check may take."
        ),
    ] = 10,
) -> Result[dict[str, Any]]:
    """Try a loop in a place of its own: hooks, clean-up, cancel, resume, failures, two at once.

    Its code is run, on the fake driver: no model, no network, nothing of yours is read or written.
    """
    from dshloop.runs.authoring.trying import try_loops

    run = invocation(ctx)
    with run.progress(f"Trying {target} …"), _stdout_is_ours():
        report = try_loops(target, run.env.cwd, patience=timeout, only=check or ())
    return Result(report.as_json(), report.text(), exit_code=report.exit_code)


@contextmanager
def _stdout_is_ours() -> Iterator[None]:
    """Send what programs that a loop starts write to stdout to stderr, as what it prints itself."""
    import os

    try:
        ours = os.dup(1)
    except OSError:  # it is closed
        yield
        return
    try:
        with suppress(OSError):
            os.dup2(2, 1)
        yield
    finally:
        os.dup2(ours, 1)
        os.close(ours)
