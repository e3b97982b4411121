"""The verbs that only look: session list and show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.params import Command, invocation
from dshloop.cli.session.common import Session, app, finding_warnings
from dshloop.result import Caution, Result, Table

if TYPE_CHECKING:
    from dshloop.runs.listing import Row


@app.command("list", cls=Command)
def list_command(
    ctx: typer.Context,
    everywhere: Annotated[
        bool, typer.Option("--all", help="Those of all folders, not only of this one.")
    ] = False,
    limit: Annotated[
        int, typer.Option(metavar="N", min=0, help="At most so many, the newest; 0: all.")
    ] = 50,
) -> Result[list[dict[str, Any]]]:
    """List the sessions of this folder, ours and those of dsh, newest first."""
    from dshloop.runs.listing import list_sessions

    invoked = invocation(ctx)
    listing = list_sessions(
        invoked.places, None if everywhere else invoked.env.cwd, limit=limit or None
    )
    notices = []
    if listing.more:
        notices.append(f"{listing.more} more: --limit 0 lists all")
    if listing.elsewhere and not everywhere:
        notices.append(f"{listing.elsewhere} more in other folders: --all lists them")
    view = Table(_COLUMNS, [_cells(row) for row in listing.rows], empty="no sessions here yet")
    faults = [(row.summary.entry.id, row.summary.fault) for row in listing.rows]
    warnings = [
        Caution(f"session {name}: {fault}", "SESSION_DAMAGED", details={"session": name})
        for name, fault in faults
        if fault
    ]
    return Result([row.as_json() for row in listing.rows], view, notices=notices, warnings=warnings)


@app.command(cls=Command)
def show(
    ctx: typer.Context,
    session: Annotated[str, Session],
) -> Result[dict[str, Any]]:
    """Show what was said and done in a session of ours or of dsh."""
    from dshloop.runs.show import show_session

    invoked = invocation(ctx)
    found = show_session(invoked.places, session, invoked.env.cwd)
    warnings = finding_warnings(found.transcript.findings)
    return Result(found.as_json(), found.text(), warnings=warnings)


_COLUMNS = ("ID", "UPDATED", "TURNS", "STATE", "LOOP", "DRIVER", "BINDING", "TITLE")
_TITLE_WIDTH = 60


def _cells(row: Row) -> tuple[str, ...]:
    from dshloop.terminal import one_line

    data, stored = row.as_json(), row.stored
    return (
        one_line(row.short_id),
        data["updated_at"][:16].replace("T", " "),
        str(data["turns"]),
        "damaged" if data["fault"] else data["state"] or "",
        stored.loop,
        stored.driver or "-",
        data["binding"],
        one_line(data["title"], _TITLE_WIDTH),
    )
