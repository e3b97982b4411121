"""Scripts that packages want to run when they are installed, and pnpm's leave to run them.

pnpm asks for leave in pnpm-workspace.yaml: ``allowBuilds`` with the package's name, or, for a git
or archive package, its name and resolved address (field-reports 19). The address is known once
pnpm has resolved it: it is the package's key in the lock.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dshloop.errors import DshloopError
from dshloop.files import read_bytes, writing
from dshloop.profiles.bundle import Package, read_package
from dshloop.profiles.plugins.lockfile import Locked, read_lock

WORKSPACE = "pnpm-workspace.yaml"
_INSTALL = ("preinstall", "install", "postinstall")
_PREPARE = ("prepublish", "prepack", "prepare")


@dataclass(frozen=True, slots=True)
class Build:
    """One package with scripts to run: pnpm's ``key`` for it, and which scripts."""

    package: str
    key: str
    scripts: tuple[str, ...]

    @property
    def entry(self) -> str:
        """The lines to write into pnpm-workspace.yaml."""
        from dshloop.dsh_yaml import dump

        return str(dump({"allowBuilds": {self.key: True}})).rstrip("\n")


def builds_in(stage: Path, before: Path, packages: Sequence[Package]) -> list[Build]:
    """Find what an installation with scripts off has left unbuilt, ``packages`` and below them.

    ``before`` is the profile's folder: what was waiting there already is left out.
    """
    lock = read_lock(_bytes(stage / "pnpm-lock.yaml"))
    named = [
        build
        for package in packages
        if (build := _own(package, lock.get(package.name))) is not None
    ]
    keys = {build.key for build in named}
    waiting = [key for key in _pending(stage) if key not in _pending(before)]
    below = [_below(stage, key) for key in waiting]
    return [*named, *(build for build in below if build.key not in keys)]


def build_of(package: Package, key: str) -> Build | None:
    """Give the scripts that pnpm would run for a package from an archive or the registry."""
    scripts = _scripts(package, _INSTALL)
    return Build(package.name, key, scripts) if scripts else None


def allow_builds(folder: Path, builds: Sequence[Build]) -> None:
    """Write the entries into the pnpm-workspace.yaml of a folder, all other bytes kept."""
    from dshloop.splice import set_value

    path = folder / WORKSPACE
    text = _bytes(path).decode("utf-8")
    for build in builds:
        text = set_value(text, ("allowBuilds", build.key), True)
    with writing(path):
        path.write_bytes(text.encode("utf-8"))


def _own(package: Package, locked: Locked | None) -> Build | None:
    if locked is None or locked.version.startswith("link:"):
        return None
    from_git = "/" in locked.version and not locked.version.startswith("file:")
    scripts = _scripts(package, (*_INSTALL, *(_PREPARE if from_git else ())))
    plain = not from_git and not locked.version.startswith("file:")
    key = locked.key.rpartition("@")[0] if plain else locked.key
    return Build(package.name, key, scripts) if scripts else None


def _scripts(package: Package, names: Sequence[str]) -> tuple[str, ...]:
    found = package.manifest.get("scripts")
    scripts: Mapping[str, object] = found if isinstance(found, dict) else {}
    native = ("install",) if (package.folder / "binding.gyp").is_file() else ()
    return tuple(dict.fromkeys([*(name for name in names if scripts.get(name)), *native]))


def _below(stage: Path, pending: str) -> Build:
    """Describe what pnpm has put off: ``name@version``, or a name and an address."""
    name, _, version = pending.rpartition("@")
    at = pending.find("@", 1)
    if "/" in version or ":" in pending:
        return Build(pending[:at], pending, _INSTALL)
    try:
        package = read_package(stage / "node_modules" / name, name=name)
    except DshloopError:
        return Build(name, name, _INSTALL)
    return Build(name, name, _scripts(package, _INSTALL) or _INSTALL)


def _pending(folder: Path) -> Iterator[str]:
    try:
        value = json.loads(_bytes(folder / "node_modules" / ".modules.yaml") or b"{}")
    except (ValueError, RecursionError):
        return
    found = value.get("pendingBuilds") if isinstance(value, dict) else None
    yield from (key for key in found or () if isinstance(key, str))


def _bytes(path: Path) -> bytes:
    return read_bytes(path) or b""
