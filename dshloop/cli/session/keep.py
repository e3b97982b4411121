"""The verbs that change a session as a whole: fork, rename, delete, restore."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dshloop.cli.params import Command, invocation, new_app
from dshloop.cli.session.common import Session, Stored, deleted_ids
from dshloop.result import Result

app = new_app("session", "")


@app.command(cls=Command, epilog="Example: dshloop session fork last --at 2")
def fork(
    ctx: typer.Context,
    session: Annotated[str, Session],
    at: Annotated[
        str | None,
        typer.Option(
            metavar="SEQ|TURN",
            help="Up to the end of this turn (3), or of the last one before an event (seq:40).",
        ),
    ] = None,
    session_id: Annotated[
        str | None, typer.Option(metavar="ID", help="The id of the new session.")
    ] = None,
) -> Result[dict[str, Any]]:
    """Begin a new session with what was said in another, ours or one of dsh.

    The other one stays as it is and may be in use. Without --at all turns are taken that have
    ended. Prints the new id; go on with: dshloop session run --resume ID
    """
    from dshloop.sessions import keeping

    invoked = invocation(ctx)
    made = keeping.fork(
        invoked.places,
        session,
        invoked.env.cwd,
        clock=invoked.env.clock,
        at=at,
        session_id=session_id,
    )
    notices = [f"forked from {made.parent} behind turn {made.turns}: {made.events} events"]
    if made.left_out:
        notices.append(f"{made.left_out} events behind it were left out")
    return Result(made.as_json(), made.id, notices=notices)


@app.command(cls=Command)
def rename(
    ctx: typer.Context,
    session: Annotated[str, Stored],
    title: Annotated[str, typer.Argument(help="The new title.")],
) -> Result[dict[str, Any]]:
    """Give a session of ours another title; its id stays."""
    from dshloop.sessions import keeping
    from dshloop.sessions.catalog import find

    invoked = invocation(ctx)
    entry = find(invoked.places, session, invoked.env.cwd)
    clock, command = invoked.env.clock, invoked.command
    kept = keeping.rename(entry, title, clock=clock, command=command)
    return Result({"id": entry.id, "title": kept}, f'{entry.id} is now "{kept}"')


@app.command(cls=Command)
def delete(
    ctx: typer.Context,
    sessions: Annotated[list[str], Stored],
) -> Result[list[dict[str, Any]]]:
    """Move sessions of ours to the trash; session restore brings them back."""
    from dshloop.sessions.catalog import find
    from dshloop.sessions.trash import delete as move_to_trash

    invoked = invocation(ctx)
    entries = [find(invoked.places, name, invoked.env.cwd) for name in dict.fromkeys(sessions)]
    unique = {entry.path: entry for entry in entries}.values()
    now, command = invoked.env.clock(), invoked.command
    done = [move_to_trash(invoked.places, each, now=now, command=command) for each in unique]
    said = "\n".join(f"deleted {each.entry.id}" for each in done)
    notices = [f"back again: dshloop session restore {done[-1].entry.id}"]
    return Result([each.as_json() for each in done], said, notices=notices)


@app.command(cls=Command)
def restore(
    ctx: typer.Context,
    session: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="The id of a deleted session, the beginning of it, or last.",
            autocompletion=deleted_ids,
        ),
    ],
) -> Result[dict[str, Any]]:
    """Bring a deleted session back, as it was."""
    from dshloop.files import shown
    from dshloop.sessions import trash

    invoked = invocation(ctx)
    entry = trash.restore(invoked.places, trash.find_deleted(invoked.places, session))
    return Result({"id": entry.id, "path": shown(entry.path)}, f"restored {entry.id}")
