"""`dshloop history`, `undo` and `redo`: the changes that dshloop made to files."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.invocation import Invocation
from dshloop.cli.params import Command, ProfileCommand, invocation, new_app
from dshloop.result import Caution, Document, Result, Table

if TYPE_CHECKING:
    from dshloop.journal import Entry, Plan
    from dshloop.paths import Places

app = new_app("history", "List, take back and redo the changes made by dshloop.")


def _entry_ids(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    """Offer the ids of the entries, the newest first."""
    entries = invocation(ctx).history.entries()
    return [(e.id, e.command) for e in entries if e.id.startswith(incomplete)]


EntryId = Annotated[
    str | None,
    typer.Argument(
        metavar="ID",
        help="The id of an entry, or its beginning (see dshloop history).",
        autocompletion=_entry_ids,
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show the change as a diff and write nothing.")
]


@app.command(cls=ProfileCommand)
def history(
    ctx: typer.Context,
    limit: Annotated[
        int, typer.Option("--limit", min=1, metavar="N", help="List the newest N entries only.")
    ] = 20,
) -> Result[list[dict[str, Any]]]:
    """List the changes made by dshloop, the newest first.

    With --profile, only those that changed something in that profile.
    """
    run = invocation(ctx)
    journal = run.history
    places = run.places
    entries = journal.entries(under=places.profiles / run.profile if run.profile else None)
    shown = entries[:limit]
    rest = len(entries) - len(shown)
    return Result(
        [entry.as_json() for entry in shown],
        Table(
            ("ID", "WHEN", "COMMAND", "FILES", "STATE"),
            [_row(entry, places) for entry in shown],
            empty="Nothing was changed yet.",
        ),
        notices=[f"{rest} older: --limit {len(entries)} lists all."] if rest else [],
        warnings=[Caution(e.message, code=e.code, details=e.details) for e in journal.damaged()],
    )


@app.command(cls=Command)
def undo(
    ctx: typer.Context, entry_id: EntryId = None, dry_run: DryRun = False
) -> Result[dict[str, Any]]:
    """Take back the newest change, or the one named, byte for byte.

    Refuses (exit 4) when one of its files was changed since.
    """
    run = invocation(ctx)
    if dry_run:
        journal = run.history
        return _planned(journal.to_undo(entry_id), journal.plan_undo(entry_id))
    return _turned(run, run.journal.undo(entry_id), "took back")


@app.command(cls=Command)
def redo(
    ctx: typer.Context, entry_id: EntryId = None, dry_run: DryRun = False
) -> Result[dict[str, Any]]:
    """Make again the change that was taken back last, or the one named.

    Refuses (exit 4) when one of its files was changed since.
    """
    run = invocation(ctx)
    if dry_run:
        journal = run.history
        return _planned(journal.to_redo(entry_id), journal.plan_redo(entry_id))
    return _turned(run, run.journal.redo(entry_id), "made again")


def _planned(entry: Entry, plan: Plan) -> Result[dict[str, Any]]:
    diff = plan.diff()
    return Result({**entry.as_json(), "dry_run": True, "diff": diff}, Document(diff))


def _turned(run: Invocation, entry: Entry, verb: str) -> Result[dict[str, Any]]:
    notices = [f"{verb} {entry.id}: {entry.command}"]
    notices += [f"  {_short(path, run.places)}" for path in entry.paths]
    advice = entry.note.get("advice")
    return Result(
        {**entry.as_json(), "dry_run": False},
        notices=[*notices, str(advice)] if advice else notices,
    )


def _row(entry: Entry, places: Places) -> Sequence[str]:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.time))
    first, *others = entry.paths
    files = _short(first, places) + (f" +{len(others)}" if others else "")
    return entry.id, when, entry.command, files, entry.state


def _short(path: Path, places: Places) -> str:
    """Give a path from DSH's home on, where it is in there."""
    from dshloop.files import shown

    home = places.dsh_home.resolve()
    return shown(path.relative_to(home) if home in path.parents else path)
