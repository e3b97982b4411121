"""Whole profiles copied, renamed and deleted, each as one journal entry that undo takes back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from dshloop.config import plan_set, plan_unset, read_config
from dshloop.errors import DshloopError, ProfileExistsError, ProfileNotFoundError
from dshloop.files import read_bytes, shown, writing
from dshloop.journal import Change, Entry, Journal, Plan, Transaction
from dshloop.locks import hold, hold_dsh, lock_path
from dshloop.paths import Places
from dshloop.profiles.layout import Manifest, Profile, parse_manifest, profile_at
from dshloop.profiles.plugins.changing import tree_from
from dshloop.profiles.plugins.stage import clone_modules, stage_for

WAIT = 2.0  # seconds for another writer to finish before we refuse
_NOT_COPIED = ("cordis.yml", ".plugin-manager", "package.json.lock")


@dataclass(frozen=True, slots=True)
class Moved:
    """What a copy, a rename or a removal did, or would do; `was_default` as config.yml says."""

    profile: Profile
    source: Profile
    plan: Plan
    was_default: bool = False
    entry: Entry | None = None


def copy_profile(
    places: Places,
    journal: Journal,
    source: Profile,
    name: str,
    *,
    command: str,
    dry_run: bool = False,
) -> Moved:
    """Copy a profile with all that is installed in it.

    Raises PROFILE_NOT_FOUND, PROFILE_EXISTS, LOCK_HELD; nothing is changed then.
    """
    target = _target(places, source, name)
    if dry_run:
        return Moved(target, source, Plan(tuple(_text_changes(source, target))))
    with _sole_writer(places, source, command), stage_for(target, beside=True) as stage:
        made = _copied(source, target, stage)
        with journal.transaction(command) as tx:
            tx.place_tree(target.folder, made)
        return Moved(target, source, Plan(()), entry=tx.entry)


def rename_profile(
    places: Places,
    journal: Journal,
    source: Profile,
    name: str,
    *,
    command: str,
    dry_run: bool = False,
) -> Moved:
    """Give a profile another name, in config.yml too where it is the default.

    Errors are those of `copy_profile`.
    """
    target = _target(places, source, name)
    default = _is_default(places, source)
    changes = [plan_set(places, "profile", name)] if default else []
    if dry_run:
        texts = [*_text_changes(source, target), *changes]
        gone = Change(source.folder, tree_from(source.folder), None)
        return Moved(target, source, Plan((*texts, gone)), default)
    with _sole_writer(places, source, command), stage_for(target, beside=True) as stage:
        made = _copied(source, target, stage)
        with journal.transaction(command) as tx:
            tx.place_tree(target.folder, made)
            tx.remove_tree(source.folder)
            _apply(tx, changes)
        return Moved(target, source, Plan(()), default, tx.entry)


def delete_profile(
    places: Places, journal: Journal, source: Profile, *, command: str, dry_run: bool = False
) -> Moved:
    """Take a profile away into the journal, from where undo brings it back whole.

    Where it is the default, config.yml forgets it. Raises PROFILE_NOT_FOUND, LOCK_HELD.
    """
    _require(source)
    default = _is_default(places, source)
    changes = [plan_unset(places, "profile")] if default else []
    if dry_run:
        gone = Change(source.folder, tree_from(source.folder), None)
        return Moved(source, source, Plan((gone, *changes)), default)
    with _sole_writer(places, source, command), journal.transaction(command) as tx:
        tx.remove_tree(source.folder)
        _apply(tx, changes)
    return Moved(source, source, Plan(()), default, tx.entry)


@contextmanager
def _sole_writer(places: Places, profile: Profile, command: str) -> Iterator[None]:
    """Be the profile's only writer.

    dsh's own lock lies in the profile's folder and can't stay while that moves: it is taken to
    see that nobody has it, and let go.
    """
    what = f"profile {profile.name}"
    with ExitStack() as locks:
        lock = lock_path(places.locks, profile.folder)
        locks.enter_context(hold(lock, command=command, wait=WAIT, what=what))
        with hold_dsh(profile.manifest, command=command, wait=WAIT, what=what):
            pass
        yield


def _apply(tx: Transaction, changes: Sequence[Change]) -> None:

    for change in changes:
        tx.apply(change.path, change.before, change.after, change.mode)


def _target(places: Places, source: Profile, name: str) -> Profile:
    _require(source)
    target = profile_at(places, name)
    if target.folder.exists() or target.folder.is_symlink():
        raise ProfileExistsError(
            f'profile "{name}" is there already: {shown(target.folder)}',
            name=name,
            folder=shown(target.folder),
        )
    return target


def _require(source: Profile) -> None:
    if not source.exists:
        raise ProfileNotFoundError(f'profile "{source.name}" does not exist', name=source.name)


def _is_default(places: Places, profile: Profile) -> bool:
    return bool(read_config(places).get("profile") == profile.name)


def _copied(source: Profile, target: Profile, stage: Path) -> Path:
    """Make the copy in the stage; give its folder."""
    made = stage / "profile"
    with writing(made):
        made.mkdir(mode=0o755)
        for entry in sorted(source.folder.iterdir()):
            place = made / entry.name
            if entry.name in _NOT_COPIED:
                continue
            if entry.is_symlink():
                place.symlink_to(entry.readlink())
            elif entry.name == "node_modules":
                clone_modules(entry, place)
            elif entry.is_dir():
                shutil.copytree(entry, place, symlinks=True)
            elif entry.is_file():
                shutil.copy2(entry, place)
        (made / "package.json").write_bytes(_renamed(source, target))
    return made


def _renamed(source: Profile, target: Profile) -> bytes:
    """Give the manifest under the new name; one that can't be read, or is odd, as it is."""
    data = read_bytes(source.manifest) or b""
    try:
        manifest = parse_manifest(data, source.manifest)
    except DshloopError:
        return data
    if manifest.value.get("name") != f"dsh-profile-{source.name}":
        return data
    value = {**manifest.value, "name": f"dsh-profile-{target.name}"}
    return Manifest(value, manifest.bundles, manifest.indent, manifest.newline).as_bytes()


def _text_changes(source: Profile, target: Profile) -> Iterator[Change]:
    """Give the files of a copy as changes, to be shown; folders are told by their size."""
    for entry in sorted(source.folder.iterdir()):
        place = target.folder / entry.name
        if entry.name in _NOT_COPIED:
            continue
        if entry == source.manifest:
            yield Change(place, None, _renamed(source, target))
        elif entry.is_dir() and not entry.is_symlink():
            yield Change(place, None, tree_from(entry))
        elif entry.is_file():
            yield Change(place, None, read_bytes(entry))
