"""The verbs that make, name and take away whole profiles."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.complete import profile_names
from dshloop.cli.params import ProfileCommand, invocation
from dshloop.cli.profile.common import DryRun, app
from dshloop.result import Document, Result

if TYPE_CHECKING:
    from dshloop.journal import Change
    from dshloop.profiles.whole import Moved

Source = Annotated[
    str, typer.Argument(metavar="NAME", autocompletion=profile_names, help="The profile.")
]
NewName = Annotated[str, typer.Argument(metavar="NEW", help="The new name.")]


@app.command(cls=ProfileCommand, epilog="Example: dshloop profile create work --template web")
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
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Create a profile with the files that dsh gives a new one."""
    from dshloop.profiles.create import create_profile

    run = invocation(ctx)
    profile, bundles, changes = create_profile(
        run.places,
        run.journal_for(dry_run=dry_run),
        name,
        template=template,
        command=run.command,
        cwd=run.env.cwd,
        dry_run=dry_run,
    )
    data = {
        "name": name,
        "folder": str(profile.folder),
        "bundles": list(bundles),
        "dry_run": dry_run,
    }
    if dry_run:
        return _planned(data, changes)
    layers = ", ".join(bundles) or "no bundles"
    next_step = f"To add a plugin: dshloop plugin add SPEC --profile {shlex.quote(name)}"
    view = f"created profile {name} in {profile.folder} with {layers}"
    return Result(data, view, notices=[next_step])


@app.command(cls=ProfileCommand, epilog="Example: dshloop profile use web")
def use(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", autocompletion=profile_names, help="The profile.")
    ],
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Make a profile the one that is meant when none is named."""
    from dshloop.config import plan_set, write_config
    from dshloop.profiles.layout import find_profile

    run = invocation(ctx)
    find_profile(run.places, name)
    journal = run.journal_for(dry_run=dry_run)
    change = plan_set(run.places, "profile", name)
    data = {"profile": name, "config": str(run.places.config_file), "dry_run": dry_run}
    if dry_run:
        return _planned(data, [change])
    write_config(journal, change, command=run.command)
    return Result(data, f"{name} is the default profile now (in {run.places.config_file})")


@app.command(cls=ProfileCommand, epilog="Example: dshloop profile copy web web-test")
def copy(
    ctx: typer.Context, name: Source, new: NewName, dry_run: DryRun = False
) -> Result[dict[str, Any]]:
    """Copy a profile and all that is in it."""
    from dshloop.profiles.layout import profile_at
    from dshloop.profiles.whole import copy_profile

    run = invocation(ctx)
    source, journal = profile_at(run.places, name), run.journal_for(dry_run=dry_run)
    with run.progress(f"copying {name}"):
        moved = copy_profile(run.places, journal, source, new, command=run.command, dry_run=dry_run)
    return _moved(moved, f"copied profile {name} to {new}", dry_run)


@app.command(cls=ProfileCommand, epilog="Example: dshloop profile rename web work")
def rename(
    ctx: typer.Context, name: Source, new: NewName, dry_run: DryRun = False
) -> Result[dict[str, Any]]:
    """Give a profile another name.

    Where it is the default, config.yml follows.
    """
    from dshloop.profiles.layout import profile_at
    from dshloop.profiles.whole import rename_profile

    run = invocation(ctx)
    source, journal = profile_at(run.places, name), run.journal_for(dry_run=dry_run)
    with run.progress(f"renaming {name}"):
        moved = rename_profile(
            run.places, journal, source, new, command=run.command, dry_run=dry_run
        )
    return _moved(moved, f"renamed profile {name} to {new}", dry_run)


@app.command(cls=ProfileCommand, epilog="Example: dshloop profile delete old")
def delete(ctx: typer.Context, name: Source, dry_run: DryRun = False) -> Result[dict[str, Any]]:
    """Delete a profile; dshloop undo brings it back whole."""
    from dshloop.profiles.layout import profile_at
    from dshloop.profiles.whole import delete_profile

    run = invocation(ctx)
    source, journal = profile_at(run.places, name), run.journal_for(dry_run=dry_run)
    with run.progress(f"deleting {name}"):
        moved = delete_profile(run.places, journal, source, command=run.command, dry_run=dry_run)
    return _moved(moved, f"deleted profile {name}", dry_run)


def _planned(data: dict[str, Any], changes: Sequence[Change]) -> Result[dict[str, Any]]:
    from dshloop.journal import Plan

    diff = Plan(tuple(changes)).diff()
    said = ["dry run: nothing was changed"]
    return Result({**data, "diff": diff}, Document(diff), notices=said)


def _moved(moved: Moved, view: str, dry_run: bool) -> Result[dict[str, Any]]:
    data: dict[str, Any] = {
        "profile": moved.profile.name,
        "source": moved.source.name,
        "folder": str(moved.profile.folder),
        "was_default": moved.was_default,
        "dry_run": dry_run,
        "entry": moved.entry.id if moved.entry else None,
    }
    if dry_run:
        return _planned(data, moved.plan.changes)
    undo = f"To take it back: dshloop undo {moved.entry.id}" if moved.entry else ""
    default = ["It was the default profile; none is now."] if _gone(moved) else []
    return Result(data, view, notices=[*default, undo])


def _gone(moved: Moved) -> bool:
    return moved.was_default and moved.profile == moved.source
