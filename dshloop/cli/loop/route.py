"""The verbs that change which loop sessions get: the default loop, and routes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.dock_complete import new_route_keys, route_keys, route_targets
from dshloop.cli.docked import DryRun, Force, Layer, Yes, docked, edit_dock
from dshloop.cli.invocation import Invocation
from dshloop.cli.loop.common import app
from dshloop.cli.loop.look import LoopId
from dshloop.cli.params import ProfileCommand, invocation
from dshloop.errors import InvalidConfigError, UsageError
from dshloop.result import Caution, Result

if TYPE_CHECKING:
    from dshloop.loops.edit import RouteMap
    from dshloop.loops.selection import Route
    from dshloop.profiles.edits.desk import Desk
    from dshloop.profiles.edits.layer_edit import LayerEdit

_KEY = "A preset's or session's id."
NewKey = Annotated[str, typer.Argument(metavar="KEY", autocompletion=new_route_keys, help=_KEY)]
Key = Annotated[str, typer.Argument(metavar="KEY", autocompletion=route_keys, help=_KEY)]
ForSession = Annotated[bool, typer.Option("--session", help="KEY is the id of a session.")]
ForPreset = Annotated[bool, typer.Option("--preset", help="KEY is the id of a preset.")]


@app.command(cls=ProfileCommand, epilog="Example: dshloop loop use careful --profile web")
def use(
    ctx: typer.Context,
    loop: LoopId,
    layer: Layer = "profile",
    yes: Yes = False,
    force: Force = False,
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Make a loop the default: for new sessions that no route and nobody else sends elsewhere."""
    from dshloop.loops.edit import use_loop
    from dshloop.loops.selection import Route

    run = invocation(ctx)
    warnings = _known(run, Route(loop), force)
    result = edit_dock(
        run, lambda desk: use_loop(desk, loop), layer=layer, dry_run=dry_run, yes=yes, loop=loop
    )
    return result._replace(warnings=[*result.warnings, *warnings])


@app.command(
    cls=ProfileCommand, epilog="Example: dshloop loop route code careful+fake-driver --profile web"
)
def route(
    ctx: typer.Context,
    key: NewKey,
    target: Annotated[
        str,
        typer.Argument(
            metavar="LOOP[+DRIVER]", autocompletion=route_targets, help="The loop, and its driver."
        ),
    ],
    session: ForSession = False,
    preset: ForPreset = False,
    layer: Layer = "profile",
    yes: Yes = False,
    force: Force = False,
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Send a preset's sessions, or one session, to a loop and if you like to a driver.

    Without --session KEY is a preset.
    """
    from dshloop.loops.edit import set_route

    run = invocation(ctx)
    where = (_maps(session, preset) or ["presetLoops"])[0]
    if not key:
        raise UsageError("KEY is empty, and no preset or session has an empty id")
    wanted = _target(target)
    warnings = _known(run, wanted, force)

    def work(desk: Desk) -> LayerEdit:
        return set_route(desk, where, key, wanted)

    about = {"map": where, "key": key, **wanted.as_json()}
    result = edit_dock(run, work, layer=layer, dry_run=dry_run, yes=yes, **about)
    return result._replace(warnings=[*result.warnings, *warnings])


@app.command(cls=ProfileCommand, epilog="Example: dshloop loop unroute code --profile web")
def unroute(
    ctx: typer.Context,
    key: Key,
    session: ForSession = False,
    preset: ForPreset = False,
    layer: Layer = "profile",
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Take a route away; its sessions go where the default sends them."""
    from dshloop.loops.edit import ROUTE_MAPS, remove_route, routes_of

    maps = _maps(session, preset)

    def work(desk: Desk) -> LayerEdit:
        if not maps and len(routes_of(desk, key)) > 1:
            raise UsageError(f'"{key}" is routed both as a preset and as a session: say which')
        return remove_route(desk, maps or ROUTE_MAPS, key)

    return edit_dock(invocation(ctx), work, layer=layer, dry_run=dry_run, yes=False, key=key)


def _maps(session: bool, preset: bool) -> list[RouteMap]:
    if session and preset:
        raise UsageError("--session and --preset exclude each other")
    return ["sessionLoops"] if session else ["presetLoops"] if preset else []


def _target(text: str) -> Route:
    """Read LOOP[+DRIVER]. Raises INVALID_LOOP_ID and INVALID_DRIVER."""
    from dshloop.drivers import recorded
    from dshloop.loops.names import require_driver_name, require_loop_id
    from dshloop.loops.selection import Route

    loop, plus, driver = text.partition("+")
    return Route(require_loop_id(loop), recorded(require_driver_name(driver)) if plus else None)


def _known(run: Invocation, route: Route, force: bool) -> list[Caution]:
    """See that loop and driver are there; what only dsh can run is written with a warning.

    Raises UNKNOWN_LOOP, UNKNOWN_DRIVER, why one of them can't be loaded and, for a driver on a
    driver loop, INVALID_CONFIG.
    """
    from dshloop.cli.profile.common import meant
    from dshloop.runs.docks.hints import ONLY_DSH

    meant(run, None)  # writers need a profile
    if force:
        return []
    with docked(run) as (docking, _):
        foreign = docking.rows.foreign_loops() if docking.rows is not None else {}
        if route.loop in foreign and route.loop not in docking.loops:
            text = f'{foreign[route.loop]} registers loop "{route.loop}" in JavaScript'
            return [Caution(f"{text}: {ONLY_DSH}", "FOREIGN_LOOP")]
        loop = docking.require_loop(route.loop).require()
        if route.driver is not None:
            docking.require_driver(route.driver).require()
    if route.driver is not None and loop.kind == "driver":
        raise InvalidConfigError(
            f'driver selection is only valid for strategy loops; "{loop.id}" is a driver loop',
            hint=f'"{loop.id}" brings its own engine; leave the driver out.',
            path="driver",
        )
    return []
