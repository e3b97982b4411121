"""`dshloop memory context`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dshloop.cli.memory import complete
from dshloop.cli.memory.common import (
    CountVerb,
    ProjectHere,
    Semantic,
    module_app,
    project,
)
from dshloop.cli.memory.opening import opened_to_read
from dshloop.cli.params import invocation
from dshloop.errors import MemoryEmptyError
from dshloop.result import Result

app = module_app()


@app.command(cls=CountVerb, epilog="Example: dshloop memory context --project . --budget 1000")
def context(
    ctx: typer.Context,
    project_name: ProjectHere = None,
    query: Annotated[
        str | None, typer.Option("--query", metavar="TEXT", help="What it will be about.")
    ] = None,
    budget: Annotated[
        int, typer.Option("--budget", min=1, metavar="N", help="At most N tokens.")
    ] = 2000,
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent", metavar="NAME", help="For this agent.", autocompletion=complete.agents
        ),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(
            "--session",
            metavar="ID",
            help="The asking session, which is left out.",
            autocompletion=complete.sessions,
        ),
    ] = None,
    semantic: Semantic = None,
) -> Result[dict[str, Any]]:
    """Print what an agent should know of a project, for its prompt.

    Concepts and files of the project, lessons (patterns, preferences, workflows), memories and
    recent sessions, within a budget; with --query what answers it comes first. A token is counted
    as three characters. Stored text is escaped and marked as data.
    """
    from dshloop.memory.context import context as window
    from dshloop.memory.project import project_here

    if query is not None and not query.strip():
        raise MemoryEmptyError("there is nothing to look for: --query is blank")
    run = invocation(ctx)
    where = project(run, project_name) or project_here(run.env.variables, run.env.cwd)
    with opened_to_read(ctx) as store:
        found = window(
            store,
            where,
            query=query,
            budget=budget,
            agent=agent,
            session=session,
            semantic=semantic,
        )
    notices = []
    if not found.blocks:
        notices.append(f"nothing is known of project {where}")
    if found.skipped:
        notices = [f"{found.skipped} blocks did not fit into {budget} tokens"]
    return Result(found.as_json(), found.text, notices=notices)
