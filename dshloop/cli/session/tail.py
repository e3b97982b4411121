"""`dshloop session tail`: the end of a session, and what comes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.params import Command, invocation, new_app
from dshloop.cli.session.common import Session
from dshloop.result import End, Stream

if TYPE_CHECKING:
    from dshloop.sessions.follow import Follower
    from dshloop.transcripts.findings import Finding

_BEING_WRITTEN = ("TORN_TAIL", "TORN_FRAME")

app = new_app("session", "")


@app.command(cls=Command, epilog="Example: dshloop session tail last -f")
def tail(
    ctx: typer.Context,
    session: Annotated[str, Session],
    follows: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what is written; Ctrl-C ends it.")
    ] = False,
    until_end: Annotated[
        bool, typer.Option("--until-end", help="Follow to the end of the turn.")
    ] = False,
    last: Annotated[
        int, typer.Option("--last", "-n", metavar="N", min=0, help="Begin with the last N turns.")
    ] = 1,
) -> Stream:
    """Show the last turns of a session, and follow it while others write to it."""
    from dshloop.sessions.follow import Follower
    from dshloop.sessions.locate import locate

    invoked = invocation(ctx)
    follower = Follower(locate(invoked.places, session, invoked.env.cwd).path)
    return Stream(_records(follower, last, follows=follows, until_end=until_end), _text)


def _records(
    follower: Follower, last: int, *, follows: bool, until_end: bool
) -> Iterator[Mapping[str, Any] | End]:
    from dshloop.cli.session.common import finding_warnings
    from dshloop.files import shown
    from dshloop.sessions.export.pieces import last_turns

    events = [each for each in follower.read() if isinstance(each, dict)]
    if not events:
        follower.require_log()
    yield {"type": "session", "path": shown(follower.path), **_owner(follower)}
    yield from ({"type": "event", "event": event} for event in last_turns(events, last))
    if not (follows or until_end):
        yield End("read", warnings=finding_warnings(_damage(follower)))
        return
    yield from ({"type": "notice", "message": each.message} for each in _damage(follower))
    yield from _followed(follower, until_end=until_end)


def _followed(follower: Follower, *, until_end: bool) -> Iterator[Mapping[str, Any] | End]:
    import time

    from dshloop.sessions.follow import Note, follow

    for each in follow(follower, time.sleep, until_end=until_end):
        if isinstance(each, str):
            said = {"removed": "the log was removed", "abandoned": "its writer is gone"}
            yield End(each, notices=[said[each]] if each in said else [])
        elif isinstance(each, Note):
            yield {"type": "notice", "message": each.message}
        else:
            yield {"type": "event", "event": each}


def _damage(follower: Follower) -> list[Finding]:
    """Give what is damaged; the end of a log that is being written may just not be whole yet."""
    owned = follower.owner is not None
    return [each for each in follower.findings if not (owned and each.code in _BEING_WRITTEN)]


def _owner(follower: Follower) -> dict[str, Any]:
    from dshloop.locks.owner import describe

    owner = follower.owner
    if owner is None:
        return {"owner": None}
    data = {"pid": owner.pid, "command": owner.command, "host": owner.host, "since": owner.since}
    return {"owner": data, "owner_text": describe(owner)}


def _text(record: Mapping[str, Any]) -> str | None:
    if record["type"] == "session":
        owner = record.get("owner_text")
        return f"(open in {owner})\n\n" if owner else None
    if record["type"] == "notice":
        return f"({record['message']})\n\n"
    from dshloop.runs.kept.show import event_text

    text = event_text(record["event"])
    return None if text is None else f"{text}\n\n"
