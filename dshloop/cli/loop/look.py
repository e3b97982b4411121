"""The verbs that only look: what loops there are, which one a session gets and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.dock_complete import driver_names, loop_ids, preset_ids, session_ids
from dshloop.cli.docked import cautions, docked
from dshloop.cli.loop.common import app
from dshloop.cli.params import ProfileCommand, invocation
from dshloop.errors import ExitCode, UsageError
from dshloop.result import Result, Table
from dshloop.terminal import one_line

if TYPE_CHECKING:
    from dshloop.loops.catalog import Entry
    from dshloop.loops.explanation import Explanation
    from dshloop.loops.registry import Loop

LoopId = Annotated[str, typer.Argument(metavar="ID", autocompletion=loop_ids, help="A loop's id.")]


@app.command("list", cls=ProfileCommand, epilog="Example: dshloop loop list --profile web")
def list_loops(ctx: typer.Context) -> Result[list[dict[str, Any]]]:
    """List the loops: of the profile's loops.yml, of installed packages, built-in."""
    run = invocation(ctx)
    with docked(run) as (docking, notices):
        entries = list(docking.loops.values())
    rows = [_row(entry, entry.id == docking.dock.config.default_loop) for entry in entries]
    table = Table(("ID", "KIND", "FROM", "DRIVER", "LABEL"), rows)
    data = [_as_json(entry) for entry in entries]
    told = [*notices, *docking.notices]
    return Result(data, table, notices=told, warnings=cautions(docking))


@app.command(cls=ProfileCommand, epilog="Example: dshloop loop show standard")
def show(ctx: typer.Context, loop: LoopId) -> Result[dict[str, Any]]:
    """Show a loop: what it is, where it is from, what it pins, and which routes lead to it."""
    run = invocation(ctx)
    with docked(run) as (docking, notices):
        entry = docking.require_loop(loop)
    config = docking.dock.config
    routes = [
        *(f"preset {key}" for key, route in config.preset_loops.items() if route.loop == loop),
        *(f"session {key}" for key, route in config.session_loops.items() if route.loop == loop),
    ]
    data = {**_as_json(entry), "default": loop == config.default_loop, "routes": routes}
    warnings = [one for one in cautions(docking) if one.message.startswith(f"loop {loop}:")]
    return Result(data, _lines(data), notices=notices, warnings=warnings)


@app.command(
    cls=ProfileCommand, epilog="Example: dshloop loop explain --preset code --driver fake-driver"
)
def explain(
    ctx: typer.Context,
    session: Annotated[
        str | None,
        typer.Option(
            metavar="ID", autocompletion=session_ids, help="The session, whose route counts."
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(metavar="ID", autocompletion=preset_ids, help="The preset of a new session."),
    ] = None,
    loop: Annotated[
        str | None, typer.Option(metavar="ID", autocompletion=loop_ids, help="Ask for this loop.")
    ] = None,
    driver: Annotated[
        str | None,
        typer.Option(metavar="NAME", autocompletion=driver_names, help="Ask for this driver."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Explain going on with the stored session.")
    ] = False,
    force_rebind: Annotated[
        bool,
        typer.Option("--force-rebind", help="With --resume: as if a damaged log recorded nothing."),
    ] = False,
) -> Result[dict[str, Any]]:
    """Show which loop and driver a session gets: every candidate in order, and who wins.

    With --resume what the session's log records counts too; without --session the newest one of
    this folder is meant.
    """
    from dshloop.runs.docks.explaining import Question
    from dshloop.runs.docks.explaining import explain as explain_question

    run = invocation(ctx)
    if resume and preset is not None:
        raise UsageError("--preset is for a new session: a stored one records its own")
    if force_rebind and not resume:
        raise UsageError("--force-rebind is for --resume")
    question = Question(session, preset, loop, _driver(driver), resume, force_rebind)
    with docked(run) as (docking, notices):
        found = explain_question(docking, question, run.places, run.env.cwd)
    told = [*notices, *docking.notices]
    return Result(found.as_json(), _explained(found), notices=told, warnings=cautions(docking))


@app.command(cls=ProfileCommand, epilog="Example: dshloop loop check --profile web")
def check(ctx: typer.Context) -> Result[list[dict[str, Any]]]:
    """Check the dock row, loops.yml and the driver setting; errors give exit code 1."""
    from dshloop.runs.docks.dock_check import check_docking

    run = invocation(ctx)
    with docked(run) as (docking, notices):
        findings = check_docking(docking, run.places)
    worst = any(one.severity == "error" for one in findings)
    view = "\n".join(one.as_text() for one in findings) or "nothing found"
    code = ExitCode.FAILED if worst else ExitCode.DONE
    told = [*notices, *docking.notices]
    return Result([one.as_json() for one in findings], view, notices=told, exit_code=code)


def _driver(typed: str | None) -> str | None:
    """Take the names of the command line for the ones that are recorded."""
    from dshloop.drivers import choose

    return None if typed is None else choose(typed).name


def _row(entry: Entry[Loop], default: bool) -> tuple[str, ...]:
    loop = entry.value
    mark = " (default)" if default else ""
    if loop is None:
        code = entry.fault.code if entry.fault is not None else ""
        return (entry.id + mark, "broken", entry.offer.source, "-", code)
    return (
        entry.id + mark, loop.kind, entry.offer.source, loop.driver or "-",
        loop.label or loop.description or "-",
    )  # fmt: skip


def _as_json(entry: Entry[Loop]) -> dict[str, Any]:
    loop, strategy = entry.value, entry.offer.strategy
    about: dict[str, Any] = {"id": entry.id, "kind": None}
    if loop is not None:
        names = ("kind", "label", "description", "driver", "provider", "model")
        about |= {name: getattr(loop, name) for name in names}
    does = {"does": strategy.as_json()} if strategy is not None else {}
    return {**about, **does, **entry.as_json()}


def _lines(data: dict[str, Any]) -> str:
    """Write what there is, one thing a line."""
    shown: list[tuple[str, Any]] = []
    for key, value in data.items():
        if key == "does":
            shown += [(name, _short(part)) for name, part in value.items()]
        elif key == "fault" and value:
            shown.append((key, one_line(f"{value['code']}: {value['message']}")))
        elif key == "shadows":
            hidden = [f"{one['from']} ({one['where']})" for one in value]
            shown += [("hides", _short(hidden))] if hidden else []
        elif value not in (None, [], False):
            shown.append((key, _short(value)))
    width = max(len(name) for name, _ in shown)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in shown)


def _short(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_short(item) for item in value)
    if isinstance(value, dict):
        return " ".join(f"{key}={_short(item)}" for key, item in value.items())
    return "yes" if value is True else one_line(str(value))


def _explained(found: Explanation) -> str:
    """Write the result, every candidate in order with a mark at the winner, and the conflict."""
    from_loop = f"  ({found.source})" if found.source else ""
    lines = [f"loop    {found.loop or '-'}{from_loop}"]
    lines.append(f"driver  {found.driver or '-'}" + _source(found.driver_source))
    if found.recorded is not None:
        lines.append(f"binding {'recorded' if found.recorded else 'not recorded'}")
    cells = [
        (
            "*" if one.won else " ",
            one.dimension,
            one.origin,
            one_line(str(one.value or "-")),
            one_line(one.where),
        )
        for one in found.candidates
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(4)]
    lines.append("")
    for row in cells:
        padded = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join([*padded, row[4]]).rstrip())
    lines += ["", *found.notices] if found.notices else []
    if found.conflict is not None:
        lines += ["", f"conflict {found.conflict.code}: {found.conflict.message}"]
        lines += [f"  -> {found.conflict.hint}"] if found.conflict.hint else []
    return "\n".join(lines)


def _source(source: str | None) -> str:
    return f"  ({source})" if source else ""
