"""What the verbs of `dshloop plugin` share: the profile that is meant, and how answers look."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.inbox import notices as dsh_notices
from dshloop.cli.inbox import user_inbox
from dshloop.cli.invocation import Invocation
from dshloop.cli.params import invocation, new_app
from dshloop.result import Caution, Document, Result, View

if TYPE_CHECKING:
    from dshloop.dsh import Program
    from dshloop.profiles.checks.findings import Finding
    from dshloop.profiles.inbox.source import Inbox
    from dshloop.profiles.layout import Profile
    from dshloop.profiles.plugins.changing import Outcome, PluginChange, Request

app = new_app(
    "plugin", "Add, remove, update, switch and look into the plugins of a profile.", profile=True
)

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be written, and change nothing.")
]
Force = Annotated[bool, typer.Option("--force", help="Go on in spite of errors that are found.")]
AllowBuild = Annotated[
    bool,
    typer.Option(
        "--allow-build",
        help="Let the packages run their install scripts; records it in pnpm-workspace.yaml.",
    ),
]


def installed_names(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    """Offer the plugins of the profile that is meant."""
    from dshloop.profiles.view import list_plugins

    lines = list_plugins(meant(invocation(ctx)))
    return [(line.name, line.state) for line in lines if line.name.startswith(incomplete)]


Names = Annotated[
    list[str],
    typer.Argument(metavar="NAME...", autocompletion=installed_names, help="The plugins."),
]
Name = Annotated[
    str, typer.Argument(metavar="NAME", autocompletion=installed_names, help="The plugin.")
]


def meant(run: Invocation, *, writing: bool = False) -> Profile:
    """Give the profile that is named; a writer may name one that isn't there yet."""
    from dshloop.profiles.layout import choose_profile, find_profile, profile_at

    configured = None if run.profile is not None else run.config.get("profile")
    name = choose_profile(run.places, run.profile, run.env.variables, configured)
    return profile_at(run.places, name) if writing else find_profile(run.places, name)


@contextmanager
def opened(
    run: Invocation, doing: str, *, dry_run: bool, force: bool = False, allow_build: bool = False
) -> Iterator[tuple[Request, Inbox | None]]:
    """Give a writer's request with the user's dsh at hand, and show progress while it is used."""
    with user_inbox(run, silent=True) as inbox:
        request = request_for(run, dry_run=dry_run, force=force, inbox=inbox)
        request = _with(request, allow_build=allow_build)
        with run.progress(f"{doing} {request.profile.name}"):
            yield request, inbox


def request_for(
    run: Invocation,
    *,
    profile: Profile | None = None,
    dry_run: bool = False,
    force: bool = False,
    inbox: Inbox | None = None,
) -> Request:
    """Give the request of this run on the profile that is meant."""
    from dshloop.dsh import find_program, version_of
    from dshloop.profiles.plugins.changing import Request
    from dshloop.profiles.plugins.compatibility import Engines

    def ask(program: Program, variables: Mapping[str, str]) -> str | None:
        known = program.name == "dsh" and inbox is not None
        return inbox.version if known and inbox else version_of(program, variables)

    variables = run.env.variables
    dsh, node = find_program("dsh", variables), find_program("node", variables)
    engines = Engines(dsh, node, variables, ask)
    return Request(
        run.places,
        run.journal_for(dry_run=dry_run),
        profile or meant(run, writing=True),
        run.env.cwd,
        variables,
        run.command,
        find_program("pnpm", variables),
        dry_run,
        force,
        inbox,
        engines=engines,
    )


def _with(request: Request, *, allow_build: bool) -> Request:
    from dataclasses import replace

    return replace(request, allow_build=allow_build)


def answer(
    outcome: Outcome, notices: list[str], inbox: Inbox | None = None
) -> Result[dict[str, Any]]:
    """Give what a writer answers: a line for each plugin, or the diff of a dry run."""
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
    found = [as_caution(finding) for finding in outcome.findings if finding.severity != "info"]
    notices = [*dsh_notices(inbox), *notices]
    return Result(outcome.as_json(), view, notices=notices, warnings=[*found, *cautions, *left])


def as_caution(finding: Finding) -> Caution:
    """Give a finding as a warning beside an answer."""
    from dshloop.profiles.checks.findings import where_text

    where = where_text(finding.place)
    fix = finding.fix or finding.kind.fix
    text = f"{finding.why}{f' [{where}]' if where else ''}\n  {fix}"
    return Caution(text, finding.code, details=finding.as_json())


def after_change(outcome: Outcome) -> list[str]:
    """Say where a change acts, what needs a restart and how the profile boots."""
    from dshloop.profiles.plugins.changing import boot_command

    if not outcome.changed:
        return ["all was so already; nothing was changed"]
    ran = [
        f"Ran the install scripts of {key}; pnpm-workspace.yaml allows them"
        for key in outcome.allowed
    ]
    return [*ran, f"A running dsh needs a restart. To boot: {boot_command(outcome.profile)}"]


def _line(outcome: Outcome, plugin: PluginChange) -> str:
    version = f" {plugin.version}" if plugin.version else ""
    profile = f"profile {outcome.profile.name}"
    if plugin.state == "removed":
        return f"removed {plugin.name}{version} from {profile}"
    if plugin.state == "disabled":
        return f"disabled {plugin.name}{version} in {profile}; it stays installed"
    if plugin.state == "unchanged" and plugin.why:
        return f"unchanged {plugin.name}{version}: {plugin.why}"
    if plugin.state == "updated" and plugin.was and plugin.was != plugin.version:
        version = f" {plugin.was} -> {plugin.version}"
    role = f"layer {plugin.layer} of {len(outcome.bundles)}" if plugin.layer else "no layer"
    where = f"{'to' if plugin.state == 'added' else 'in'} {profile}"
    spec = f", {plugin.spec}" if plugin.spec else ""
    return f"{plugin.state} {plugin.name}{version} {where}: {role}{spec}"
