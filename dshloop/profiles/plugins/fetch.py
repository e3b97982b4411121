"""Folders and archives brought into a profile without pnpm, recorded as pnpm records them.

A folder becomes a symlink (``link:``), with the prefix ``file:`` a copy; an archive is unpacked.
What needs a network or further packages needs pnpm.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from dshloop.errors import (
    PackageNotFoundError,
    PnpmMissingError,
    SpecInvalidError,
    WriteFailedError,
)
from dshloop.files import shown, writing
from dshloop.journal import Change, Link
from dshloop.profiles.bundle import Package, read_package
from dshloop.profiles.layout import Manifest
from dshloop.profiles.plugins.archive import unpack
from dshloop.profiles.plugins.builds import Build, build_of
from dshloop.profiles.plugins.changing import Fetched, Request, change_of, tree_from
from dshloop.profiles.plugins.spec import PluginSpec

_NOT_COPIED = ("node_modules", ".git")


def fetch_local(
    request: Request, manifest: Manifest, specs: Sequence[PluginSpec], stage: Path
) -> Fetched:
    """Bring folders and archives in by ourselves; nothing outside ``stage`` is written.

    Raises PnpmMissingError (PNPM_MISSING) for what only pnpm can do.
    """
    recorded: dict[str, str] = {}
    packages, changes = [], []
    for number, spec in enumerate(specs):
        if not spec.local:
            raise PnpmMissingError(f"{spec.text} can't be installed without pnpm", spec=spec.text)
        package = open_package(request, spec, stage / str(number))
        missing = missing_dependencies(package, linked=spec.link)
        if missing and not request.looking:
            raise PnpmMissingError(
                f"{package.name} depends on {', '.join(missing)}, which only pnpm can install",
                package=package.name,
                dependencies=missing,
            )
        packages.append(package)
        recorded[package.name] = spec.recorded
        changes += _place(request, spec, package, stage / str(number))
    require_distinct(packages, specs)
    builds = tuple(_builds(request, specs, packages))
    return Fetched(tuple(packages), manifest.with_specs(recorded), tuple(changes), builds=builds)


def _builds(
    request: Request, specs: Sequence[PluginSpec], packages: Sequence[Package]
) -> Iterator[Build]:
    """Find install scripts, which we never run, with the key that pnpm would have for each."""
    for spec, package in zip(specs, packages, strict=True):
        if spec.path is not None and not spec.link:
            path = os.path.relpath(spec.path, request.profile.folder).replace(os.sep, "/")
            build = build_of(package, f"{package.name}@file:{path}")
            if build is not None:
                yield build


def open_package(request: Request, spec: PluginSpec, place: Path) -> Package:
    """Look into a local package: a folder where it is, an archive unpacked to ``place``.

    Raises PackageNotFoundError, ArchiveInvalidError, BundleInvalidError, and SpecInvalidError
    for a copy of a folder that holds the profile itself.
    """
    path = spec.path
    assert path is not None
    if not spec.link and request.profile.folder.is_relative_to(path):
        raise SpecInvalidError(
            f"{shown(path)} can't be copied into a profile that lies in it",
            hint=f"Write link:{spec.target} to link it.",
            spec=spec.text,
        )
    if spec.kind == "archive":
        with writing(place):
            place.mkdir()
        unpack(path, place)
        return read_package(place, name=spec.alias, archive=path)
    if not path.is_dir():
        what = "is a file, not a folder or archive" if path.exists() else "is not there"
        raise PackageNotFoundError(
            f"{shown(path)} {what}",
            hint="Give the folder of a plugin, or a .tgz made by npm pack.",
            spec=spec.text,
            file=shown(path),
        )
    return read_package(path, name=spec.alias)


def require_distinct(packages: Sequence[Package], specs: Sequence[PluginSpec]) -> None:
    """Refuse two specs for one name."""
    seen: dict[str, str] = {}
    for package, spec in zip(packages, specs, strict=True):
        if package.name in seen:
            raise SpecInvalidError(
                f"{seen[package.name]} and {spec.text} are both {package.name}",
                hint="Name one of them.",
                spec=spec.text,
            )
        seen[package.name] = spec.text


def _place(request: Request, spec: PluginSpec, package: Package, place: Path) -> list[Change]:
    target = request.profile.modules / package.name
    if spec.link:
        return change_of(target, Link(str(package.folder)))
    if spec.kind == "folder":
        with writing(place):
            skip = shutil.ignore_patterns(*_NOT_COPIED)
            try:
                shutil.copytree(package.folder, place, symlinks=True, ignore=skip)
            except shutil.Error as fault:  # it holds a list of (source, target, reason)
                said = f"can't copy {shown(package.folder)}: {fault.args[0][0][2]}"
                raise WriteFailedError(said, file=shown(package.folder)) from fault
    return change_of(target, tree_from(place))


def missing_dependencies(package: Package, *, linked: bool) -> list[str]:
    """Give the dependencies of a package that Node won't find from where it will be.

    A linked folder is looked at where it really is, with the folders above it; a copy has
    nothing but what it brings along.
    """
    folder = package.folder.resolve()
    places = (folder, *folder.parents) if linked else (folder,)
    return [
        name
        for name in package.dependencies
        if not any((place / "node_modules" / name / "package.json").is_file() for place in places)
    ]
