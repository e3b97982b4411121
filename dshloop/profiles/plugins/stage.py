"""A folder beside the profiles in which an installation is tried before the profile changes.

It has a profile's depth, so that relative paths that pnpm records in it stay true when its files
move into the profile. Nobody takes it for a profile: `profile_names` leaves it out.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from dshloop.files import writing
from dshloop.locks import process_exists
from dshloop.profiles.layout import STAGE, Profile

# What pnpm writes; the rest of a profile is linked, so that `file:./x` works in the stage too.
COPIED = ("package.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "node_modules")


@contextmanager
def stage_for(profile: Profile, *, beside: bool) -> Iterator[Path]:
    """Make an empty stage; it and folders made for it are gone afterwards.

    ``beside`` puts it beside the profile, where pnpm needs it and moving into the profile is a
    rename; else it is a temporary folder wherever the system has them.
    """
    if not beside:
        with TemporaryDirectory(prefix="dshloop-") as temporary:
            yield Path(temporary)
        return
    parent = profile.folder.parent
    made = [folder for folder in (parent, *parent.parents) if not folder.exists()]
    stage = parent / f"{STAGE}{os.getpid()}-{secrets.token_hex(4)}"
    try:
        with writing(stage):
            stage.mkdir(parents=True, mode=0o700)
        _sweep(parent)
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        for folder in made:
            try:
                folder.rmdir()
            except OSError:
                break


def fill(stage: Path, profile: Profile) -> None:
    """Put what an installation needs of an existing profile into the stage."""
    if not profile.folder.is_dir():
        return
    for entry in profile.folder.iterdir():
        place = stage / entry.name
        if entry.name == "node_modules":
            clone_modules(entry, place)
        elif entry.name in COPIED:
            shutil.copyfile(entry, place)
        elif entry.name != ".plugin-manager":
            place.symlink_to(entry)


def clear(stage: Path) -> None:
    """Empty a stage; what its links lead to stays."""
    with writing(stage):
        for entry in stage.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()


def clone_modules(source: Path, target: Path) -> None:
    """Copy a node_modules folder; packages' files share their data, pnpm's own files don't.

    pnpm replaces the files of a package as a whole, but writes its own records in place.
    """
    own = {source, source / ".pnpm"}

    def copy(one: str, other: str) -> str:
        if Path(one).parent in own:
            return shutil.copy2(one, other)
        try:
            os.link(one, other)
        except OSError:
            return shutil.copy2(one, other)
        return other

    with writing(target):
        shutil.copytree(source, target, symlinks=True, copy_function=copy)


def _sweep(parent: Path) -> None:
    """Remove stages of commands that were killed."""
    for folder in parent.glob(f"{STAGE}*"):
        pid = folder.name.removeprefix(STAGE).partition("-")[0]
        if pid.isdigit() and not process_exists(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)
