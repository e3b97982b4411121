"""`dshloop plugin`: the packages that a profile's layers and rows come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.inbox import notices as dsh_notices
from dshloop.cli.inbox import user_inbox
from dshloop.cli.invocation import Invocation
from dshloop.cli.params import ProfileCommand, invocation, new_app
from dshloop.result import Caution, Document, Result, Table, View

if TYPE_CHECKING:
    from dshloop.profiles.changing import Outcome, PluginChange, Request
    from dshloop.profiles.inbox import Inbox
    from dshloop.profiles.layout import Profile

app = new_app("plugin", "Add, remove and list the plugins of a profile.", profile=True)

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be written, and change nothing.")
]


def installed_names(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    """Offer the plugins of the profile that is meant."""
    from dshloop.profiles.view import list_plugins

    lines = list_plugins(_meant(invocation(ctx)))
    return [(line.name, line.state) for line in lines if line.name.startswith(incomplete)]


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
    force: Annotated[
        bool, typer.Option("--force", help="Add even where a row id is taken.")
    ] = False,
) -> Result[dict[str, Any]]:
    """Add plugins to a profile, all of them or none.

    Looks into each package first and refuses what would break the next boot. Creates the profile
    when it is missing, as dsh does. Uses pnpm when it is on PATH; folders and archives without
    dependencies need none.
    """
    from dshloop.profiles.install import add_plugins

    run = invocation(ctx)
    with user_inbox(run, silent=True) as inbox:
        request = _request(run, writing=True, dry_run=dry_run, force=force, inbox=inbox)
        with run.progress(f"adding to {request.profile.name}"):
            outcome = add_plugins(request, specs)
    return _result(outcome, [*dsh_notices(inbox), *_after_add(outcome)])


@app.command(cls=ProfileCommand)
def remove(
    ctx: typer.Context,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...", autocompletion=installed_names, help="The plugins to remove."
        ),
    ],
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Remove plugins from a profile: dependency, layer and installed files."""
    from dshloop.profiles.install import remove_plugins

    run = invocation(ctx)
    request = _request(run, writing=True, dry_run=dry_run)
    with run.progress(f"removing from {request.profile.name}"):
        outcome = remove_plugins(request, names)
    return _result(outcome, _after_remove(outcome))


@app.command("list", cls=ProfileCommand)
def list_all(ctx: typer.Context) -> Result[list[dict[str, Any]]]:
    """List the plugins of a profile, active or not."""
    from dshloop.profiles.view import list_plugins

    profile = _meant(invocation(ctx))
    lines = list_plugins(profile)
    rows = [(line.name, line.version or "-", line.state, line.spec) for line in lines]
    table = Table(
        ("NAME", "VERSION", "STATE", "SPEC"), rows, f"Profile {profile.name} has no plugins."
    )
    return Result([line.as_json() for line in lines], table)


def _meant(run: Invocation, *, writing: bool = False) -> Profile:
    """Give the profile that is named; a writer may name one that isn't there yet."""
    from dshloop.profiles.layout import choose_profile, find_profile, profile_at

    configured = None if run.profile is not None else run.config.get("profile")
    name = choose_profile(run.places, run.profile, run.env.variables, configured)
    return profile_at(run.places, name) if writing else find_profile(run.places, name)


def _request(
    run: Invocation,
    *,
    writing: bool,
    dry_run: bool = False,
    force: bool = False,
    inbox: Inbox | None = None,
) -> Request:
    from dshloop.dsh import find_program
    from dshloop.profiles.changing import Request

    variables = run.env.variables
    return Request(
        run.places,
        run.history if dry_run else run.journal,
        _meant(run, writing=writing),
        run.env.cwd,
        variables,
        run.command,
        find_program("pnpm", variables),
        dry_run,
        force,
        inbox,
    )


def _result(outcome: Outcome, notices: list[str]) -> Result[dict[str, Any]]:
    view: View = "\n".join(_line(outcome, plugin) for plugin in outcome.plugins)
    if outcome.dry_run:
        view, notices = Document(outcome.diff), ["dry run: nothing was changed"]
    cautions = [Caution(text, "PLUGIN_CAUTION") for text in outcome.cautions]
    left = [
        Caution(
            f"{row.file} still speaks of {row.plugin}: row {row.row}",
            "ROW_LEFT",
            details=row.as_json(),
        )
        for row in outcome.left
    ]
    return Result(outcome.as_json(), view, notices=notices, warnings=[*cautions, *left])


def _line(outcome: Outcome, plugin: PluginChange) -> str:
    version = f" {plugin.version}" if plugin.version else ""
    if plugin.state == "removed":
        return f"removed {plugin.name}{version} from profile {outcome.profile.name}"
    role = f"layer {plugin.layer} of {len(outcome.bundles)}" if plugin.layer else "no layer"
    where = f"{'to' if plugin.state == 'added' else 'in'} profile {outcome.profile.name}"
    return f"{plugin.state} {plugin.name}{version} {where}: {role}, {plugin.spec}"


def _after_add(outcome: Outcome) -> list[str]:
    from dshloop.profiles.changing import boot_command

    profile = outcome.profile
    if not outcome.changed:
        return ["all was so already; nothing was changed"]
    created = [f"initialized profile {profile.name} at {profile.folder}"] if outcome.created else []
    layers = [plugin.name for plugin in outcome.plugins if plugin.layer]
    landed = [
        f"The layer{'s' * (len(layers) > 1)} took effect through dsh.profile.bundles in "
        f"{profile.manifest}; cordis.patch.yml stays yours and unchanged."
    ]
    return [
        *created,
        *(landed if layers else []),
        f"A running dsh needs a restart. To boot: {boot_command(profile)}",
    ]


def _after_remove(outcome: Outcome) -> list[str]:
    from dshloop.profiles.changing import boot_command

    return [f"A running dsh needs a restart. To boot: {boot_command(outcome.profile)}"]
