"""What the verbs of `dshloop session` share: arguments, and what completion offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.invocation import Invocation
from dshloop.cli.params import invocation
from dshloop.result import Caution

if TYPE_CHECKING:
    from dshloop.sessions.catalog import Entry
    from dshloop.transcripts.findings import Finding


def session_ids(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    from dshloop.runs.kept.listing import list_sessions

    invoked = invocation(ctx)
    rows = list_sessions(invoked.places, invoked.env.cwd, limit=20).rows
    found = [("last", "the newest of this folder")]
    found += [(row.summary.entry.id, row.summary.title) for row in rows]
    return [item for item in found if item[0].startswith(incomplete)]


def deleted_ids(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    from dshloop.sessions.trash import deleted

    found = deleted(invocation(ctx).places)
    items = [(each.entry.id, each.as_json()["deleted_at"]) for each in found]
    return [item for item in items if item[0].startswith(incomplete)]


def finding_warnings(findings: Sequence[Finding]) -> list[Caution]:
    """Give what is wrong with a log as warnings beside what is whole of it."""
    return [Caution(each.message, each.code, details=each.as_json()) for each in findings]


Session = typer.Argument(
    metavar="SESSION",
    help="An id, the beginning of one, last, or the file of a log.",
    autocompletion=session_ids,
)
Stored = typer.Argument(
    metavar="ID", help="An id, the beginning of one, or last.", autocompletion=session_ids
)
Here = Annotated[
    str | None, typer.Option("--cwd", metavar="DIR", help="Only those of this folder.")
]
Since = Annotated[
    str | None,
    typer.Option(metavar="WHEN", help="Only those used since then: 2026-01-31, 24h, 7d."),
]


def narrowed(
    invoked: Invocation, found: list[Entry], cwd: str | None, since: str | None
) -> list[Entry]:
    """Take the sessions of a folder, or those used since a moment."""
    from dshloop.paths import absolute
    from dshloop.sessions.catalog import entries_of

    if cwd is not None:
        found = entries_of(found, absolute(cwd, invoked.env.cwd, invoked.env.variables))
    if since is not None:
        start = moment(invoked, since)
        found = [entry for entry in found if entry.updated >= start]
    return found


def moment(invoked: Invocation, text: str) -> float:
    """Read when something shall begin, in epoch seconds. Raises DATE_INVALID."""
    from dshloop.memory.moments import read_moment

    return read_moment(text, invoked.env.clock()).start
