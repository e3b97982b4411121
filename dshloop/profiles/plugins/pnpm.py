"""Packages brought in by the user's pnpm, which works in a stage and never in the profile.

pnpm runs as dsh runs it (dsh-profiles 12), but without install scripts, and what it did reaches
the profile only as one journal transaction. Its output goes to a log in our data folder.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from dshloop.dsh import run_program
from dshloop.errors import DshloopError, PnpmFailedError
from dshloop.files import read_bytes, writing
from dshloop.journal import Change
from dshloop.paths import private_folder
from dshloop.profiles.bundle import Package, read_package
from dshloop.profiles.create import WORKSPACE_TEXT
from dshloop.profiles.layout import Manifest, parse_manifest
from dshloop.profiles.plugins.builds import Build, allow_builds, builds_in
from dshloop.profiles.plugins.changing import Fetched, Request, change_of, content_at, tree_from
from dshloop.profiles.plugins.fetch import open_package, require_distinct
from dshloop.profiles.plugins.lockfile import integrity_of, read_lock
from dshloop.profiles.plugins.pnpm_errors import failure_in
from dshloop.profiles.plugins.spec import PluginSpec
from dshloop.profiles.plugins.stage import clear, fill

SCRIPTS_OFF = "--config.ignore-scripts=true"
_OTHERS_WAIT = "--config.strict-dep-builds=false"  # packages without leave are no error

_KEPT_LOGS = 20
_FILES = ("pnpm-lock.yaml", "pnpm-workspace.yaml")


def fetch_with_pnpm(
    request: Request, manifest: Manifest, specs: Sequence[PluginSpec], stage: Path
) -> Fetched:
    """Run ``pnpm add`` in a filled stage; give what it installed, in the order of the specs."""
    named = [local_name(request, spec) if spec.local else spec.alias for spec in specs]
    old = [
        name
        for name, spec in zip(named, specs, strict=True)
        if name and is_other(request, name, spec)
    ]
    steps = [["add", SCRIPTS_OFF, *(spec.for_pnpm for spec in specs)]]
    if old:
        steps.insert(0, ["remove", SCRIPTS_OFF, *old])

    def added() -> list[Package]:
        names = _names(specs, named, manifest, recorded_in(request, stage))
        return [
            replace(read_package(stage / "node_modules" / name, name=name), origin=spec.path)
            for name, spec in zip(names, specs, strict=True)
        ]

    log, builds = run_steps(request, manifest, stage, steps, added)
    packages = added()
    require_distinct(packages, specs)
    return fetched_from(request, packages, stage, log, builds)


def remove_with_pnpm(
    request: Request, manifest: Manifest, names: Sequence[str], stage: Path
) -> Fetched:
    """Run ``pnpm remove`` in a filled stage, and remove links that pnpm leaves behind."""
    log, _ = run_steps(request, manifest, stage, [["remove", SCRIPTS_OFF, *names]], list)
    for name in names:
        left = stage / "node_modules" / name
        if left.is_symlink():
            left.unlink()
    return fetched_from(request, (), stage, log)


def run_steps(
    request: Request,
    manifest: Manifest,
    stage: Path,
    steps: Sequence[Sequence[str]],
    packages: Callable[[], Sequence[Package]],
) -> tuple[Path, list[Build]]:
    """Run pnpm commands in a stage, scripts off; once more with the scripts that have leave.

    ``packages`` gives what the steps have brought. Gives the log of the last command, and the
    packages that have scripts to run. Raises PackageNotFoundError, RegistryUnreachableError,
    PnpmMissingError or PnpmFailedError.
    """
    open_profile(request, manifest, stage)
    logs = [run_pnpm(request, stage, step) for step in steps]
    builds = builds_in(stage, request.profile.folder, packages())
    if request.runs_scripts and builds:
        clear(stage)
        open_profile(request, manifest, stage)
        # pnpm runs nothing for what it finds in place
        shutil.rmtree(stage / "node_modules", ignore_errors=True)
        allow_builds(stage, builds)
        for step in steps:
            words = [_OTHERS_WAIT if word == SCRIPTS_OFF else word for word in step]
            logs.append(run_pnpm(request, stage, words))
    return logs[-1], builds


def fetched_from(
    request: Request,
    packages: Sequence[Package],
    stage: Path,
    log: Path | None,
    builds: Sequence[Build] = (),
) -> Fetched:
    """Give what pnpm has left in a stage as changes of the profile."""
    changes = tuple(stage_changes(request, packages, stage))
    return Fetched(tuple(packages), recorded_in(request, stage), changes, log, tuple(builds))


def open_profile(request: Request, manifest: Manifest, stage: Path) -> None:
    """Fill a stage with what pnpm needs of the profile, or of the one to be created."""
    fill(stage, request.profile)
    with writing(stage / "package.json"):
        (stage / "package.json").write_bytes(manifest.as_bytes())
        if not request.profile.exists:
            (stage / "pnpm-workspace.yaml").write_text(WORKSPACE_TEXT, encoding="utf-8")


def run_pnpm(request: Request, stage: Path, words: Sequence[str]) -> Path:
    """Run one pnpm command in a stage; give its log."""
    assert request.pnpm is not None
    args = [words[0], "--reporter=append-only", *words[1:]]
    with _log(request) as (log, file):
        ended = run_program(request.pnpm, args, variables=request.variables, cwd=stage, log=file)
    if ended.status != 0:
        raise failure_in(log, ended.status, filled_by=_filled_by(request))
    return log


def _filled_by(request: Request) -> str | None:
    """Say which pnpm filled the profile's node_modules, as pnpm recorded it (``pnpm@11.7.0``)."""
    try:
        data = read_bytes(request.profile.modules / ".modules.yaml") or b"{}"
        found = json.loads(data).get("packageManager")
    except (DshloopError, ValueError, AttributeError, RecursionError):
        return None
    return found if isinstance(found, str) else None


def recorded_in(request: Request, stage: Path) -> Manifest:
    """Read the manifest that pnpm has left in a stage."""
    path = stage / "package.json"
    return parse_manifest(read_bytes(path) or b"{}", path, name=request.profile.name)


def is_other(request: Request, name: str, spec: PluginSpec) -> bool:
    """Whether a recorded archive or copy has other content now: pnpm would keep the old one.

    A copied folder always counts as another: pnpm doesn't lock what is in it.
    """
    lock = read_lock(read_bytes(request.profile.folder / "pnpm-lock.yaml") or b"")
    if spec.path is None or spec.link or name not in lock:
        return False
    return spec.kind == "folder" or lock[name].integrity != integrity_of(spec.path)


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


def local_name(request: Request, spec: PluginSpec) -> str:
    """Give the name of a local package; errors as of `open_package`."""
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
