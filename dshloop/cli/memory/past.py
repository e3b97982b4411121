"""The verbs that look at what happened: sessions, observations, timeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.memory import complete
from dshloop.cli.memory.common import (
    Count,
    Limit,
    ListVerb,
    Offset,
    SessionsVerb,
    filters,
    module_app,
    moments,
    project,
)
from dshloop.cli.memory.find import newest
from dshloop.cli.memory.opening import opened_to_read
from dshloop.cli.memory.view import Form, cells, entries_view, listed, row_of, when
from dshloop.cli.params import invocation
from dshloop.result import Result, Table, View
from dshloop.terminal import one_line

if TYPE_CHECKING:
    from dshloop.memory.entries import Session

app = module_app()

Before = Annotated[int, typer.Option("--before", min=0, metavar="N", help="So many before it.")]
After = Annotated[int, typer.Option("--after", min=0, metavar="N", help="So many after it.")]


@app.command(cls=SessionsVerb)
def sessions(
    ctx: typer.Context,
    project_name: Annotated[
        str | None,
        typer.Option(
            "--project",
            metavar="NAME",
            help="Of this project; . is the current one.",
            autocompletion=complete.projects,
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent", metavar="NAME", help="Of this agent.", autocompletion=complete.agents
        ),
    ] = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Result[Any]:
    """List the sessions that were observed, the last started first."""
    where, (since, until) = project(invocation(ctx), project_name), moments(ctx)
    with opened_to_read(ctx) as store:
        found = store.sessions(
            project=where, agent=agent, since=since, until=until, limit=limit + 1, offset=offset
        )
    more = [f"there are more: --offset {limit + offset}"] if len(found) > limit else []
    shown = found[:limit]
    rows = [one.as_json() for one in shown]
    return listed(ctx, rows, lambda how: _sessions_view(shown, how), notices=more)


@app.command(cls=ListVerb)
def observations(
    ctx: typer.Context, limit: Limit = 50, offset: Offset = 0, count: Count = False
) -> Result[Any]:
    """List what was observed in sessions, newest first."""
    from dshloop.memory.entries import OBSERVATION

    return newest(ctx, (OBSERVATION,), limit, offset, count=count, empty="no observations")


@app.command(cls=ListVerb, epilog="Example: dshloop memory timeline 2026-01-31 --before 3")
def timeline(
    ctx: typer.Context,
    anchor: Annotated[
        list[str],
        typer.Argument(help="A date or age, an id, or words.", autocompletion=complete.ids),
    ],
    before: Before = 5,
    after: After = 5,
) -> Result[Any]:
    """Show what is stored around a moment or an entry, in order of time.

    Words stand for what recall finds best. Around an entry are the neighbours of its session.
    """
    from dshloop.memory.entries import KINDS
    from dshloop.memory.timeline import timeline as around

    now = invocation(ctx).env.clock()
    where = filters(ctx, KINDS)
    with opened_to_read(ctx) as store:
        placed = around(store, " ".join(anchor), where, before=before, after=after, now=now)

    def view(how: Form) -> View:
        if not how.plain:
            return entries_view([one.entry for one in placed], how, "")
        rows = [
            (f"{one.position:+d}" if one.position else "0", *cells(one.entry)) for one in placed
        ]
        return Table(("AT", "ID", "CREATED", "TYPE", "PROJECT", "TITLE"), rows)

    return listed(ctx, [row_of(ctx, one.entry, one.as_json()) for one in placed], view)


def _sessions_view(found: Sequence[Session], how: Form) -> View:
    if how.kind == "md":
        return "\n".join(f"- {_named(one)} (`{one_line(one.id)}`)" for one in found)
    if how.brief:
        return "\n".join(f"{one_line(one.id)}  {_named(one)}" for one in found)
    columns = ("ID", "STARTED", "STATE", "OBSERVED", "PROJECT", "AGENT", "TITLE")
    return Table(columns, [_row(one) for one in found], empty="no sessions")


def _row(session: Session) -> tuple[str, ...]:
    return (
        session.id,
        when(session.started_at),
        "active" if session.active else "completed",
        str(session.observations),
        session.project,
        session.agent or "-",
        _named(session),
    )


def _named(session: Session) -> str:
    return one_line(session.title or session.first_prompt or "-", 80)
