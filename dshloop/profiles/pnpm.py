"""Packages brought in by the user's pnpm, which works in a stage and never in the profile.

pnpm runs as dsh runs it (dsh-profiles 12), but without install scripts, and what it did reaches
the profile only as one journal transaction. Its output goes to a log in our data folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from dshloop.dsh import run_program
from dshloop.errors import (
    DshloopError,
    PackageNotFoundError,
    PnpmFailedError,
    PnpmMissingError,
    RegistryUnreachableError,
)
from dshloop.files import read_bytes, shown, writing
from dshloop.journal import Change
from dshloop.paths import private_folder
from dshloop.profiles.builds import allow_builds, builds_in
from dshloop.profiles.bundle import Package, read_package
from dshloop.profiles.changing import Fetched, Request, change_of, content_at, tree_from
from dshloop.profiles.create import WORKSPACE_TEXT
from dshloop.profiles.fetch import open_package, require_distinct
from dshloop.profiles.layout import Manifest, parse_manifest
from dshloop.profiles.lockfile import Locked, integrity_of, read_lock
from dshloop.profiles.spec import PluginSpec
from dshloop.profiles.stage import clear, fill
from dshloop.terminal import one_line

_KEPT_LOGS = 20
_FILES = ("pnpm-lock.yaml", "pnpm-workspace.yaml")
_FAULT = re.compile(r"^\s*(?:\[(ERR_PNPM_\w+|ERROR)\]|(ERR_PNPM_\w+)|pnpm:)\s*(.+)$", re.MULTILINE)
_NETWORK = re.compile(
    r"ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|META_FETCH_FAIL"
    r"|Could not resolve host|unable to access|Connection refused"
)
_HINTS = {
    "ERR_PNPM_GIT_DEP_PREPARE_NOT_ALLOWED": "The package builds itself on install. Add the entry "
    "that the log names under allowBuilds in the profile's pnpm-workspace.yaml.",
    "ERR_PNPM_UNEXPECTED_STORE": "Another pnpm version filled node_modules; dshloop doctor shows "
    "which pnpm is found.",
}


def fetch_with_pnpm(
    request: Request, manifest: Manifest, specs: Sequence[PluginSpec], stage: Path
) -> Fetched:
    """Run ``pnpm add`` in a filled stage; give what it installed, in the order of the specs."""
    named = [_local_name(request, spec) if spec.local else spec.alias for spec in specs]
    words = ["add", "--ignore-scripts", *(spec.for_pnpm for spec in specs)]
    open_profile(request, manifest, stage)
    _forget_changed(request, manifest, specs, named, stage)
    log = run_pnpm(request, stage, words)
    after = recorded_in(request, stage)
    names = _names(specs, named, manifest, after)
    builds = builds_in(stage, request.profile.folder, _packages(stage, names, specs))
    if request.allow_build and builds:
        clear(stage)
        open_profile(request, manifest, stage)
        allow_builds(stage, builds)
        _forget_changed(request, manifest, specs, named, stage)
        log = run_pnpm(request, stage, [word for word in words if word != "--ignore-scripts"])
    packages = _packages(stage, names, specs)
    require_distinct(packages, specs)
    changes = tuple(stage_changes(request, packages, stage))
    return Fetched(tuple(packages), recorded_in(request, stage), changes, log, tuple(builds))


def remove_with_pnpm(
    request: Request, manifest: Manifest, names: Sequence[str], stage: Path
) -> Fetched:
    """Run ``pnpm remove`` in a filled stage, and remove links that pnpm leaves behind."""
    open_profile(request, manifest, stage)
    log = run_pnpm(request, stage, ["remove", "--config.ignore-scripts=true", *names])
    for name in names:
        left = stage / "node_modules" / name
        if left.is_symlink():
            left.unlink()
    changes = tuple(stage_changes(request, (), stage))
    return Fetched((), recorded_in(request, stage), changes, log)


def open_profile(request: Request, manifest: Manifest, stage: Path) -> None:
    """Fill a stage with what pnpm needs of the profile, or of the one to be created."""
    fill(stage, request.profile)
    with writing(stage / "package.json"):
        (stage / "package.json").write_bytes(manifest.as_bytes())
        if not request.profile.exists:
            (stage / "pnpm-workspace.yaml").write_text(WORKSPACE_TEXT, encoding="utf-8")


def run_pnpm(request: Request, stage: Path, words: Sequence[str]) -> Path:
    """Run one pnpm command in a stage; give its log.

    Raises PackageNotFoundError, RegistryUnreachableError, PnpmMissingError or PnpmFailedError.
    """
    assert request.pnpm is not None
    args = [words[0], "--reporter=append-only", *words[1:]]
    with _log(request) as (log, file):
        ended = run_program(request.pnpm, args, variables=request.variables, cwd=stage, log=file)
    if ended.status != 0:
        raise pnpm_failure(log, ended.status)
    return log


def recorded_in(request: Request, stage: Path) -> Manifest:
    """Read the manifest that pnpm has left in a stage."""
    path = stage / "package.json"
    return parse_manifest(read_bytes(path) or b"{}", path, name=request.profile.name)


def _packages(stage: Path, names: Sequence[str], specs: Sequence[PluginSpec]) -> list[Package]:
    return [
        replace(read_package(stage / "node_modules" / name, name=name), origin=spec.path)
        for name, spec in zip(names, specs, strict=True)
    ]


def _forget_changed(
    request: Request,
    manifest: Manifest,
    specs: Sequence[PluginSpec],
    named: Sequence[str | None],
    stage: Path,
) -> None:
    """Have pnpm forget archives and copies whose content is another now: it keeps the old one."""
    lock = read_lock(read_bytes(stage / "pnpm-lock.yaml") or b"")
    old = [
        name
        for name, spec in zip(named, specs, strict=True)
        if name in lock and name in manifest.recorded and is_other(spec, lock[name])
    ]
    if old:
        run_pnpm(request, stage, ["remove", "--config.ignore-scripts=true", *old])


def is_other(spec: PluginSpec, locked: Locked) -> bool:
    """Whether a local package isn't what was locked; a copied folder always counts as another."""
    if spec.path is None or spec.link:
        return False
    return spec.kind == "folder" or locked.integrity != integrity_of(spec.path)


@contextmanager
def _log(request: Request) -> Iterator[tuple[Path, IO[bytes]]]:
    """Open a new log file, and forget the oldest ones."""
    import secrets
    from datetime import UTC, datetime

    folder = private_folder(request.places.data / "logs")
    for old in sorted(folder.glob("pnpm-*.log"))[: -_KEPT_LOGS + 1]:
        old.unlink(missing_ok=True)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    path = folder / f"pnpm-{stamp}-{secrets.token_hex(3)}.log"
    with writing(path):
        path.touch(mode=0o600)
        with path.open("wb") as file:
            yield path, file


def pnpm_failure(log: Path, status: int) -> DshloopError:
    """Make an error of the line in pnpm's output that says why it failed."""
    text = log.read_bytes().decode("utf-8", "replace")
    found = _FAULT.search(text)
    code = (found.group(1) or found.group(2) or "") if found else ""
    said = one_line(found.group(3) if found else text.strip().rpartition("\n")[2], 300)
    details: dict[str, Any] = {"status": status, "pnpm_code": code or None, "log": shown(log)}
    message = f"pnpm failed: {said or 'it said nothing'}"
    hint = f"{_HINTS.get(code, '')} pnpm's output: {shown(log)}".strip()
    if code == "ERR_PNPM_FETCH_404":
        return PackageNotFoundError(message, hint=hint, **details)
    if status in (126, 127):
        return PnpmMissingError(f"pnpm can't run: {said}", **details)
    kind = RegistryUnreachableError if _NETWORK.search(text) else PnpmFailedError
    return kind(message, hint=hint, **details)


def _local_name(request: Request, spec: PluginSpec) -> str:
    with TemporaryDirectory(prefix="dshloop-") as folder:
        return open_package(request, spec, Path(folder) / "package").name


def _names(
    specs: Sequence[PluginSpec], named: Sequence[str | None], before: Manifest, after: Manifest
) -> list[str]:
    """Find under which names pnpm recorded the specs; git and tarball specs don't say it."""
    now, old = after.recorded, before.recorded
    names = [
        name or (spec.target if spec.target in now else None)
        for spec, name in zip(specs, named, strict=True)
    ]
    fresh = [name for name in now if old.get(name) != now[name] and name not in names]
    for index, spec in enumerate(specs):
        if names[index] is None:
            same = [name for name in now if now[name] == spec.target]
            names[index] = same[0] if same else fresh.pop(0) if fresh else None
    missing = [spec.text for spec, name in zip(specs, names, strict=True) if name not in now]
    if missing:
        raise PnpmFailedError(f"pnpm recorded no dependency for {', '.join(missing)}")
    return [name for name in names if name is not None]


def stage_changes(request: Request, packages: Sequence[Package], stage: Path) -> Iterator[Change]:
    """Give the changes that bring a stage's lock, workspace file and packages into the profile."""
    profile = request.profile
    files = [
        change
        for name in _FILES
        for change in change_of(profile.folder / name, content_at(stage / name))
    ]
    modules = stage / "node_modules"
    if modules.is_dir() and (files or not _same_packages(request, packages, modules)):
        yield from change_of(profile.modules, tree_from(modules))
    yield from files


def _same_packages(request: Request, packages: Sequence[Package], modules: Path) -> bool:
    """Whether the packages are installed just so already; pnpm's own records always differ."""
    installed = request.profile.modules
    names = [package.name for package in packages]
    return bool(names) and all(
        content_at(installed / name) == content_at(modules / name) for name in names
    )
