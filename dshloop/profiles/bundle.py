"""One bundle package: what its package.json says, and what is wrong with it (dsh-profiles 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os.path import normpath
from pathlib import Path
from typing import Any

from dshloop.errors import BundleInvalidError, DshloopError
from dshloop.files import BOM, decode, read_bytes, shown
from dshloop.profiles.package_json import json_object

_NAME_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789~._-")
_PATCH_SHAPE = "dsh.bundle.patch must be a file path or a list of file paths"


@dataclass(frozen=True, slots=True)
class Package:
    """A package in a folder: its manifest, under which ``name`` it goes or will go.

    ``origin`` is what people are told where ``folder`` is gone when they read it.
    """

    name: str
    folder: Path
    manifest: Mapping[str, Any]
    origin: Path | None = None

    @property
    def version(self) -> str | None:
        """The version its manifest gives, if that is text."""
        found = self.manifest.get("version")
        return found if isinstance(found, str) else None

    @property
    def dependencies(self) -> tuple[str, ...]:
        """The names of the packages it needs to be installed with it."""
        found = self.manifest.get("dependencies")
        return tuple(found) if isinstance(found, dict) else ()

    @property
    def is_bundle(self) -> bool:
        """Whether dsh makes it a layer when it is added: dsh.bundle.patch is there."""
        return "patch" in _member(_member(self.manifest, "dsh"), "bundle")

    @property
    def patch_files(self) -> tuple[Path, ...]:
        """Where its patch files should be, in the order they apply.

        Raises BundleInvalidError with dsh's own words when dsh.bundle.patch has another shape.
        """
        return tuple(inside(self.folder, path) for path in declared_patches(self))


def read_package(folder: Path, *, name: str | None = None, archive: Path | None = None) -> Package:
    """Read the package of a folder; its name is ``name``, else its manifest's, else the folder's.

    ``archive`` is what errors name where the folder was unpacked from one; then the manifest must
    have the name. Raises BundleInvalidError (BUNDLE_INVALID) when there is no usable package.json
    or the name can't be one. A BOM is refused: dsh can't read a package that starts with one.
    """
    path = (archive or folder) / "package.json"
    manifest = _manifest_of(folder, path)
    found = name or manifest.get("name", None if archive else folder.name)
    if not isinstance(found, str) or not valid_package_name(found):
        raise _invalid(f"{shown(path)}: {found!r} can't be a package's name", path)
    return Package(found, folder, manifest, archive)


def _manifest_of(folder: Path, path: Path) -> dict[str, Any]:
    try:
        data = read_bytes(folder / "package.json")
        if data is None:
            raise _invalid(f"{shown(path.parent)} is no package: it has no package.json", path)
        if data.startswith(BOM):
            raise _invalid(
                f"{shown(path)} starts with a byte order mark, which dsh can't read",
                path,
                hint="Save it as UTF-8 without a byte order mark, then add it again.",
            )
        return json_object(decode(data, path).value, path)
    except BundleInvalidError:
        raise
    except DshloopError as fault:
        message = fault.message.replace(shown(folder / "package.json"), shown(path))
        raise BundleInvalidError(message, **{**fault.details, "file": shown(path)}) from fault


def valid_package_name(name: str) -> bool:
    """Whether npm and pnpm accept a name as a folder of node_modules."""
    scope, slash, bare = name.rpartition("/")
    if slash and not (scope[:1] == "@" and scope[1:] and _NAME_CHARACTERS.issuperset(scope[1:])):
        return False
    plain = bool(bare) and not bare.startswith(".") and _NAME_CHARACTERS.issuperset(bare)
    return plain and len(name) <= 214 and name != "node_modules"


def version_in(folder: Path | None) -> str | None:
    """Give the version of the package in a folder; None where there is none to read."""
    if folder is None:
        return None
    try:
        return read_package(folder, name="x").version
    except BundleInvalidError:
        return None


def check_patches(package: Package) -> None:
    """Raise BundleInvalidError unless every patch file of a bundle is there and can be read."""
    from dshloop.profiles.compose import compose, compose_json
    from dshloop.profiles.layers import read_layer

    for path in package.patch_files:
        told = _told(package, path)
        if not path.is_file():
            raise BundleInvalidError(
                f"{package.name} names a patch file that is not in the package: {told}",
                hint="Check dsh.bundle.patch, and what the package's files list leaves out.",
                package=package.name,
                file=told,
            )
        try:
            compose_json(compose([read_layer(path, package.name)]))
        except DshloopError as fault:
            said = fault.message.replace(shown(path), told)
            raise BundleInvalidError(
                f"{package.name} has a broken patch file: {said}",
                **{**fault.details, "file": told, "package": package.name},
            ) from fault


def _told(package: Package, path: Path) -> str:
    """Name a file of a package where the user has it."""
    if package.origin is None or not path.is_relative_to(package.folder):
        return shown(path)
    return shown(package.origin / path.relative_to(package.folder))


def declared_patches(package: Package) -> tuple[str, ...]:
    """Give the patch paths as written. Raises BundleInvalidError in dsh's words."""
    bundle = _member(package.manifest, "dsh").get("bundle")
    if bundle is None:
        raise _invalid(
            f'dsh: profile bundle "{package.name}" declares no dsh.bundle in its package.json',
            package.folder / "package.json",
        )
    patch = bundle.get("patch") if isinstance(bundle, dict) else None
    paths = [patch] if isinstance(patch, str) else patch
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise _invalid(_PATCH_SHAPE, package.folder / "package.json")
    return tuple(paths)


def _member(value: Any, key: str) -> Mapping[str, Any]:
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, dict) else {}


def inside(folder: Path, path: str) -> Path:
    """Join as Node's path.join does: normalised, and a leading slash stays inside the folder."""
    return Path(normpath(f"{folder}/{path}"))


def _invalid(message: str, path: Path, **details: Any) -> BundleInvalidError:
    return BundleInvalidError(message, **{"file": shown(path), **details})
