"""The verbs for damaged logs: session fsck and repair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.params import Command, invocation, new_app
from dshloop.cli.session.common import Session
from dshloop.errors import ExitCode, UsageError
from dshloop.result import Result

if TYPE_CHECKING:
    from dshloop.sessions.fsck import Checked

app = new_app("session", "")

_MOST_SHOWN = 50


@app.command(cls=Command, epilog="Example: dshloop session fsck last")
def fsck(
    ctx: typer.Context,
    session: Annotated[str | None, Session] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Check every session, ours and those of dsh.")
    ] = False,
) -> Result[Any]:
    """Check a log: what is damaged, where, and how often.

    Exit code 1 when anything is. A turn that was left open is no damage: it is closed when the
    session goes on.
    """
    from dshloop.runs.kept.checking import check_every, check_session

    invoked = invocation(ctx)
    if everything is (session is not None):
        raise UsageError("name one session, or give --all")
    if session is not None:
        checked = check_session(invoked.places, session, invoked.env.cwd)
        code = ExitCode.DONE if checked.sound else ExitCode.FAILED
        return Result(checked.as_json(), _report(checked), exit_code=code)
    with invoked.progress("Checking the sessions …"):
        every = check_every(invoked.places)
    said = [_report(each) for each in every.logs if not each.sound]
    said += [f"error   {each.code}\n  {each.message}" for each in every.stray]
    said.append(f"{len(every.logs)} sessions, {every.damaged} damaged")
    code = ExitCode.DONE if every.sound else ExitCode.FAILED
    return Result(every.as_json(), "\n".join(said), exit_code=code)


@app.command(cls=Command, epilog="Example: dshloop session repair last --out mended.jsonl")
def repair(
    ctx: typer.Context,
    session: Annotated[str, Session],
    out: Annotated[
        str, typer.Option("--out", metavar="FILE", help="Where the mended copy goes; a new file.")
    ],
) -> Result[dict[str, Any]]:
    """Write a mended copy of a damaged log; the log itself is never touched.

    NUL bytes are taken out where that mends a line, glued records come apart. Where events are
    lost, those behind are numbered anew with all that refers to them, the result of a lost call
    goes too, and a call whose result is lost is answered as dsh answers it. Everything is counted.
    """
    from dshloop.runs.kept.checking import repair_session

    invoked = invocation(ctx)
    variables = invoked.env.variables
    done = repair_session(invoked.places, session, out, invoked.env.cwd, variables)
    return Result(done.as_json(), done.text())


def _report(checked: Checked) -> str:
    from dshloop.files import shown
    from dshloop.transcripts.dsh import counts_text

    lines = [f"{shown(checked.path)}"]
    for finding in checked.findings[:_MOST_SHOWN]:
        places = {"line": finding.line, "byte": finding.byte, "seq": finding.seq}
        where = ", ".join(f"{name} {at}" for name, at in places.items() if at is not None)
        lines.append(f"{finding.severity:<7} {finding.code}{f'  ({where})' if where else ''}")
        lines.append(f"  {finding.message}")
    total = sum(checked.counts.values())
    if total > _MOST_SHOWN:
        kinds = ", ".join(f"{count} {code}" for code, count in checked.counts.items())
        lines.append(f"{total} findings in all: {kinds}")
    content = counts_text({"events": checked.events, **checked.content})
    state = "sound" if checked.sound else "damaged"
    left = "; its last turn is open" if checked.open else ""
    return "\n".join([*lines, f"{state}: {content}{left}"])
