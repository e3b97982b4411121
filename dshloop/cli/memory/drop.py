"""The verbs that take entries away and bring them back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.invocation import Invocation
from dshloop.cli.memory import complete
from dshloop.cli.memory.common import (
    FilterWriteVerb,
    Limit,
    MinScore,
    WriteVerb,
    filters,
    given,
    module_app,
)
from dshloop.cli.memory.opening import opened
from dshloop.cli.memory.view import counted, named, when
from dshloop.cli.params import invocation
from dshloop.errors import ExitCode, ForgetUnconfirmedError, MemoryNotFoundError, UsageError
from dshloop.result import Caution, Result

if TYPE_CHECKING:
    from dshloop.memory.answers import Forgotten
    from dshloop.memory.entries import Entry
    from dshloop.memory.store import MemoryStore

app = module_app()
SHOWN = 20  # entries that an answer names
_NO_CONDITION = ("store", "readonly")


@app.command(cls=FilterWriteVerb, epilog="Example: dshloop memory forget --project old --dry-run")
def forget(
    ctx: typer.Context,
    entry_ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Ids.", autocompletion=complete.ids),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option("--query", metavar="TEXT", help="What recall finds for this question."),
    ] = None,
    before: Annotated[
        str | None,
        typer.Option(
            "--before",
            metavar="WHEN",
            help="Older than this: 2026-01-31, 90d.",
            autocompletion=complete.moments,
        ),
    ] = None,
    limit: Limit = 10,
    min_score: MinScore = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be forgotten, and keep it.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    purge: Annotated[
        bool, typer.Option("--purge", help="Leave nothing that undo or restore could use.")
    ] = False,
) -> Result[dict[str, Any]]:
    """Forget entries by their ids, or all that pass the filters.

    Ids are forgotten at once; exit 3 when one names nothing. Conditions show first what they find,
    and need an answer or --yes; --limit and --min-score are for --query. --session alone means the
    session itself with its observations; memories from it stay. undo and restore bring everything
    back for 30 days, unless --purge is given.
    """
    run = invocation(ctx)
    conditions = _conditions(ctx, query, before)
    if entry_ids and conditions:
        raise UsageError(f"ids and {conditions[0]} exclude each other", hint="Give one of them.")
    if not (entry_ids or conditions):
        raise UsageError("forget needs ids or conditions", hint="Run dshloop memory forget --help.")
    with opened(ctx) as store:
        if not entry_ids:
            whole = given(ctx)["session"] if conditions == ["--session"] and not purge else None
            entries = _found(ctx, store, query, before, limit, min_score, session=whole)
            if not dry_run:
                _confirm(run, entries, yes=yes)
                if whole is not None:
                    return _forgotten(store.forget_session(whole), dry_run=False)
            entry_ids = [entry.id for entry in entries]
        done = store.forget(entry_ids, dry_run=dry_run, purge=purge)
    return _forgotten(done, dry_run=dry_run)


@app.command(cls=WriteVerb)
def undo(ctx: typer.Context) -> Result[dict[str, Any]]:
    """Take back the last change of this store: remember, edit, forget or restore."""
    from dshloop.times import iso_time

    with opened(ctx) as store:
        done = store.undo()
    ids = [entry.id for entry in done.entries]
    lines = [f"took back {done.verb} of {when(done.at)}: {counted(done.entries)}"]
    data = {"verb": done.verb, "at": iso_time(done.at), "ids": ids}
    return Result(data, "\n".join([*lines, *_named(done.entries)]))


@app.command(cls=WriteVerb)
def restore(
    ctx: typer.Context,
    entry_ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids, in full or begun.")],
) -> Result[dict[str, Any]]:
    """Bring back forgotten entries."""
    with opened(ctx) as store:
        entries = store.restore(entry_ids)
    lines = [f"brought back {counted(entries)}", *_named(entries)]
    return Result({"restored": [entry.id for entry in entries]}, "\n".join(lines))


def _conditions(ctx: typer.Context, query: str | None, before: str | None) -> list[str]:
    """Name the conditions that were given; a blank one is refused: it would mean everything."""
    asked = {key: value for key, value in given(ctx).items() if key not in _NO_CONDITION}
    asked |= {"query": query, "before": before}
    named = {f"--{key}": value for key, value in asked.items() if value is not None}
    for name, value in named.items():
        if not value.strip():
            raise UsageError(f"{name} is blank", hint="Nothing was changed.")
    return list(named)


def _found(
    ctx: typer.Context,
    store: MemoryStore,
    query: str | None,
    before: str | None,
    limit: int,
    min_score: float | None,
    *,
    session: str | None,
) -> Sequence[Entry]:
    """Give what the conditions find; of a whole session its observations.

    A project means its own entries: those of every project pass its filter too, and stay.
    """
    from dshloop.memory.entries import KINDS, OBSERVATION
    from dshloop.memory.moments import read_moment

    where = filters(ctx, KINDS if session is None else (OBSERVATION,))
    if before is not None:
        until = read_moment(before, invocation(ctx).env.clock()).start
        where = where._replace(until=until if where.until is None else min(until, where.until))
    found: Sequence[Entry]
    if query is not None:
        hits = store.recall(query, where, limit=limit, min_score=min_score)
        found = [hit.entry for hit in hits]
    else:
        found = store.list(where, limit=None)
    entries = [one for one in found if where.project is None or one.project == where.project]
    if not entries:
        raise MemoryNotFoundError("nothing was forgotten: nothing passes these conditions")
    return entries


def _confirm(run: Invocation, entries: Sequence[Entry], *, yes: bool) -> None:
    """Show what was found and ask; FORGET_UNCONFIRMED without a yes."""
    if yes:
        return
    count = counted(entries)
    if run.env.stdin_tty and run.env.stderr_tty:
        for line in _named(entries):
            run.env.stderr.write(line + "\n")
        if run.env.ask(f"Forget {count}?"):
            return
        raise ForgetUnconfirmedError(f"{count} not forgotten", hint="Nothing was changed.")
    raise ForgetUnconfirmedError(
        f"{count} would be forgotten, and nobody said yes",
        found=len(entries),
    )


def _forgotten(done: Forgotten, *, dry_run: bool) -> Result[dict[str, Any]]:
    from dshloop.memory.entries import MEMORY

    ids = [entry.id for entry in done.entries]
    memories = sum(entry.kind == MEMORY for entry in done.entries)
    verb = "would forget" if dry_run else "forgot"
    return Result(
        {
            "deleted": 0 if dry_run else len(ids),
            "dry_run": dry_run,
            "memories": memories,
            "observations": len(ids) - memories,
            "ids": ids,
            "missing": list(done.missing),
        },
        "\n".join([f"{verb} {counted(done.entries)}", *_named(done.entries)]),
        warnings=[Caution(f"nothing has the id {one}", "MEMORY_NOT_FOUND") for one in done.missing],
        exit_code=ExitCode.NOT_FOUND if done.missing else ExitCode.DONE,
    )


def _named(entries: Sequence[Entry]) -> list[str]:
    lines = [f"  {entry.id}  {named(entry)}" for entry in entries[:SHOWN]]
    if len(entries) > SHOWN:
        lines.append(f"  and {len(entries) - SHOWN} more")
    return lines
