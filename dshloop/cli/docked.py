"""What the verbs of `loop`, `driver` and `agent` share: the dock that is meant, and its edits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.complete import layer_names
from dshloop.cli.inbox import notices as inbox_notices
from dshloop.cli.inbox import user_inbox
from dshloop.cli.invocation import Invocation
from dshloop.result import Caution, Document, Result

if TYPE_CHECKING:
    from dshloop.journal import Change
    from dshloop.loops.edit import Work
    from dshloop.profiles.layers import Layer as PatchLayer
    from dshloop.profiles.layout import Profile
    from dshloop.runs.docks.docking import Docking
    from dshloop.runs.profile import ProfileRows

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be written, and change nothing.")
]
Yes = Annotated[
    bool, typer.Option("--yes", help="Put a dock row in where the profile has none, unasked.")
]
Layer = Annotated[
    str,
    typer.Option(
        "--layer",
        metavar="LAYER",
        autocompletion=layer_names,
        help="The layer to write to: profile or home.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Write it in spite of what is unknown here.")]


def named_profile(run: Invocation) -> Profile | None:
    """Give the profile that is named anywhere; None stands for the built-in one."""
    configured = None if run.profile is not None else run.config.get("profile")
    if (run.profile, configured) == (None, None) and not run.env.variables.get("DSHLOOP_PROFILE"):
        return None
    from dshloop.profiles.layout import choose_profile, find_profile

    name = choose_profile(run.places, run.profile, run.env.variables, configured)
    return find_profile(run.places, name)


def run_rows(run: Invocation) -> ProfileRows:
    """Compose the profile that is meant for a run; without one the built-in rows."""
    from dshloop.runs.profile import ProfileRows, profile_rows

    profile = named_profile(run)
    if profile is None:
        return ProfileRows()
    with user_inbox(run) as inbox:
        return profile_rows(profile, inbox)


@contextmanager
def docked(run: Invocation, *, packages: bool = True) -> Iterator[tuple[Docking, list[str]]]:
    """Give the dock of the profile that is meant, and what to tell beside the answer.

    ``packages`` tells whether what installed packages offer is looked at.
    """
    from dshloop.profiles.stack import stack_layers
    from dshloop.runs.docks.docking import read_docking

    profile = named_profile(run)
    layers: Sequence[PatchLayer] = ()
    told: list[str] = []
    if profile is not None:
        with user_inbox(run) as inbox:
            layers = stack_layers(profile, inbox=inbox).layers
        told = inbox_notices(inbox)
    yield read_docking(run.places, profile, layers, packages=packages), told


def cautions(docking: Docking) -> list[Caution]:
    """Give what can't be used, and what the dock warns of, as warnings beside an answer."""
    found = [
        Caution(f"{name}: {fault.message}", fault.code, details=fault.as_json())
        for name, fault in docking.faults
    ]
    if docking.fault is not None:
        fault = docking.fault
        found.append(Caution(f"the dock row: {fault.message}", fault.code, details=fault.as_json()))
    return [*found, *(Caution(text, "DOCK") for text in docking.dock.warnings)]


def edit_dock(
    run: Invocation, work: Work, *, layer: str, dry_run: bool, yes: bool, **data: Any
) -> Result[dict[str, Any]]:
    """Plan an edit of the dock row and write it, or show it; a missing row is offered.

    Raises PROFILE_NOT_NAMED, DOCK_ROW_MISSING and what the edit raises.
    """
    from dshloop.cli.profile.change import edited
    from dshloop.loops.edit import missing_dock, refuse_missing, with_dock
    from dshloop.loops.rows import dock_rows
    from dshloop.profiles.edits.desk import Desk
    from dshloop.profiles.edits.layer_edit import LayerEdit

    put_in: list[str] = []

    def do(desk: Desk) -> LayerEdit:
        question = missing_dock(dock_rows(desk.composition), desk.target.kind)
        if question is None:
            return work(desk)
        if not (yes or dry_run or run.env.ask(question)):
            refuse_missing(question)
        put_in.append("dsh itself needs the plugin of that row: dshloop plugin add dsh-loop-dock")
        return with_dock(work)(desk)

    result = edited(run, layer, dry_run, do)
    return result._replace(data={**result.data, **data}, notices=[*result.notices, *put_in])


def edit_loops_file(
    run: Invocation, plan: Callable[[Path], Change], *, dry_run: bool, **data: Any
) -> Result[dict[str, Any]]:
    """Plan an edit of the profile's loops.yml and write it, or show it.

    Raises PROFILE_NOT_NAMED and what the plan raises.
    """
    from dshloop.cli.profile.common import meant, sole_writer
    from dshloop.files import shown
    from dshloop.journal import Plan
    from dshloop.loops.loops_file import NAME
    from dshloop.profiles.create import new_profile
    from dshloop.profiles.layout import template_for

    profile = meant(run, None)
    journal = run.journal_for(dry_run=dry_run)
    change = plan(profile.folder / NAME)
    others = [] if profile.exists else new_profile(profile, template_for(profile.name))
    changes = (*others, change)
    found = {"profile": profile.name, "file": shown(change.path), "dry_run": dry_run, **data}
    if dry_run:
        diff = Plan(changes).diff()
        told = ["dry run: nothing was changed"]
        return Result({**found, "diff": diff}, Document(diff), notices=told)
    with sole_writer(run, profile):
        journal.record(run.command, changes, cwd=run.env.cwd)
    return Result(found, f"wrote {shown(change.path)}")
