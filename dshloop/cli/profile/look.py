"""The verbs that show profiles and what they compose to."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dshloop.cli.inbox import notices, user_inbox
from dshloop.cli.params import ProfileCommand, invocation
from dshloop.cli.profile.common import Name, app, cautions, file_at, meant, warned
from dshloop.errors import ExitCode, UsageError
from dshloop.result import Caution, Document, Result, Table


@app.command("list", cls=ProfileCommand, epilog="Example: dshloop profile list --json")
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


@app.command(cls=ProfileCommand, epilog="Example: dshloop profile show web")
def show(ctx: typer.Context, name: Name = None) -> Result[dict[str, Any]]:
    """Show the layers of a profile and what dsh would skip."""
    from dshloop.profiles.view import show_profile

    run = invocation(ctx)
    with user_inbox(run) as inbox:
        view = show_profile(meant(run, name), inbox)
    return Result(
        view.as_json(),
        view.as_text(),
        notices=notices(inbox),
        warnings=list(warned(view.composition)),
    )


@app.command(cls=ProfileCommand, epilog="Example: dshloop profile dump web --patch try.yml")
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
    """Print what a profile composes to.

    Byte for byte as dsh --dump-config does.
    """
    from dshloop.profiles.compose import compose, compose_json, dump_text
    from dshloop.profiles.stack import stack_layers

    if default and patch:
        raise UsageError("--default prints the bundle layers and takes no --patch")
    run = invocation(ctx)
    profile = meant(run, name)
    patches = [file_at(run, text) for text in patch or ()]
    with user_inbox(run) as inbox:
        stack = stack_layers(profile, patches=patches, bundles_only=default, inbox=inbox)
    composition = compose(stack.layers)
    text = dump_text(composition)
    skipped = [{"bundle": one.bundle, "reason": one.reason} for one in stack.skipped]
    data: dict[str, Any] = {"profile": profile.name, "skipped": skipped, "text": text}
    if run.json:  # costs as much as the dump itself
        data = {"profile": profile.name, **compose_json(composition), **data}
    return Result(
        data,
        Document(text),
        notices=notices(inbox),
        warnings=list(cautions(stack, composition)),
        exit_code=ExitCode.FAILED if strict and skipped else ExitCode.DONE,
    )


@app.command(cls=ProfileCommand, epilog="Example: dshloop profile compose base.yml mine.yml")
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
    composition = compose([read_layer(file_at(run, text), text) for text in layers])
    view = Document(dump_text(composition))
    return Result(compose_json(composition), view, warnings=list(warned(composition)))


def _bundle_text(bundle: Any) -> str:
    """Show a member of a bundle list; one that is no text as JSON."""
    from dshloop.dsh_yaml.stringify import stringify

    return bundle if isinstance(bundle, str) else stringify(bundle)
