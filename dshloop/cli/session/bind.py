"""`dshloop session bind`: record on purpose what a session runs on."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dshloop.cli.docked import DryRun, docked
from dshloop.cli.params import ProfileCommand, invocation, new_app
from dshloop.cli.session.common import session_ids
from dshloop.result import Result

app = new_app("session", "")


@app.command(cls=ProfileCommand, epilog="Example: dshloop session bind last --dry-run")
def bind(
    ctx: typer.Context,
    session: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="An id, the beginning of one, or last.",
            autocompletion=session_ids,
        ),
    ],
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Record the loop and driver of a session that has none recorded.

    Until then they are inferred from its preset, and change when the routes do. A session that is
    bound stays as it is.
    """
    from dshloop.runs.docks.explaining import bind as bind_session
    from dshloop.runs.stored import StoredSessions

    run = invocation(ctx)
    sessions = StoredSessions(run.places, run.env.cwd, run.env.clock, run.command)
    with docked(run) as (docking, notices):
        bound = bind_session(docking, sessions, session, dry_run=dry_run)
    runs_on = bound.binding.loop
    if bound.binding.driver is not None:
        runs_on += f" on {bound.binding.driver}"
    done = "is bound already to" if bound.before else "would be bound to" if dry_run else "bound to"
    told = [*notices, "dry run: nothing was changed"] if dry_run else notices
    return Result(
        {**bound.as_json(), "dry_run": dry_run}, f"{bound.session} {done} {runs_on}", notices=told
    )
