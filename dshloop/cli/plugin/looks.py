"""The verbs that look at a profile's plugins and change nothing."""

from __future__ import annotations

from typing import Any

import typer

from dshloop.cli.inbox import notices, user_inbox
from dshloop.cli.params import ProfileCommand, invocation
from dshloop.cli.plugin.common import Name, app, meant
from dshloop.result import Result, Table


@app.command("list", cls=ProfileCommand)
def list_all(ctx: typer.Context) -> Result[list[dict[str, Any]]]:
    """List the plugins of a profile, active or not."""
    from dshloop.profiles.view import list_plugins

    profile = meant(invocation(ctx))
    lines = list_plugins(profile)
    rows = [(line.name, line.version or "-", line.state, line.spec) for line in lines]
    table = Table(
        ("NAME", "VERSION", "STATE", "SPEC"), rows, f"Profile {profile.name} has no plugins."
    )
    return Result([line.as_json() for line in lines], table)


@app.command(cls=ProfileCommand)
def outdated(ctx: typer.Context) -> Result[list[dict[str, Any]]]:
    """List which plugins have newer versions, and why one doesn't move by itself.

    CURRENT is installed, WANTED is what plugin update brings, LATEST the newest there is.
    """
    from dshloop.dsh import find_program
    from dshloop.profiles.plugins.outdated import find_outdated

    run = invocation(ctx)
    profile, variables = meant(run), run.env.variables
    with run.progress("asking the registry"):
        ages = find_outdated(profile, variables, find_program("pnpm", variables))
    rows = [
        (age.name, age.current or "-", age.wanted or "-", age.latest or "-", age.why)
        for age in ages
    ]
    table = Table(
        ("NAME", "CURRENT", "WANTED", "LATEST", "WHY"),
        rows,
        f"Profile {profile.name} has no plugins.",
    )
    return Result([age.as_json() for age in ages], table)


@app.command(cls=ProfileCommand)
def show(ctx: typer.Context, name: Name) -> Result[dict[str, Any]]:
    """Show one plugin: version, spec, layer, its rows and what patches them, files, peers."""
    from dshloop.profiles.plugins.view import show_plugin

    run = invocation(ctx)
    with user_inbox(run) as inbox:
        found = show_plugin(meant(run), name, inbox)
    return Result(found.as_json(), found.as_text(), notices=notices(inbox))


@app.command(cls=ProfileCommand)
def why(ctx: typer.Context, name: Name) -> Result[dict[str, Any]]:
    """Say why a plugin is installed, active, off or skipped, and what depends on it."""
    from dshloop.profiles.plugins.why import why_plugin

    run = invocation(ctx)
    with user_inbox(run) as inbox:
        found = why_plugin(meant(run), name, inbox, run.history)
    return Result(found.as_json(), found.as_text(), notices=notices(inbox))
