"""Which plugins have newer versions, and why one doesn't move by itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dshloop.dsh import Program, run_program
from dshloop.errors import DshloopError
from dshloop.profiles.bundle import version_in
from dshloop.profiles.layout import Profile, read_manifest
from dshloop.profiles.plugins.lockfile import integrity_of, read_lock
from dshloop.profiles.plugins.pnpm_errors import failure_of
from dshloop.profiles.plugins.ranges import newer, newest
from dshloop.profiles.plugins.recorded import Recorded, recorded_plugins
from dshloop.profiles.view import read_installed

_AT_ONCE = 4
_REMOTE = ("range", "pin", "tag")


@dataclass(frozen=True, slots=True)
class Age:
    """One plugin: what is installed, what an update brings, and the newest there is.

    ``wanted`` and ``latest`` are None where nobody knows; ``changed`` is whether an archive isn't
    the one that was installed.
    """

    name: str
    current: str | None
    wanted: str | None
    latest: str | None
    spec: str
    why: str
    changed: bool = False

    @property
    def outdated(self) -> bool:
        """Whether an update, with --latest where it is pinned, would bring something else."""
        moves = self.wanted is not None and self.wanted != self.current
        beyond = newer(self.latest, self.current) if self.latest and self.current else False
        return self.changed or moves or beyond

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        return {**asdict(self), "outdated": self.outdated}


def find_outdated(
    profile: Profile, variables: Mapping[str, str], pnpm: Program | None
) -> list[Age]:
    """Look at every plugin of a profile; the registry is asked through pnpm, several at once.

    Without pnpm only archives and folders are looked at. Raises what pnpm has wrong.
    """
    from concurrent.futures import ThreadPoolExecutor

    plugins = recorded_plugins(profile, read_manifest(profile), variables)
    look = partial(_age, profile, variables, pnpm)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(look, plugins))


def _age(
    profile: Profile, variables: Mapping[str, str], pnpm: Program | None, one: Recorded
) -> Age:
    package = read_installed(profile, one.name)
    current = package.version if package else None
    if one.way not in _REMOTE:
        return _local(profile, one, current)
    if pnpm is None:
        return Age(one.name, current, None, None, one.text, "only pnpm can ask the registry")
    known = ask_registry(pnpm, variables, profile.folder, one.package)
    if isinstance(known, str):
        return Age(one.name, current, None, None, one.text, known)
    tags = known.get("dist-tags") or {}
    versions = known.get("versions") or []
    versions = [versions] if isinstance(versions, str) else versions
    latest = tags.get("latest") or newest(versions)
    wanted = tags.get(one.range) or newest(versions, one.range) or current
    why = one.why if latest != current else ""
    if one.way == "range" and latest != wanted:
        why = f"{latest} is outside of {one.range}: update --latest moves it"
    return Age(one.name, current, wanted, latest, one.text, why)


def _local(profile: Profile, one: Recorded, current: str | None) -> Age:
    path = one.spec.path if one.spec else None
    if path is None:
        return Age(one.name, current, None, None, one.text, one.why)
    if one.way == "archive":
        lock = read_lock(_read(profile.folder / "pnpm-lock.yaml")).get(one.name)
        known = lock.integrity if lock else None
        there = _archive_version(path)
        why = one.why if path.is_file() else f"{path} is gone"
        changed = known is not None and path.is_file() and known != integrity_of(path)
        return Age(one.name, current, there, there, one.text, why, changed)
    there = version_in(path)
    why = one.why if path.is_dir() else f"{path} is gone"
    return Age(one.name, current, there, there, one.text, why)


def _archive_version(archive: Path) -> str | None:
    from dshloop.profiles.plugins.archive import unpack

    with TemporaryDirectory(prefix="dshloop-") as folder:
        try:
            unpack(archive, Path(folder))
        except DshloopError:
            return None
        return version_in(Path(folder))


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def ask_registry(
    pnpm: Program, variables: Mapping[str, str], folder: Path, package: str
) -> dict[str, Any] | str:
    """Ask for the versions and tags of a package with pnpm's settings for a folder.

    Gives text, what is wrong, for a package that isn't there. Raises RegistryUnreachableError.
    """
    words = ["view", package, "versions", "dist-tags", "--json"]
    ended = run_program(pnpm, words, variables=variables, cwd=folder, apart=True)
    value = _parsed(ended.output)
    if ended.status == 0 and isinstance(value, dict):
        return value
    fault = value.get("error") if isinstance(value, dict) else None
    code = str(fault.get("code", "")) if isinstance(fault, dict) else ""
    if code == "ERR_PNPM_FETCH_404":
        return "not in the registry"
    said = str(fault.get("message", "")) if isinstance(fault, dict) else ""
    raise failure_of(code, said or ended.errors or ended.output, ended.status)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
