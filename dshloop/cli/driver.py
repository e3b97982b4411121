"""`dshloop driver`: the drivers that loops borrow, and which one is the default."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.dock_complete import driver_names, registered_drivers
from dshloop.cli.docked import (
    DryRun,
    Force,
    cautions,
    docked,
    edit_loops_file,
)
from dshloop.cli.models import answering_model
from dshloop.cli.params import ProfileCommand, invocation, new_app
from dshloop.errors import ExitCode
from dshloop.result import Caution, Document, Result, Table
from dshloop.terminal import one_line

if TYPE_CHECKING:
    from dshloop.cli.invocation import Invocation
    from dshloop.loops.catalog import Entry
    from dshloop.loops.registry import Driver
    from dshloop.runs.docks.docking import Docking

app = new_app("driver", "List, choose and register the drivers that run loops.", profile=True)

Name = Annotated[
    str, typer.Argument(metavar="NAME", autocompletion=driver_names, help="A driver's name.")
]


@app.command("list", cls=ProfileCommand, epilog="Example: dshloop driver list")
def list_drivers(ctx: typer.Context) -> Result[list[dict[str, Any]]]:
    """List the drivers: of the profile's loops.yml, of installed packages, built-in."""
    run = invocation(ctx)
    with docked(run) as (docking, notices):
        data = [
            {**_as_json(docking, entry), **_model(run, entry), **_engine(run, docking, entry)}
            for entry in docking.drivers.values()
        ]
    rows = [
        (
            one["name"] + (f" (default: {one['default']})" if one["default"] else ""),
            one["from"],
            one["target"] or one["where"],
            _state(one),
        )
        for one in data
    ]
    table = Table(("NAME", "FROM", "WHAT", "STATE"), rows, "no drivers")
    told = [*notices, *docking.notices]
    warnings = [*cautions(docking), *_default_missing(docking)]
    return Result(data, table, notices=told, warnings=warnings)


@app.command(cls=ProfileCommand, epilog="Example: dshloop driver show fake-driver")
def show(ctx: typer.Context, name: Name) -> Result[dict[str, Any]]:
    """Show a driver: where it is from, what names it, which model it asks, what it carries.

    What an engine doesn't get of a loop is refused when a session is opened, never left out unsaid.
    """
    from dshloop.drivers import choose
    from dshloop.loops.carrying import carries_of
    from dshloop.loops.names import listed

    run = invocation(ctx)
    name = choose(name).name
    with docked(run) as (docking, notices):
        entry = docking.require_driver(name)
    config = docking.dock.config
    loops = [one.id for one in docking.loops.values() if one.value and one.value.driver == name]
    routes = [
        *(f"preset {key}" for key, route in config.preset_loops.items() if route.driver == name),
        *(f"session {key}" for key, route in config.session_loops.items() if route.driver == name),
    ]
    data = {**_as_json(docking, entry), "loops": loops, "routes": routes}
    asks = _model(run, entry)
    data["model"] = model = asks.get("model")
    carries = carries_of(entry.value)
    data["carries"] = carries.as_json()
    data |= (engine := _engine(run, docking, entry, ask=True))
    said = {
        "name": name,
        "from": f"{entry.offer.source} ({entry.offer.where})",
        "target": entry.offer.target,
        "default": data["default"],
        "loops": ", ".join(loops),
        "routes": ", ".join(routes),
        "model": model or (_NO_MODEL if asks else None),
        "runs": _program(engine),
        "carries": carries.as_text(),
        "lacks": listed(carries.lacking) if carries.lacking else None,
        "fault": None if entry.fault is None else entry.fault.message,
    }
    lines = [f"{key:<7} {one_line(text)}" for key, text in said.items() if text]
    return Result(data, "\n".join(lines), notices=notices)


_NO_MODEL = "none is set up: dshloop provider list"


@app.command(cls=ProfileCommand, epilog="Example: dshloop driver use fake-driver")
def use(
    ctx: typer.Context, name: Name, force: Force = False, dry_run: DryRun = False
) -> Result[dict[str, Any]]:
    """Make a driver the default of new sessions, in dsh too.

    Writes agent-loops.defaultDriver in dsh's settings.yaml; no profile is needed. Sessions that
    are there keep the driver they were made on.
    """
    from dshloop.drivers import recorded
    from dshloop.files import shown
    from dshloop.host.settings import DshSettings
    from dshloop.journal import Plan
    from dshloop.loops.names import require_driver_name
    from dshloop.loops.settings_default import KEY, NAMESPACE

    run = invocation(ctx)
    name = recorded(require_driver_name(name))
    journal = run.journal_for(dry_run=dry_run)
    warnings: list[Caution] = []
    notices: list[str] = []
    if not force:
        with docked(run) as (docking, notices):
            if not _is_switched_off(docking, name, warnings):
                docking.require_driver(name).require()
    settings = DshSettings(run.places, command=run.command, journal=lambda: journal)
    change = settings.plan(NAMESPACE, {KEY: name})
    file = shown(change.path)
    data = {"driver": name, "file": file, "dry_run": dry_run, "changed": True}
    if change.before == change.after:
        done = {**data, "changed": False}
        return Result(done, "nothing was changed", notices=notices, warnings=warnings)
    if dry_run:
        diff = Plan((change,)).diff()
        told = [*notices, "dry run: nothing was changed"]
        return Result({**data, "diff": diff}, Document(diff), notices=told, warnings=warnings)
    settings.update(NAMESPACE, {KEY: name})
    return Result(data, f"wrote {file}", notices=notices, warnings=warnings)


@app.command(cls=ProfileCommand, epilog="Example: dshloop driver register mine my_package:Driver")
def register(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The driver's name.")],
    target: Annotated[
        str, typer.Argument(metavar="MODULE:OBJECT", help="An import path of a package.")
    ],
    force: Force = False,
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Register a driver in the profile's loops.yml; it is loaded first, to see that it can be."""
    from dshloop.cli.profile.common import meant
    from dshloop.loops.importing import load_driver
    from dshloop.loops.names import require_driver_name
    from dshloop.loops.registering import plan_register, require_target

    run = invocation(ctx)
    meant(run, None)
    require_driver_name(name)
    require_target(target)
    if not force:
        load_driver(target)
    return edit_loops_file(
        run,
        lambda path: plan_register(path, "driver", name, target),
        dry_run=dry_run,
        driver=name,
    )


@app.command(cls=ProfileCommand, epilog="Example: dshloop driver unregister mine")
def unregister(
    ctx: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", autocompletion=registered_drivers, help="The driver's name."
        ),
    ],
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Take a driver out of the profile's loops.yml."""
    from dshloop.loops.registering import plan_unregister

    return edit_loops_file(
        invocation(ctx),
        lambda path: plan_unregister(path, "driver", name),
        dry_run=dry_run,
        driver=name,
    )


@app.command(cls=ProfileCommand, epilog="Example: dshloop driver check --profile web")
def check(ctx: typer.Context) -> Result[list[dict[str, Any]]]:
    """Check that every driver can be loaded, and that the default one is there.

    Of dsh and of ACP agents it also says whether their program is here, and how to get it.
    """
    from dshloop.runs.docks.dock_check import check_docking

    run = invocation(ctx)
    with docked(run) as (docking, notices):
        findings = [
            one
            for one in check_docking(docking, run.places)
            if "DRIVER" in one.code or one.path in docking.drivers or "Driver" in one.path
        ]
        engines = {
            entry.id: _engine(run, docking, entry, ask=True) for entry in docking.drivers.values()
        }
    notices = [*notices, *(_absent(name, one) for name, one in engines.items() if _fault(one))]
    worst = any(one.severity == "error" for one in findings)
    view = "\n".join(one.as_text() for one in findings) or "nothing found"
    code = ExitCode.FAILED if worst else ExitCode.DONE
    return Result([one.as_json() for one in findings], view, notices=notices, exit_code=code)


def _is_switched_off(docking: Docking, name: str, warnings: list[Caution]) -> bool:
    """Let the fake driver be chosen where this profile has it off, and say how to switch it on."""
    rows = docking.rows
    engine = docking.engine
    if name != "fake-driver" or engine is None or engine.fake_driver:
        return False
    if rows is None or rows.engine is None:
        return False
    row = rows.engine.get("id")
    text = f"row {row} of this profile has fakeDriver off, so sessions on it will lack the driver"
    fix = f"dshloop profile set {row}.fakeDriver true"
    warnings.append(Caution(f"{text}\n  {fix}", "MISSING_DRIVER"))
    return True


def _default_missing(docking: Docking) -> Iterator[Caution]:
    """Say that no row of the list is the default, and who wants the one that is missing."""
    from dshloop.loops.resolution import NAMED_BY

    name, origin = docking.dock.default_driver()
    if name not in docking.drivers:
        text = f'the default driver "{name}" is not registered: {NAMED_BY[origin]}'
        yield Caution(text, "MISSING_DRIVER")


def _engine(
    run: Invocation, docking: Docking, entry: Entry[Driver], *, ask: bool = False
) -> dict[str, Any]:
    """Look for the program of a driver that needs one; with ``ask`` it is asked for its version."""
    from dshloop.drivers.engines import CARRIES, usable
    from dshloop.runs.engines import engine_settings

    if entry.offer.source != "built-in" or entry.id not in CARRIES:
        return {}
    settings = engine_settings(
        run.places, variables=run.env.variables, config=run.config, row=docking.engine
    )
    found = usable(entry.id, settings, ask=ask)
    fault = None if found.fault is None else found.fault.as_json()
    return {"program": found.program, "version": found.version, "engine_fault": fault}


def _model(run: Invocation, entry: Entry[Driver]) -> dict[str, str | None]:
    """Say which model the standard engine asks; nothing of other drivers."""
    from dshloop.drivers import DEFAULT

    asks = entry.id == DEFAULT and entry.offer.source == "built-in"
    return {"model": answering_model(run)} if asks else {}


def _fault(engine: dict[str, Any]) -> dict[str, Any] | None:
    found: dict[str, Any] | None = engine.get("engine_fault")
    return found


def _state(one: dict[str, Any]) -> str:
    fault = one["fault"] or _fault(one)
    if fault:
        return str(fault["code"])
    return "no model" if one.get("model", "") is None else "ready"


def _program(engine: dict[str, Any]) -> str | None:
    """Say what runs, or why nothing can and what to do."""
    fault = _fault(engine)
    if fault is not None:
        return f"nothing here: {fault['message']}. {fault['hint']}"
    version = engine.get("version")
    return engine.get("program") and f"{engine['program']}{f' ({version})' if version else ''}"


def _absent(name: str, engine: dict[str, Any]) -> str:
    fault = _fault(engine)
    assert fault is not None
    return f"driver {name} can't run here: {fault['message']}. {fault['hint']}"


def _as_json(docking: Docking, entry: Entry[Driver]) -> dict[str, Any]:
    name, origin = docking.dock.default_driver()
    default = origin if name == entry.id else None
    return {"name": entry.id, "default": default, **entry.as_json()}
