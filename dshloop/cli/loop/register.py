"""The verbs that put loops into a profile's loops.yml, and take them out."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dshloop.cli.dock_complete import registered_loops
from dshloop.cli.docked import DryRun, Force, edit_loops_file
from dshloop.cli.invocation import Invocation
from dshloop.cli.loop.common import app
from dshloop.cli.params import ProfileCommand, invocation
from dshloop.errors import UsageError
from dshloop.result import Result

Target = Annotated[
    str | None,
    typer.Argument(metavar="[MODULE:OBJECT]", help="An import path of an installed package."),
]


@app.command(
    cls=ProfileCommand,
    epilog="Example: dshloop loop register careful --from careful.yml --profile web",
)
def register(
    ctx: typer.Context,
    loop: Annotated[str, typer.Argument(metavar="ID", help="The loop's id.")],
    target: Target = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="A file that describes a strategy."),
    ] = None,
    force: Force = False,
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Register a loop in loops.yml: code by its import path, or a strategy from a file.

    What is registered is loaded first, so that a loop that can't run is found now.
    """
    from dshloop.cli.profile.common import meant
    from dshloop.loops.registering import plan_register

    run = invocation(ctx)
    meant(run, None)
    value = _value(run, loop, target, source, force)
    return edit_loops_file(
        run, lambda path: plan_register(path, "loop", loop, value), dry_run=dry_run, loop=loop
    )


@app.command(cls=ProfileCommand, epilog="Example: dshloop loop unregister careful --profile web")
def unregister(
    ctx: typer.Context,
    loop: Annotated[
        str, typer.Argument(metavar="ID", autocompletion=registered_loops, help="The loop's id.")
    ],
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Take a loop out of loops.yml; dshloop loop check finds what still names it."""
    from dshloop.loops.registering import plan_unregister

    run = invocation(ctx)
    return edit_loops_file(
        run, lambda path: plan_unregister(path, "loop", loop), dry_run=dry_run, loop=loop
    )


def _value(
    run: Invocation, loop: str, target: str | None, source: str | None, force: bool
) -> str | dict[str, Any]:
    """Give what loops.yml is to say; raises what loading the loop raises, unless forced."""
    from dshloop.loops.names import require_loop_id
    from dshloop.loops.registering import read_strategy_file, require_target
    from dshloop.paths import absolute

    if (target is None) == (source is None):
        raise UsageError("give either MODULE:OBJECT or --from FILE")
    require_loop_id(loop)
    if source is not None:
        return read_strategy_file(absolute(source, run.env.cwd, run.env.variables), loop)
    assert target is not None
    require_target(target)
    if not force:
        from dshloop.loops.importing import load_loop

        load_loop(loop, target)
    return target
