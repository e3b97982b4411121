"""The verbs that change a profile's plugins, each as one transaction."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dshloop.cli.params import ProfileCommand, invocation
from dshloop.cli.plugin.common import (
    AllowBuild,
    DryRun,
    Force,
    Names,
    after_change,
    answer,
    app,
    installed_names,
    opened,
)
from dshloop.result import Result


@app.command(cls=ProfileCommand)
def add(
    ctx: typer.Context,
    specs: Annotated[
        list[str],
        typer.Argument(
            metavar="SPEC...",
            help="A folder (./plugin), an archive (./plugin.tgz), or, with pnpm, a package name, "
            "alias@npm:name, https:// archive or git address.",
        ),
    ],
    dry_run: DryRun = False,
    force: Force = False,
    allow_build: AllowBuild = False,
) -> Result[dict[str, Any]]:
    """Add plugins to a profile, all of them or none.

    Looks into each package first and refuses what would break the next boot. Creates the profile
    when it is missing, as dsh does. Uses pnpm when it is on PATH; folders and archives without
    dependencies need none.
    """
    from dshloop.profiles.plugins.install import add_plugins

    run = invocation(ctx)
    with opened(run, "adding to", dry_run=dry_run, force=force, allow_build=allow_build) as (
        request,
        inbox,
    ):
        outcome = add_plugins(request, specs)
    profile = outcome.profile
    created = [f"initialized profile {profile.name} at {profile.folder}"] if outcome.created else []
    layers = [plugin.name for plugin in outcome.plugins if plugin.layer]
    landed = [
        f"The layer{'s' * (len(layers) > 1)} took effect through dsh.profile.bundles in "
        f"{profile.manifest}; cordis.patch.yml stays yours and unchanged."
    ]
    told = [*created, *(landed if layers else [])] if outcome.changed else []
    return answer(outcome, [*told, *after_change(outcome)], inbox)


@app.command(cls=ProfileCommand)
def remove(ctx: typer.Context, names: Names, dry_run: DryRun = False) -> Result[dict[str, Any]]:
    """Remove plugins from a profile: dependency, layer and installed files."""
    from dshloop.profiles.plugins.install import remove_plugins

    with opened(invocation(ctx), "removing from", dry_run=dry_run) as (request, _):
        outcome = remove_plugins(request, names)
    return answer(outcome, after_change(outcome))


@app.command(cls=ProfileCommand)
def update(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            autocompletion=installed_names,
            help="The plugins to update; all when none is named.",
        ),
    ] = None,
    latest: Annotated[
        bool, typer.Option("--latest", help="Move beyond ranges and pins, to the newest version.")
    ] = False,
    dry_run: DryRun = False,
    force: Force = False,
    allow_build: AllowBuild = False,
) -> Result[dict[str, Any]]:
    """Update plugins: what can move moves, the rest says why it doesn't.

    Registry packages move to the newest version in their range; archives and copied folders are
    read again; a linked folder is always what it is.
    """
    from dshloop.profiles.plugins.update import update_plugins

    run = invocation(ctx)
    with opened(run, "updating", dry_run=dry_run, force=force, allow_build=allow_build) as (
        request,
        inbox,
    ):
        outcome = update_plugins(request, names or [], latest=latest)
    return answer(outcome, after_change(outcome), inbox)


@app.command(cls=ProfileCommand)
def disable(
    ctx: typer.Context,
    names: Names,
    reason: Annotated[
        str | None,
        typer.Option("--reason", metavar="TEXT", help="Why, to be shown by plugin list."),
    ] = None,
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Switch plugins off; they stay installed, and no command of dsh brings them back.

    A disabled plugin is off the bundle list, and its dependency is kept under devDependencies,
    from which dsh activates nothing.
    """
    from dshloop.profiles.plugins.switch import disable_plugins

    run = invocation(ctx)
    with opened(run, "changing", dry_run=dry_run) as (request, _):
        outcome = disable_plugins(request, names, reason=reason, now=run.env.clock())
    return answer(outcome, after_change(outcome))


@app.command(cls=ProfileCommand)
def enable(
    ctx: typer.Context, names: Names, dry_run: DryRun = False, force: Force = False
) -> Result[dict[str, Any]]:
    """Switch plugins on again, each at its old place in the order of layers."""
    from dshloop.profiles.plugins.switch import enable_plugins

    with opened(invocation(ctx), "changing", dry_run=dry_run, force=force) as (request, inbox):
        outcome = enable_plugins(request, names)
    return answer(outcome, after_change(outcome), inbox)
