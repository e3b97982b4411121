"""Manifest, lock and node_modules against each other, and dsh's own cordis.yml."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from dshloop.dsh_yaml import load
from dshloop.errors import DshloopError
from dshloop.files import shown
from dshloop.journal import Link
from dshloop.profiles.bundle import valid_package_name, version_in
from dshloop.profiles.checks import kinds
from dshloop.profiles.checks.bundles import entry_place
from dshloop.profiles.checks.findings import Finding, Mend, Severity
from dshloop.profiles.checks.subject import Case
from dshloop.profiles.layers import Place
from dshloop.profiles.layout import Manifest
from dshloop.profiles.plugins.lockfile import Locked, read_lock


def check_installed(case: Case) -> Iterator[Finding]:
    """Compare what is recorded with what is there."""
    yield from _cordis_yml(case)
    manifest = case.manifest
    if not isinstance(manifest, Manifest):
        return
    locked, faults = _lock(case)
    yield from faults
    for name, spec in manifest.recorded.items():
        if not valid_package_name(name):  # it would lead out of node_modules
            continue
        entry = locked.get(name) if locked is not None else None
        yield from _dependency(case, manifest, name, spec)
        yield from _versions(case, name, spec, entry)
    yield from _left(case, manifest)
    if locked is not None:
        yield from _lock_drift(case, manifest, locked)


def _dependency(case: Case, manifest: Manifest, name: str, spec: str) -> Iterator[Finding]:
    path = case.profile.modules / name
    content = case.files.content(path)
    target = _link_target(spec)
    place = entry_place(case, name)
    install = f"dsh plugin --profile {case.profile.name} install"
    gone = f"Bring the folder back, or remove the plugin: dshloop plugin remove {name}"
    if content is None:
        if target is not None and not target.is_dir():
            why = f"{name} is linked to {shown(target)}, which does not exist"
            severity = _weight(manifest, name)
            yield Finding(kinds.LINK_STALE, why, place, fix=gone, severity=severity)
            return
        why = f"{name} is a dependency but not in node_modules"
        mend = Mend(path, f"link {name} again", lambda _: Link(str(target))) if target else None
        severity = _weight(manifest, name)
        fix = f"Install it again: {install}"
        yield Finding(kinds.DEPENDENCY_MISSING, why, place, fix=fix, mend=mend, severity=severity)
    elif isinstance(content, Link) and not path.is_dir():
        why = f"{name} is linked to {content.target}, which is gone"
        severity, mend = _weight(manifest, name), _relink(path, target)
        yield Finding(kinds.LINK_STALE, why, place, fix=gone, mend=mend, severity=severity)
    elif isinstance(content, Link) and target is not None and not _same_folder(path, target):
        why = f"{name} is linked to {content.target}, package.json says {shown(target)}"
        mend = _relink(path, target)
        yield Finding(kinds.LINK_ELSEWHERE, why, place, mend=mend)


def _weight(manifest: Manifest, name: str) -> Severity | None:
    """An active layer that is missing is an error, another package only worth a warning."""
    return None if name in manifest.bundles else "warning"


def _link_target(spec: str) -> Path | None:
    return Path(spec.removeprefix("link:")) if spec.startswith("link:") else None


def _relink(path: Path, target: Path | None) -> Mend | None:
    if target is None or not target.is_dir():
        return None
    return Mend(path, f"link it to {shown(target)}", lambda _: Link(str(target)))


def _same_folder(path: Path, target: Path) -> bool:
    return not target.is_dir() or os.path.realpath(path) == os.path.realpath(target)


def _versions(case: Case, name: str, spec: str, locked: Locked | None) -> Iterator[Finding]:
    """Compare the installed version with the range in the manifest and with the lock."""
    from dshloop.profiles.plugins.ranges import accepts, is_exact

    installed = version_in(case.profile.modules / name)
    if installed is None or spec.startswith("link:"):
        return
    place = Place("package.json", shown(case.profile.modules / name / "package.json"))
    wanted = locked.version.partition("(")[0] if locked else ""
    fix = f"Record the one you want: dshloop plugin update {name}"
    if is_exact(wanted) and wanted != installed:
        why = f"{name} {installed} is installed, pnpm-lock.yaml says {wanted}"
        yield Finding(kinds.VERSION_DRIFT, why, place, fix=fix)
    elif _is_range(spec) and not accepts(spec, installed):
        why = f"{name} {installed} is installed, package.json says {spec}"
        yield Finding(kinds.VERSION_DRIFT, why, place, fix=fix)


def _is_range(spec: str) -> bool:
    return bool(spec) and (spec[0].isdigit() or spec[0] in "^~<>=") and ":" not in spec


def _left(case: Case, manifest: Manifest) -> Iterator[Finding]:
    """Find links in node_modules that belong to no dependency (pnpm 11 leaves them)."""
    modules = case.profile.modules
    for path in _entries(modules):
        name = path.relative_to(modules).as_posix()
        if not path.is_symlink() or case.files.content(path) is None:
            continue
        # pnpm's own links lead into node_modules; those of `link:` lead out of it
        outside = modules.resolve() not in Path(os.path.realpath(path)).parents
        if name in manifest.recorded or name in case.bundles or not outside:
            continue
        why = f"{name} leads to {shown(path.readlink())} but is no dependency"
        mend = Mend(path, f"take the link {name} out", lambda _: None)
        yield Finding(kinds.MODULE_LEFT, why, Place("node_modules", shown(path)), mend=mend)


def _entries(modules: Path) -> Iterator[Path]:
    try:
        found = sorted(modules.iterdir())
    except OSError:
        return
    for path in found:
        if path.name.startswith("@") and not path.is_symlink():
            try:
                yield from sorted(path.iterdir())
            except OSError:
                continue
        elif not path.name.startswith("."):
            yield path


def _lock(case: Case) -> tuple[dict[str, Locked] | None, list[Finding]]:
    path = case.profile.folder / "pnpm-lock.yaml"
    place = Place("pnpm-lock.yaml", shown(path))
    try:
        data = case.files.read(path)
        if data is None:
            return None, []
        value = load(data.decode("utf-8-sig", "replace"), source=shown(path))
    except DshloopError as fault:
        at = place._replace(line=fault.details.get("line"), column=fault.details.get("column"))
        return None, [Finding(kinds.LOCK_INVALID, fault.message, at)]
    if not isinstance(value, dict):
        return None, [Finding(kinds.LOCK_INVALID, "it holds no mapping", place)]
    return read_lock(data), []


def _lock_drift(case: Case, manifest: Manifest, locked: dict[str, Locked]) -> Iterator[Finding]:
    place = Place("pnpm-lock.yaml", shown(case.profile.folder / "pnpm-lock.yaml"))
    fix = f"Let pnpm bring them together: dsh plugin --profile {case.profile.name} install"
    for name, spec in manifest.recorded.items():
        entry = locked.get(name)
        if entry is None:
            if not spec.startswith("link:"):
                why = f"{name} is in package.json but not in the lock"
                yield Finding(kinds.LOCK_DRIFT, why, place, fix=fix)
        elif entry.specifier != spec:
            why = f"{name}: package.json says {spec}, the lock {entry.specifier}"
            yield Finding(kinds.LOCK_DRIFT, why, place, fix=fix)
    for name in locked:
        if name not in manifest.recorded:
            why = f"{name} is in the lock but not in package.json"
            yield Finding(kinds.LOCK_DRIFT, why, place, fix=fix)


def _cordis_yml(case: Case) -> Iterator[Finding]:
    path = case.profile.folder / "cordis.yml"
    place = Place("cordis.yml", shown(path), 1, 1)
    try:
        data = case.files.read(path)
        value = [] if data is None else load(data, source=shown(path))
    except DshloopError as fault:
        yield Finding(kinds.CORDIS_YML_DIRTY, f"it can't be read: {fault.message}", place)
        return
    if value == []:
        return
    rows = f"entries ({len(value)})" if isinstance(value, list) else "something that is no list"
    yield Finding(kinds.CORDIS_YML_DIRTY, f"it holds {rows}", place)
