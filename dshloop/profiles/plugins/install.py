"""Plugins added to and removed from a profile, each command as one transaction.

Order of an add: read the specs, look into the packages, bring them in beside the profile, compose
with them, refuse what would break or silently change a boot, and only then change the profile.
On any failure or crash everything is as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from dshloop.errors import ProfileNotFoundError
from dshloop.journal import Plan
from dshloop.profiles.bundle import Package, version_in
from dshloop.profiles.layout import Manifest, read_manifest
from dshloop.profiles.plugins.changing import (
    Fetched,
    Outcome,
    PluginChange,
    Request,
    State,
    bundles_with,
    change_of,
)
from dshloop.profiles.plugins.disabled import disabled_plugins, forget
from dshloop.profiles.plugins.fetch import fetch_local, missing_dependencies
from dshloop.profiles.plugins.pnpm import fetch_with_pnpm, is_other, remove_with_pnpm
from dshloop.profiles.plugins.preflight import preflight, refuse
from dshloop.profiles.plugins.spec import PluginSpec, parse_spec
from dshloop.profiles.plugins.turnover import (
    as_sole_writer,
    needed_by,
    no_such_plugin,
    open_stage,
    plan_changes,
    record_plan,
)
from dshloop.profiles.rows import left_rows
from dshloop.profiles.stack import find_bundle


def add_plugins(request: Request, texts: Sequence[str]) -> Outcome:
    """Add plugins to a profile, creating it as dsh does when it is missing.

    Raises what a spec, a package or pnpm has wrong, and what the preflight finds (`refuse`).
    """
    specs = [parse_spec(text, request.cwd, request.variables) for text in dict.fromkeys(texts)]
    return as_sole_writer(request, lambda: _add(request, specs))


def remove_plugins(request: Request, names: Sequence[str]) -> Outcome:
    """Take plugins out of a profile's dependencies, bundle list and node_modules.

    Raises ProfileNotFoundError, and PluginNotFoundError (PLUGIN_NOT_FOUND) when a name is in
    neither list; nothing is changed then.
    """
    if not request.profile.exists:
        raise ProfileNotFoundError(
            f'profile "{request.profile.name}" does not exist', name=request.profile.name
        )
    return as_sole_writer(request, lambda: _remove(request, list(dict.fromkeys(names))))


@dataclass(frozen=True, slots=True)
class Staged:
    """An installation that stands in a stage, looked through and not yet put in place.

    ``fetched.manifest`` is the whole manifest to be; ``modules`` is a node_modules with all
    packages in it, None where only the new ones are fetched.
    """

    fetched: Fetched
    plan: Plan
    outcome: Outcome
    modules: Path | None


@contextmanager
def staged_add(request: Request, specs: Sequence[PluginSpec]) -> Iterator[Staged]:
    """Fetch plugins and look through what the profile would become; the stage is gone after.

    Raises as `add_plugins`.
    """
    profile, manifest = request.profile, read_manifest(request.profile)
    with open_stage(request) as stage:
        fetch = fetch_with_pnpm if request.pnpm else fetch_local
        fetched = fetch(request, manifest, specs, stage)
        bundles = bundles_with(manifest.bundles, fetched.packages, manifest.recorded)
        active = [package.name for package in fetched.packages if package.name in bundles]
        after = forget(fetched.manifest.with_bundles(bundles), active)
        fetched = replace(fetched, manifest=after)
        findings = preflight(request, manifest, fetched)
        refuse(request, findings)
        plan = plan_changes(request, manifest, after, fetched)
        outcome = Outcome(
            profile,
            tuple(_added(manifest, after, plan, package) for package in fetched.packages),
            bundles,
            changed=bool(plan.changes),
            created=not profile.exists,
            dry_run=request.dry_run,
            diff=plan.diff(),
            log=fetched.log,
            cautions=tuple(_cautions(request, specs, fetched)),
            findings=tuple(findings),
            allowed=fetched.allowed(request),
        )
        yield Staged(fetched, plan, outcome, stage / "node_modules" if request.pnpm else None)


def _add(request: Request, specs: Sequence[PluginSpec]) -> Outcome:
    with staged_add(request, specs) as staged:
        record_plan(request, staged.plan, staged.outcome.plugins)
        return staged.outcome


def _cautions(request: Request, specs: Sequence[PluginSpec], fetched: Fetched) -> Iterator[str]:
    yield from _relocked(request, specs, fetched.packages)
    yield from _plain(fetched.packages)
    yield from _off(fetched.manifest, fetched.packages)
    yield from _lacking(fetched.packages)
    yield from _drift(request, fetched)


def _remove(request: Request, names: Sequence[str]) -> Outcome:
    profile = request.profile
    manifest = read_manifest(profile)
    groups = manifest.recorded
    for name in names:
        if name not in {*groups, *disabled_plugins(manifest)} and name not in manifest.bundles:
            raise no_such_plugin(request.profile, manifest, name)
    gone = [_gone(request, manifest, groups, name) for name in dict.fromkeys(names)]
    left = left_rows(profile, names)
    with open_stage(request) as stage:
        recorded = [name for name in dict.fromkeys(names) if name in groups]
        if request.pnpm and recorded:
            fetched = remove_with_pnpm(request, manifest, recorded, stage)
        else:
            fetched = _remove_local(request, manifest, names)
        bundles = tuple(bundle for bundle in manifest.bundles if bundle not in names)
        after = forget(fetched.manifest.with_bundles(bundles), names)
        plan = plan_changes(request, manifest, after, fetched)
        record_plan(request, plan, gone)
    return Outcome(
        profile,
        tuple(gone),
        bundles,
        changed=True,
        dry_run=request.dry_run,
        diff=plan.diff(),
        log=fetched.log,
        cautions=(*needed_by(profile, manifest, names), *_drift(request, fetched)),
        left=tuple(left),
    )


def _relocked(
    request: Request, specs: Sequence[PluginSpec], packages: Sequence[Package]
) -> Iterator[str]:
    """Tell of archives that aren't the ones that pnpm has locked under their names."""
    for spec, package in zip(specs, packages, strict=True):
        if spec.kind == "archive" and is_other(request, package.name, spec):
            yield (
                f"{spec.path} isn't the archive that pnpm-lock.yaml has for {package.name} "
                "(another checksum); the new one is taken"
            )


def _plain(packages: Sequence[Package]) -> Iterator[str]:
    for package in packages:
        if not package.is_bundle:
            yield (
                f"{package.name} declares no dsh.bundle — installed as a plain dependency, "
                "not a profile layer"
            )


def _off(after: Manifest, packages: Sequence[Package]) -> Iterator[str]:
    off = disabled_plugins(after)
    for package in packages:
        if not package.is_bundle or package.name in after.bundles:
            continue
        why = off[package.name].why if package.name in off else "taken off the bundle list"
        yield (
            f"{package.name} is installed but no layer: {why}; to have it back: "
            f"dshloop plugin enable {package.name}"
        )


def _lacking(packages: Sequence[Package]) -> Iterator[str]:
    """Tell of linked folders whose dependencies nobody has installed; pnpm leaves them alone."""
    for package in packages:
        missing = missing_dependencies(package, linked=True)
        if missing:
            yield (
                f"{package.name} needs {', '.join(missing)}, not installed where its folder is; "
                f"run pnpm install in {package.folder.resolve()}"
            )


def _drift(request: Request, fetched: Fetched) -> Iterator[str]:
    lock = request.profile.folder / "pnpm-lock.yaml"
    if request.pnpm is None and fetched.changes and lock.is_file():
        yield f"{lock} doesn't know of this change, made without pnpm; pnpm's next run writes it"


def _added(before: Manifest, after: Manifest, plan: Plan, package: Package) -> PluginChange:
    name, now = package.name, after.recorded
    state: State = "added"
    if name in before.recorded:
        state = "updated" if plan.changes else "unchanged"
    layer = after.bundles.index(name) + 1 if name in after.bundles else None
    return PluginChange(name, package.version, now.get(name, ""), state, layer)


def _gone(
    request: Request, manifest: Manifest, groups: Mapping[str, str], name: str
) -> PluginChange:
    folder = find_bundle(request.profile.folder, name)
    layer = manifest.bundles.index(name) + 1 if name in manifest.bundles else None
    return PluginChange(name, version_in(folder), groups.get(name, ""), "removed", layer)


def _remove_local(request: Request, manifest: Manifest, names: Sequence[str]) -> Fetched:
    changes = []
    for name in names:
        changes += change_of(request.profile.modules / name, None)
    return Fetched((), manifest.without(names), tuple(changes))
