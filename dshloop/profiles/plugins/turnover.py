"""The one way in which a profile's plugins change: one writer, a stage, a plan, one record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from dshloop.errors import PluginNotFoundError
from dshloop.files import read_bytes
from dshloop.journal import Change, Plan
from dshloop.locks import hold, hold_dsh, lock_path
from dshloop.profiles.create import other_files
from dshloop.profiles.layout import Manifest, Profile
from dshloop.profiles.plugins.changing import Fetched, Outcome, PluginChange, Request
from dshloop.profiles.plugins.stage import stage_for
from dshloop.profiles.view import packages_needing

WAIT = 2.0  # seconds for another writer to finish before we refuse


def as_sole_writer(request: Request, work: Callable[[], Outcome]) -> Outcome:
    """Do the work as the profile's only writer."""
    if request.dry_run:
        return work()
    profile = request.profile
    lock = lock_path(request.places.locks, profile.folder)
    what = f"profile {profile.name}"
    with (
        hold(lock, command=request.command, wait=WAIT, what=what),
        hold_dsh(profile.manifest, command=request.command, wait=WAIT, what=what),
    ):
        return work()


def open_stage(request: Request) -> AbstractContextManager[Path]:
    """Give a stage beside the profile where that is of use and changes nothing by itself."""
    there = request.profile.folder.parent.is_dir() and not request.dry_run
    return stage_for(request.profile, beside=request.pnpm is not None or there)


def plan_changes(request: Request, before: Manifest, after: Manifest, fetched: Fetched) -> Plan:
    """Plan all changes, the manifest last, so that dsh never sees a layer before its package."""
    profile = request.profile
    changes = list(fetched.changes)
    if not profile.exists:
        planned = {change.path for change in changes}
        changes += [change for change in other_files(profile) if change.path not in planned]
    if after.value != before.value or not profile.exists:
        now = read_bytes(profile.manifest)
        changes.append(Change(profile.manifest, now, after.as_bytes()))
    return Plan(tuple(changes))


def record_plan(request: Request, plan: Plan, plugins: Sequence[PluginChange]) -> None:
    """Make the changes as one journal entry, which notes what became of which plugin.

    A dry run makes none.
    """
    if plan.changes and not request.dry_run:
        note = {"plugins": {one.name: one.state for one in plugins if one.state != "unchanged"}}
        request.journal.record(request.command, plan.changes, cwd=request.cwd, note=note)


def needed_by(profile: Profile, manifest: Manifest, names: Sequence[str]) -> Iterator[str]:
    """Tell which plugins that stay need one of those that go."""
    for name in names:
        for other, key, text in packages_needing(profile, manifest, name):
            if other not in names:
                yield f"{other} needs {name} {text} ({key})"


def no_such_plugin(profile: Profile, manifest: Manifest, name: str) -> PluginNotFoundError:
    """Give the error for a plugin that a profile doesn't have, with near names."""
    from difflib import get_close_matches

    listed = [bundle for bundle in manifest.bundles if isinstance(bundle, str)]
    known = dict.fromkeys([*manifest.recorded, *listed])
    near = get_close_matches(name, known, n=3)
    hint = f"Did you mean {' or '.join(near)}?" if near else "dshloop plugin list shows all."
    return PluginNotFoundError(
        f"profile {profile.name} has no plugin {name}",
        hint=hint,
        name=name,
        near=near,
        profile=profile.name,
    )
