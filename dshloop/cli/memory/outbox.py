"""`dshloop memory outbox`: what is on its way to stores, looked at, sent, tried again, dropped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.invocation import Invocation
from dshloop.cli.memory.common import module_app
from dshloop.cli.memory.opening import way_to_open
from dshloop.cli.params import Command, ProfileCommand, invocation, new_app
from dshloop.errors import (
    ExitCode,
    OutboxEmptyError,
    OutboxUnconfirmedError,
    OutboxUnusableError,
    StoreUnknownError,
    UsageError,
)
from dshloop.result import Caution, Result, Table
from dshloop.terminal import one_line

if TYPE_CHECKING:
    from dshloop.memory.outbox import Entry, Outbox
    from dshloop.memory.store import MemoryRecorder
    from dshloop.runs.outboxes import Delivered

app = module_app()
outbox_app = new_app("outbox", "List, send, replay and drop what is on its way to stores.")
app.add_typer(outbox_app)
SHOWN = 20  # sessions that a question names


def _stores(ctx: typer.Context, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    with _outboxes(invocation(ctx), None) as found:
        names = [one.store for one in found]
    return [(name, "outbox") for name in names if name.startswith(incomplete)]


def _sessions(ctx: typer.Context, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    with _outboxes(invocation(ctx), None) as boxes:
        waiting = {one.session: f"waits for {one.store}" for one in _entries(boxes, None)}
    return [(name, text) for name, text in waiting.items() if name.startswith(incomplete)]


Store = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="NAME", help="Only what waits for this store.", autocompletion=_stores
    ),
]
SessionOption = Annotated[
    str | None,
    typer.Option("--session", metavar="ID", help="Only of this session.", autocompletion=_sessions),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what it would be, and do nothing.")]


@outbox_app.command("list", cls=Command, epilog="Example: dshloop memory outbox list --json")
def list_entries(
    ctx: typer.Context, store: Store = None, session: SessionOption = None
) -> Result[list[dict[str, Any]]]:
    """List what waits and what was given up, the oldest first, never what it says."""
    with _outboxes(invocation(ctx), store) as boxes:
        entries = _entries(boxes, session)
        dropped = {outbox.store: outbox.state().dropped for outbox in boxes}
    columns = ("STORE", "SESSION", "ID", "KIND", "STATE", "TRIED", "NEXT", "ERROR")
    table = Table(columns, [_row(entry) for entry in entries], empty="nothing is on its way")
    notices = [
        f"{count} entries for {name} were dropped because its outbox was full"
        for name, count in dropped.items()
        if count
    ]
    return Result([entry.as_json() for entry in entries], table, notices=notices)


@outbox_app.command(cls=ProfileCommand, epilog="Example: dshloop memory outbox flush --profile web")
def flush(
    ctx: typer.Context,
    store: Store = None,
    session: SessionOption = None,
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Send what waits now, each session in its order up to its first failure.

    Exit 5 when a store can't be reached, 1 when something else failed; what failed waits on.
    What was given up is not sent: that is what replay is for. A secret that only a profile's row
    has is read from --profile.
    """
    run = invocation(ctx)
    with _outboxes(run, store) as boxes:
        if dry_run:
            entries = _entries(boxes, session)
            return _would("send", [one for one in entries if one.state == "pending"])
        return _sent(ctx, boxes, session)


@outbox_app.command(cls=ProfileCommand, epilog="Example: dshloop memory outbox replay SESSION")
def replay(
    ctx: typer.Context,
    session: Annotated[
        str, typer.Argument(help="The session, as list shows it.", autocompletion=_sessions)
    ],
    store: Store = None,
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Send all that is left of a session, also what was given up; exit 3 when there is nothing."""
    run = invocation(ctx)
    with _outboxes(run, store) as found:
        boxes = [outbox for outbox in found if outbox.list(session)]
        if not boxes:
            raise OutboxEmptyError(f"nothing of session {session} is on its way", session=session)
        if dry_run:
            return _would("send", _entries(boxes, session))
        for outbox in boxes:
            outbox.replay(session)
        return _sent(ctx, boxes, session)


@outbox_app.command(cls=Command, epilog="Example: dshloop memory outbox drop --given-up --dry-run")
def drop(
    ctx: typer.Context,
    session: Annotated[
        str | None,
        typer.Argument(metavar="[SESSION]", help="Of this session.", autocompletion=_sessions),
    ] = None,
    store: Store = None,
    given_up: Annotated[bool, typer.Option("--given-up", help="Only what was given up.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Whatever waits.")] = False,
    dry_run: DryRun = False,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
) -> Result[dict[str, Any]]:
    """Throw away what waits, of a session, for a store, or all; it is gone for good."""
    run = invocation(ctx)
    if not (session or store or given_up or everything):
        raise UsageError(
            "drop needs a session, --store, --given-up or --all", hint="Nothing was changed."
        )
    with _outboxes(run, store) as boxes:
        entries = _entries(boxes, session)
        if given_up:
            entries = [entry for entry in entries if entry.state != "pending"]
        if not entries:
            raise OutboxEmptyError("nothing was dropped: nothing on its way fits")
        if dry_run:
            return _would("drop", entries)
        _confirm(run, entries, yes=yes)
        for outbox in boxes:
            ids = [entry.id for entry in entries if entry.store == outbox.store]
            if ids:  # without ids everything would go
                outbox.drop(ids=ids)
    counts = _counts(entries)
    return Result({"dropped": len(entries), **counts}, f"dropped {_told(entries)}")


@contextmanager
def _outboxes(run: Invocation, store: str | None) -> Iterator[Sequence[Outbox]]:
    """Lend the outboxes, or that of a store. One that can't be used is a warning beside others.

    Raises STORE_UNKNOWN where a store has none, OUTBOX_UNUSABLE for the one that was named.
    """
    from dshloop.memory.outbox_flush import outboxes
    from dshloop.memory.stores import shown_store

    found = outboxes(run.places.outbox, clock=run.env.clock)
    with ExitStack() as closing:
        for outbox in found:
            closing.callback(outbox.close)
        if store is None:
            yield [outbox for outbox in found if _is_usable(run, outbox)]
            return
        named = [outbox for outbox in found if outbox.store == store]
        if not named:
            known = ", ".join(outbox.store for outbox in found)
            hint = f"Outboxes: {known}." if known else "There are no outboxes yet."
            told = shown_store(store)
            raise StoreUnknownError(f'there is no outbox for "{told}"', hint=hint, store=told)
        yield named


def _is_usable(run: Invocation, outbox: Outbox) -> bool:
    try:
        outbox.state()
    except OutboxUnusableError as error:
        run.cautions.append(Caution(error.message, error.code, details=error.details))
        return False
    return True


def _entries(boxes: Sequence[Outbox], session: str | None) -> list[Entry]:
    return [entry for outbox in boxes for entry in outbox.list(session)]


def _sent(
    ctx: typer.Context, boxes: Sequence[Outbox], session: str | None
) -> Result[dict[str, Any]]:
    from dshloop.cli.docked import run_rows
    from dshloop.plugins.deliveries import Surroundings
    from dshloop.runs.memory import memory_place
    from dshloop.runs.outboxes import deliver_all

    run = invocation(ctx)
    place = memory_place(run.places, run.env.clock, run.env.variables)
    around = Surroundings(place, lambda: run_rows(run).rows, lambda name: _recorder(ctx, name))
    with run.progress("Sending …") as tell:
        done = deliver_all(boxes, around, session, lambda store: tell(f"Sending to {store} …"))
    lines = [_line(one) for one in done] or ["nothing waits"]
    data = {
        "delivered": sum(one.delivered for one in done),
        "failed": sum(one.error is not None for one in done),
        "stores": [one.as_json() for one in done],
    }
    warnings = [
        Caution(f"{one.store}: {one.error}", "OUTBOX_FAILED", details={"store": one.store})
        for one in done
        if one.error is not None
    ]
    return Result(data, "\n".join(lines), warnings=warnings, exit_code=_exit_code(done))


def _recorder(ctx: typer.Context, name: str) -> MemoryRecorder:
    from dshloop.memory.stores import open_recorder

    store, options = way_to_open(ctx, name=name)
    return open_recorder(store, **options)


def _exit_code(done: Sequence[Delivered]) -> ExitCode:
    failed = [one for one in done if one.error is not None]
    if not failed:
        return ExitCode.DONE
    absent = all(one.unreachable for one in failed)
    return ExitCode.PEER if absent else ExitCode.FAILED


def _line(one: Delivered) -> str:
    parts = [f"{one.delivered} sent", f"{one.pending} waiting"]
    parts += [f"{one.given_up} given up"] if one.given_up else []
    parts += [f"{one.busy} sessions sent by another process"] if one.busy else []
    return f"{one_line(one.store)}: {', '.join(parts)}"


def _would(verb: str, entries: Sequence[Entry]) -> Result[dict[str, Any]]:
    counts = _counts(entries)
    data = {"dry_run": True, "entries": len(entries), **counts}
    return Result(data, f"would {verb} {_told(entries)}")


def _counts(entries: Sequence[Entry]) -> dict[str, Any]:
    sessions = {(entry.store, entry.session) for entry in entries}
    stores: dict[str, int] = {}
    for entry in entries:
        stores[entry.store] = stores.get(entry.store, 0) + 1
    return {"sessions": len(sessions), "stores": stores}


def _told(entries: Sequence[Entry]) -> str:
    sessions = _counts(entries)["sessions"]
    what = "1 entry" if len(entries) == 1 else f"{len(entries)} entries"
    return f"{what} of {sessions} session{'s' * (sessions != 1)}"


def _confirm(run: Invocation, entries: Sequence[Entry], *, yes: bool) -> None:
    """Show what was found and ask. Raises OUTBOX_UNCONFIRMED without a yes."""
    if yes:
        return
    what = _told(entries)
    if not (run.env.stdin_tty and run.env.stderr_tty):
        raise OutboxUnconfirmedError(
            f"{what} would be dropped, and nobody said yes", found=len(entries)
        )
    sessions = dict.fromkeys(f"  {one_line(one.store)}  {one_line(one.session)}" for one in entries)
    for line in list(sessions)[:SHOWN]:
        run.env.stderr.write(line + "\n")
    if len(sessions) > SHOWN:
        run.env.stderr.write(f"  and {len(sessions) - SHOWN} more\n")
    if not run.env.ask(f"Drop {what}?"):
        raise OutboxUnconfirmedError(f"{what} not dropped", hint="Nothing was changed.")


def _row(entry: Entry) -> tuple[str, ...]:
    from dshloop.cli.memory.view import when

    waits = entry.state == "pending"
    return (
        entry.store,
        entry.session,
        str(entry.id),
        entry.kind,
        entry.state,
        str(entry.attempts),
        when(entry.next_at) if waits and entry.next_at else "now" if waits else "-",
        one_line(entry.error or "", 80),
    )
