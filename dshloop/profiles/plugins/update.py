"""Plugins moved to newer versions, as one transaction: what can move moves, the rest says why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dshloop.errors import PnpmMissingError, ProfileNotFoundError
from dshloop.profiles.bundle import Package, read_package
from dshloop.profiles.layout import Manifest, read_manifest
from dshloop.profiles.plugins.changing import (
    Fetched,
    Outcome,
    PluginChange,
    Request,
    bundles_with,
    content_at,
)
from dshloop.profiles.plugins.fetch import fetch_local
from dshloop.profiles.plugins.pnpm import SCRIPTS_OFF, fetched_from, is_other, local_name, run_steps
from dshloop.profiles.plugins.preflight import preflight, refuse
from dshloop.profiles.plugins.recorded import Recorded, recorded_plugins
from dshloop.profiles.plugins.turnover import (
    as_sole_writer,
    no_such_plugin,
    open_stage,
    plan_changes,
    record_plan,
)
from dshloop.profiles.view import read_installed

_FLAGS = {"devDependencies": "--save-dev", "optionalDependencies": "--save-optional"}


def update_plugins(request: Request, names: Sequence[str], *, latest: bool = False) -> Outcome:
    """Move plugins, all when none is named: within their ranges, with ``latest`` beyond them.

    Archives and copied folders are read again. Raises ProfileNotFoundError,
    PluginNotFoundError, PnpmMissingError for a named one that only pnpm can move, what pnpm has
    wrong, and what the preflight finds.
    """
    if not request.profile.exists:
        name = request.profile.name
        raise ProfileNotFoundError(f'profile "{name}" does not exist', name=name)
    return as_sole_writer(request, lambda: _update(request, list(dict.fromkeys(names)), latest))


def _update(request: Request, names: list[str], latest: bool) -> Outcome:
    profile, manifest = request.profile, read_manifest(request.profile)
    plugins = {one.name: one for one in recorded_plugins(profile, manifest, request.variables)}
    for name in names:
        if name not in plugins:
            raise no_such_plugin(request.profile, manifest, name)
    chosen = [plugins[name] for name in names or plugins]
    with open_stage(request) as stage:
        if request.pnpm is None:
            fetched = _update_local(request, manifest, chosen, stage, named=bool(names))
        else:
            fetched = _update_with_pnpm(request, manifest, chosen, stage, names, latest)
        moved = _moved(request, fetched, stage)
        bundles = bundles_with(manifest.bundles, moved, manifest.recorded)
        after = fetched.manifest.with_bundles(bundles)
        findings = preflight(
            request, manifest, replace(fetched, manifest=after, packages=tuple(moved))
        )
        refuse(request, findings)
        told = {one.name: one for one in chosen} | {one.name: plugins[one.name] for one in moved}
        changes = tuple(_told(request, manifest, after, list(told.values()), moved))
        plan = plan_changes(request, manifest, after, fetched)
        record_plan(request, plan, changes)
    return Outcome(
        profile,
        changes,
        bundles,
        changed=bool(plan.changes),
        dry_run=request.dry_run,
        diff=plan.diff(),
        log=fetched.log,
        findings=tuple(findings),
        allowed=fetched.allowed(request),
    )


def _update_local(
    request: Request,
    manifest: Manifest,
    chosen: Sequence[Recorded],
    stage: Path,
    *,
    named: bool,
) -> Fetched:
    """Read archives and copies again by ourselves; the specs stay as they are written."""
    remote = [one for one in chosen if one.remote]
    if named and remote:
        raise PnpmMissingError(
            f"{remote[0].name} ({remote[0].text}) can't be updated without pnpm",
            spec=remote[0].text,
        )
    specs = [one.spec for one in chosen if one.spec and one.way in ("copy", "archive")]
    fetched = fetch_local(request, manifest, specs, stage)
    return replace(fetched, manifest=manifest)


def _update_with_pnpm(
    request: Request,
    manifest: Manifest,
    chosen: Sequence[Recorded],
    stage: Path,
    names: Sequence[str],
    latest: bool,
) -> Fetched:
    """Run pnpm update for what comes from elsewhere, and add anew what changed on disk."""
    steps: list[list[str]] = []
    remote = [one for one in chosen if one.remote]
    if remote:
        # by its alias pnpm moves a package only with --latest, by its real name only without
        targets = [one.name if latest else one.package for one in remote] if names else []
        flags = ["--latest"] if latest else []
        steps.append(["update", SCRIPTS_OFF, *flags, *dict.fromkeys(targets)])
    steps += _anew(request, manifest, chosen)
    if not steps:
        return Fetched((), manifest, ())

    def brought() -> list[Package]:
        return _moved(request, Fetched((), manifest, ()), stage)

    log, builds = run_steps(request, manifest, stage, steps, brought)
    there = [package for name in manifest.recorded if (package := _read(stage, name))]
    return fetched_from(request, there, stage, log, builds)


def _anew(request: Request, manifest: Manifest, chosen: Sequence[Recorded]) -> Iterator[list[str]]:
    """Yield the steps that bring changed archives and copies in, each in its group."""
    for one in chosen:
        if one.spec is None or one.way not in ("copy", "archive"):
            continue
        local_name(request, one.spec)  # it must be there and readable
        if is_other(request, one.name, one.spec):
            yield ["remove", SCRIPTS_OFF, one.name]
            group = next(
                (flag for group, flag in _FLAGS.items() if one.name in _of(manifest, group)), None
            )
            yield ["add", SCRIPTS_OFF, *([group] if group else []), f"{one.name}@{one.text}"]


def _of(manifest: Manifest, group: str) -> Mapping[str, object]:
    found = manifest.value.get(group)
    return found if isinstance(found, dict) else {}


def _moved(request: Request, fetched: Fetched, stage: Path) -> list[Package]:
    """Give the packages that aren't what is installed now."""
    modules = request.profile.modules
    if request.pnpm is None:
        changed = {change.path for change in fetched.changes}
        return [package for package in fetched.packages if modules / package.name in changed]
    names = fetched.manifest.recorded
    return [
        package
        for package in (_read(stage, name) for name in names)
        if package and content_at(modules / package.name) != content_at(package.folder)
    ]


def _read(stage: Path, name: str) -> Package | None:
    folder = stage / "node_modules" / name
    return read_package(folder, name=name) if (folder / "package.json").is_file() else None


def _told(
    request: Request,
    before: Manifest,
    after: Manifest,
    chosen: Sequence[Recorded],
    moved: Sequence[Package],
) -> Iterator[PluginChange]:
    new = {package.name: package for package in moved}
    for one in chosen:
        old = read_installed(request.profile, one.name)
        was = old.version if old else None
        layer = after.bundles.index(one.name) + 1 if one.name in after.bundles else None
        spec = after.recorded.get(one.name, "")
        if one.name in new or spec != before.recorded.get(one.name):
            version = new[one.name].version if one.name in new else was
            yield PluginChange(one.name, version, spec, "updated", layer, was)
        else:
            why = "only pnpm can move it" if request.pnpm is None and one.remote else one.why
            yield PluginChange(one.name, was, spec, "unchanged", layer, was, why)
