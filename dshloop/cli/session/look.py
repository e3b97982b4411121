"""The verbs that only look: session list and show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.invocation import Invocation
from dshloop.cli.params import Command, invocation, new_app
from dshloop.cli.session.common import Session, Since, finding_warnings, moment
from dshloop.errors import UsageError
from dshloop.result import Caution, Result, Table

if TYPE_CHECKING:
    from dshloop.runs.kept.listing import Row

app = new_app("session", "")


@app.command("list", cls=Command)
def list_command(
    ctx: typer.Context,
    everywhere: Annotated[
        bool, typer.Option("--all", help="Those of all folders, not only of this one.")
    ] = False,
    cwd: Annotated[
        str | None, typer.Option("--cwd", metavar="DIR", help="Those of another folder.")
    ] = None,
    since: Since = None,
    loop: Annotated[str | None, typer.Option(metavar="ID", help="Those on this loop.")] = None,
    driver: Annotated[
        str | None, typer.Option(metavar="NAME", help="Those on this driver.")
    ] = None,
    preset: Annotated[
        str | None, typer.Option(metavar="ID", help="Those of this agent preset.")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="STATE",
            help="Those whose last turn is so: completed, error, interrupted, open, damaged …",
        ),
    ] = None,
    deleted: Annotated[
        bool, typer.Option("--deleted", help="What session restore can bring back.")
    ] = False,
    limit: Annotated[
        int, typer.Option(metavar="N", min=0, help="At most so many, the newest; 0: all.")
    ] = 50,
) -> Result[list[dict[str, Any]]]:
    """List the sessions of this folder, ours and those of dsh, newest first."""
    from dshloop.runs.kept.listing import Wanted, list_sessions
    from dshloop.sessions.index import SessionIndex

    invoked = invocation(ctx)
    if deleted:
        return _deleted(invoked)
    wanted = Wanted(
        since=None if since is None else moment(invoked, since),
        loop=loop,
        driver=driver,
        preset=preset,
        state=state,
    )
    listing = list_sessions(
        invoked.places,
        _folder(invoked, cwd, everywhere=everywhere),
        limit=limit or None,
        wanted=wanted,
        index=SessionIndex(invoked.places.session_index),
    )
    notices = []
    if listing.more:
        more = "older ones were not looked at" if wanted.narrow else f"{listing.more} more"
        notices.append(f"{more}: --limit 0 lists all")
    if listing.elsewhere and not (everywhere or cwd or wanted.narrow):
        notices.append(f"{listing.elsewhere} more in other folders: --all lists them")
    empty = "no session fits" if wanted.narrow else "no sessions here yet"
    view = _table(listing.rows, empty)
    warnings = [_caution(row) for row in listing.rows if row.summary.fault]
    return Result([row.as_json() for row in listing.rows], view, notices=notices, warnings=warnings)


def _caution(row: Row) -> Caution:
    found, name = row.summary, row.summary.entry.id
    code = found.fault_code or "SESSION_UNREADABLE"
    return Caution(f"session {name}: {found.fault}", code, details={"session": name})


def _folder(invoked: Invocation, cwd: str | None, *, everywhere: bool) -> Path | None:
    if everywhere and cwd is not None:
        raise UsageError("--all and --cwd exclude each other", option="--cwd")
    if everywhere:
        return None
    if cwd is None:
        return invoked.env.cwd
    from dshloop.paths import absolute

    return absolute(cwd, invoked.env.cwd, invoked.env.variables)


def _deleted(invoked: Invocation) -> Result[list[dict[str, Any]]]:
    from dshloop.sessions.trash import deleted

    found = [each.as_json() for each in deleted(invoked.places)]
    rows = [(each["id"], each["deleted_at"][:16].replace("T", " ")) for each in found]
    return Result(found, Table(("ID", "DELETED"), rows, empty="nothing was deleted"))


@app.command(cls=Command)
def show(
    ctx: typer.Context,
    session: Annotated[str, Session],
) -> Result[dict[str, Any]]:
    """Show what was said and done in a session of ours or of dsh."""
    from dshloop.runs.kept.show import show_session

    invoked = invocation(ctx)
    found = show_session(invoked.places, session, invoked.env.cwd)
    warnings = finding_warnings(found.transcript.findings)
    return Result(found.as_json(), found.text(), warnings=warnings)


_COLUMNS = ("ID", "UPDATED", "TURNS", "STATE", "LOOP", "DRIVER", "BINDING", "TITLE")
_TITLE_WIDTH = 60


def _table(rows: Sequence[Row], empty: str) -> Table:
    """Lay rows out; where agents have begun any of the sessions, their parents have a column."""
    from dshloop.terminal import one_line

    cells = [_cells(row) for row in rows]
    if not any(row.parent for row in rows):
        return Table(_COLUMNS, cells, empty)
    parents = [one_line(row.parent or "-") for row in rows]
    wider = [(*one[:-1], parent, one[-1]) for one, parent in zip(cells, parents, strict=True)]
    return Table((*_COLUMNS[:-1], "PARENT", _COLUMNS[-1]), wider)


def _cells(row: Row) -> tuple[str, ...]:
    from dshloop.terminal import one_line

    data, stored = row.as_json(), row.stored
    return (
        one_line(row.short_id),
        data["updated_at"][:16].replace("T", " "),
        str(data["turns"]),
        row.state,
        stored.loop,
        stored.driver or "-",
        data["binding"],
        one_line(data["title"], _TITLE_WIDTH),
    )
