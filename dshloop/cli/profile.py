"""`dshloop profile`: DSH profiles, their layers and what they compose to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.complete import profile_names
from dshloop.cli.inbox import notices, user_inbox
from dshloop.cli.invocation import Invocation
from dshloop.cli.params import ProfileCommand, invocation, new_app
from dshloop.errors import ExitCode, UsageError
from dshloop.result import Caution, Document, Result, Table

if TYPE_CHECKING:
    from dshloop.profiles.compose import Composition
    from dshloop.profiles.layout import Profile
    from dshloop.profiles.stack import Stack

app = new_app("profile", "Show, compose and create DSH profiles.", profile=True)

Name = Annotated[
    str | None,
    typer.Argument(metavar="NAME", autocompletion=profile_names, help="The profile."),
]


@app.command("list", cls=ProfileCommand)
def list_all(ctx: typer.Context) -> Result[list[dict[str, Any]]]:
    """List the profiles of this DSH home.

    The default one, which `profile use` sets, is marked with *.
    """
    from dshloop.profiles.view import list_profiles

    run = invocation(ctx)
    lines = list_profiles(run.places, run.config.get("profile"))
    rows = [
        (
            f"{'* ' if line.default else '  '}{line.name}",
            ", ".join(map(_bundle_text, line.bundles)) or "none",
            str(line.plugins),
        )
        for line in lines
    ]
    empty = f"No profiles in {run.places.profiles}. To make one: dshloop profile create NAME"
    table = Table(("  NAME", "BUNDLES", "PLUGINS"), rows, empty)
    faults = [Caution(line.fault, "MANIFEST_INVALID") for line in lines if line.fault]
    return Result([line.as_json() for line in lines], table, warnings=faults)


@app.command(cls=ProfileCommand)
def create(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the new profile.")],
    template: Annotated[
        str | None,
        typer.Option(
            "--template",  # Typer 0.27 would make --TEMPLATE of the metavar
            metavar="TEMPLATE",
            help="web, headless, sdk, sdk-minimal, acp, base or empty (default: by the name, "
            "else base).",
        ),
    ] = None,
) -> Result[dict[str, Any]]:
    """Create a profile with the files that dsh gives a new one."""
    import shlex

    from dshloop.profiles.create import create_profile

    run = invocation(ctx)
    profile, bundles = create_profile(
        run.places, run.journal, name, template=template, command=run.command, cwd=run.env.cwd
    )
    data = {"name": name, "folder": str(profile.folder), "bundles": list(bundles)}
    layers = ", ".join(bundles) or "no bundles"
    next_step = f"To add a plugin: dshloop plugin add SPEC --profile {shlex.quote(name)}"
    view = f"created profile {name} in {profile.folder} with {layers}"
    return Result(data, view, notices=[next_step])


@app.command(cls=ProfileCommand)
def use(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", autocompletion=profile_names, help="The profile.")
    ],
) -> Result[dict[str, Any]]:
    """Make a profile the one that is meant when none is named."""
    from dshloop.config import plan_set, write_config
    from dshloop.profiles.layout import find_profile

    run = invocation(ctx)
    find_profile(run.places, name)
    write_config(run.journal, plan_set(run.places, "profile", name), command=run.command)
    data = {"profile": name, "config": str(run.places.config_file)}
    return Result(data, f"{name} is the default profile now (in {run.places.config_file})")


@app.command(cls=ProfileCommand)
def show(ctx: typer.Context, name: Name = None) -> Result[dict[str, Any]]:
    """Show the layers of a profile, what dsh would skip, and how many rows come out."""
    from dshloop.profiles.view import show_profile

    run = invocation(ctx)
    with user_inbox(run) as inbox:
        view = show_profile(_meant(run, name), inbox)
    return Result(
        view.as_json(),
        view.as_text(),
        notices=notices(inbox),
        warnings=list(_warned(view.composition)),
    )


@app.command(cls=ProfileCommand)
def dump(
    ctx: typer.Context,
    name: Name = None,
    patch: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="A further patch file, applied last; may be repeated."),
    ] = None,
    default: Annotated[
        bool, typer.Option("--default", help="Only the bundles, without any patch file.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 when a bundle is skipped.")
    ] = False,
) -> Result[dict[str, Any]]:
    """Print what a profile composes to, byte for byte as dsh --dump-config does."""
    from dshloop.profiles.compose import compose, compose_json, dump_text
    from dshloop.profiles.stack import stack_layers

    if default and patch:
        raise UsageError("--default prints the bundle layers and takes no --patch")
    run = invocation(ctx)
    profile = _meant(run, name)
    patches = [_path(run, text) for text in patch or ()]
    with user_inbox(run) as inbox:
        stack = stack_layers(profile, patches=patches, bundles_only=default, inbox=inbox)
    composition = compose(stack.layers)
    text = dump_text(composition)
    skipped = [{"bundle": one.bundle, "reason": one.reason} for one in stack.skipped]
    data = {"profile": profile.name, **compose_json(composition), "skipped": skipped, "text": text}
    return Result(
        data,
        Document(text),
        notices=notices(inbox),
        warnings=list(_cautions(stack, composition)),
        exit_code=ExitCode.FAILED if strict and skipped else ExitCode.DONE,
    )


@app.command(cls=ProfileCommand)
def compose(
    ctx: typer.Context,
    layers: Annotated[
        list[str], typer.Argument(metavar="LAYER...", help="Patch files, the lowest first.")
    ],
) -> Result[dict[str, Any]]:
    """Compose patch files that need not belong to a profile."""
    from dshloop.profiles.compose import compose, compose_json, dump_text
    from dshloop.profiles.layers import read_layer

    run = invocation(ctx)
    composition = compose([read_layer(_path(run, text), text) for text in layers])
    view = Document(dump_text(composition))
    return Result(compose_json(composition), view, warnings=list(_warned(composition)))


def _bundle_text(bundle: Any) -> str:
    """Show a member of a bundle list; one that is no text as JSON."""
    from dshloop.dsh_yaml.stringify import stringify

    return bundle if isinstance(bundle, str) else stringify(bundle)


def _meant(run: Invocation, name: str | None) -> Profile:
    """Give the profile that an argument, --profile, a variable or config.yml names."""
    from dshloop.profiles.layout import choose_profile, find_profile

    if name is not None and run.profile is not None and name != run.profile:
        raise UsageError(f"two profiles are named: {name} and --profile {run.profile}")
    named = name if name is not None else run.profile
    configured = None if named is not None else run.config.get("profile")
    chosen = choose_profile(run.places, named, run.env.variables, configured)
    return find_profile(run.places, chosen)


def _path(run: Invocation, text: str) -> Path:
    from dshloop.paths import absolute

    if not text:
        raise UsageError("a patch file needs a path")
    return absolute(text, run.env.cwd, run.env.variables)


def _cautions(stack: Stack, composition: Composition) -> Iterator[Caution]:
    for one in stack.skipped:
        details = {"bundle": one.bundle, "reason": one.reason}
        yield Caution(one.line.removeprefix("dsh: "), "BUNDLE_SKIPPED", one.line, details)
    yield from _warned(composition)


def _warned(composition: Composition) -> Iterator[Caution]:
    for layer, message in composition.warnings:
        line = f"dsh: [{layer}] {message}"
        yield Caution(message, "PATCH_SKIPPED", line, {"layer": layer})
