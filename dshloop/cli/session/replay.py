"""`dshloop session replay`: play a session again, and say what is not as it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.dock_complete import loop_ids, runnable_drivers
from dshloop.cli.docked import run_rows
from dshloop.cli.invocation import Invocation
from dshloop.cli.models import asking
from dshloop.cli.params import ProfileCommand, invocation, new_app
from dshloop.cli.session.common import Session, finding_warnings
from dshloop.errors import ExitCode
from dshloop.result import Result

if TYPE_CHECKING:
    from dshloop.runs.kept.replaying import Replayed
    from dshloop.runs.talking.options import RunOptions
    from dshloop.sessions.differing import Difference

app = new_app("session", "")

_LONGEST = 160  # characters of a value that are shown
_MOST_CHANGES = 8
_SIGNS = {"missing": "-", "new": "+", "changed": "~"}


@app.command(cls=ProfileCommand, epilog="Example: dshloop session replay last --recorded --assert")
def replay(
    ctx: typer.Context,
    session: Annotated[str, Session],
    driver: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The driver instead of the session's own.",
            autocompletion=runnable_drivers,
        ),
    ] = None,
    loop: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="The loop instead of the session's own.", autocompletion=loop_ids
        ),
    ] = None,
    recorded: Annotated[
        bool,
        typer.Option(
            "--recorded",
            help="Models, tools and memory say what they said then; none is asked or run.",
        ),
    ] = False,
    asserts: Annotated[
        bool, typer.Option("--assert", help="End with exit code 1 when anything differs.")
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the replay as a session of its own.")
    ] = False,
) -> Result[dict[str, Any]]:
    """Play a session again and compare what happens, but for ids, times and usage.

    What a person said in it is said to the loop and driver that it ran on, or others. The session
    itself is only read, of whatever kind it is; the replay works on an empty memory and leaves
    nothing. Without --recorded a model is asked, and tools that nobody has to allow are run.
    """
    from dshloop.runs.kept.recorded import read_recorded
    from dshloop.runs.kept.replaying import Replay
    from dshloop.sessions.locate import locate

    invoked = invocation(ctx)
    source = read_recorded(locate(invoked.places, session, invoked.env.cwd).path)
    options = _options(invoked, driver, loop)
    with invoked.progress("Playing the session …"):
        play = Replay(invoked.places, source, options, invoked.env.clock, recorded)
        done = play.run(keep=keep)
    code = ExitCode.FAILED if asserts and not done.same else ExitCode.DONE
    notices = [*done.notices]
    if done.kept_id is not None:
        notices.append(f"kept as session {done.kept_id}")
    warnings = finding_warnings(source.findings)
    return Result(done.as_json(), _text(done), notices, warnings, exit_code=code)


def _options(invoked: Invocation, driver: str | None, loop: str | None) -> RunOptions:
    from dshloop.runs.engines import engine_row, engine_settings
    from dshloop.runs.talking.options import RunOptions

    env, rows = invoked.env, run_rows(invoked)
    engines = engine_settings(
        invoked.places,
        variables=env.variables,
        config=invoked.config,
        row=engine_row(rows.dock_rows),
    )
    options = RunOptions(
        cwd=env.cwd,
        command=invoked.command,
        driver=driver,
        loop=loop,
        rows=rows,
        engines=engines,
    )
    return asking(invoked, options, None, None, None, None)


# --- as text -------------------------------------------------------------------------------------


def _text(done: Replayed) -> str:
    runs_on = done.loop if done.driver is None else f"{done.loop} on {done.driver}"
    what = "recorded answers" if done.recorded else "new answers"
    count = len(done.differences)
    differ = "nothing differs" if not count else f"{count} differ" if count > 1 else "1 differs"
    turns = "1 turn" if done.turns == 1 else f"{done.turns} turns"
    head = f"{done.source.id} on {runs_on}, {what}: {turns}, {done.compared} events, {differ}"
    return "\n".join([head, *_lines(done.differences)])


def _lines(found: Sequence[Difference]) -> Iterator[str]:
    place = (0, 0)
    for each in found:
        if (each.fact.turn, each.fact.step) != place:
            place = (each.fact.turn, each.fact.step)
            yield f"turn {place[0]}" + (f" step {place[1]}" if place[1] else "")
        yield f"{_SIGNS[each.kind]} {each.fact.type}{_brief(each)}"
        for change in each.changes[:_MOST_CHANGES]:
            yield f"    {change.path}"
            yield f"      was {_shown(change.recorded)}"
            yield f"      is  {_shown(change.replayed)}"
        if len(each.changes) > _MOST_CHANGES:
            yield f"    … {len(each.changes) - _MOST_CHANGES} more"


def _brief(difference: Difference) -> str:
    data = difference.fact.data
    return "" if difference.kind == "changed" or not data else f" {_shown(data)}"


def _shown(value: Any) -> str:
    import json

    from dshloop.terminal import one_line

    if value is None:
        return "nothing"
    return one_line(json.dumps(value, ensure_ascii=False), _LONGEST)
