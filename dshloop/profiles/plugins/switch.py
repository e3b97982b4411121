"""Plugins switched off and on again without touching what is installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from dshloop.errors import PluginInactiveError, ProfileNotFoundError
from dshloop.files import read_bytes
from dshloop.journal import Change
from dshloop.profiles.bundle import version_in
from dshloop.profiles.checks import kinds
from dshloop.profiles.checks.findings import Finding
from dshloop.profiles.layout import Manifest, read_manifest
from dshloop.profiles.plugins.changing import Fetched, Outcome, PluginChange, Request, State
from dshloop.profiles.plugins.disabled import SHELF, disabled_plugins, with_disabled, with_enabled
from dshloop.profiles.plugins.lockfile import moved
from dshloop.profiles.plugins.preflight import preflight, refuse
from dshloop.profiles.plugins.turnover import (
    as_sole_writer,
    needed_by,
    no_such_plugin,
    plan_changes,
    record_plan,
)
from dshloop.profiles.stack import find_bundle
from dshloop.profiles.view import read_installed

Step = Callable[[Manifest, str], Manifest]


def disable_plugins(
    request: Request, names: Sequence[str], *, reason: str | None, now: float
) -> Outcome:
    """Switch plugins off so that no command of dsh's brings them back; see `disabled`.

    Raises ProfileNotFoundError, and PluginNotFoundError when the profile has no such plugin.
    """
    at = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")

    def step(manifest: Manifest, name: str) -> Manifest:
        known = disabled_plugins(manifest).get(name)
        off = known is not None and name not in manifest.bundles
        if off and reason in (None, known.reason if known else None):
            return manifest
        return with_disabled(manifest, name, reason=reason, at=at)

    return as_sole_writer(
        request, lambda: _switch(request, list(dict.fromkeys(names)), step, "disabled")
    )


def enable_plugins(request: Request, names: Sequence[str]) -> Outcome:
    """Switch plugins on again, each at its old place in the order of layers.

    Raises as `disable_plugins`, PluginInactiveError (PLUGIN_INACTIVE) for what is no bundle, and
    what the preflight finds.
    """

    def step(manifest: Manifest, name: str) -> Manifest:
        package = read_installed(request.profile, name)
        if package is not None and not package.is_bundle:
            raise PluginInactiveError(
                f"{name} declares no dsh.bundle, so it can't be a layer", name=name
            )
        return with_enabled(manifest, name)

    return as_sole_writer(
        request, lambda: _switch(request, list(dict.fromkeys(names)), step, "enabled")
    )


def _switch(request: Request, names: Sequence[str], step: Step, state: State) -> Outcome:
    profile = request.profile
    if not profile.exists:
        raise ProfileNotFoundError(f'profile "{profile.name}" does not exist', name=profile.name)
    before = after = read_manifest(profile)
    for name in names:
        if name not in {*before.recorded, *disabled_plugins(before), *_texts(before)}:
            raise no_such_plugin(profile, before, name)
        after = step(after, name)
    fetched = Fetched((), after, tuple(_lock(request, before, after)))
    findings = (
        preflight(request, before, fetched)
        if state == "enabled"
        else _missed(request, before, fetched)
    )
    refuse(request, findings)
    plan = plan_changes(request, before, after, fetched)
    changes = tuple(_change(request, before, after, name, state) for name in names)
    record_plan(request, plan, changes)
    return Outcome(
        profile,
        changes,
        after.bundles,
        changed=bool(plan.changes),
        dry_run=request.dry_run,
        diff=plan.diff(),
        cautions=tuple(needed_by(profile, before, names)) if state == "disabled" else (),
        findings=tuple(findings),
    )


def _missed(request: Request, before: Manifest, fetched: Fetched) -> list[Finding]:
    """Find what misses the rows that go; nothing of it keeps a plugin from being switched off."""
    found = preflight(request, before, fetched)
    return [
        replace(finding, severity="warning") if finding.severity == "error" else finding
        for finding in found
        if finding.kind is not kinds.BUNDLE_OFF
    ]


def _lock(request: Request, before: Manifest, after: Manifest) -> list[Change]:
    """Move in the lock what moved in the manifest, so that a frozen install still fits."""
    path = request.profile.folder / "pnpm-lock.yaml"
    data = text = read_bytes(path)
    if data is None or text is None:
        return []
    for source, target in (("dependencies", SHELF), (SHELF, "dependencies")):
        gone = _group(before, source).keys() - _group(after, source).keys()
        text = moved(text, sorted(gone & _group(after, target).keys()), source, target)
    return [Change(path, data, text)] if text != data else []


def _group(manifest: Manifest, group: str) -> dict[str, object]:
    found = manifest.value.get(group)
    return found if isinstance(found, dict) else {}


def _change(
    request: Request, before: Manifest, after: Manifest, name: str, state: State
) -> PluginChange:
    folder = find_bundle(request.profile.folder, name)
    layer = after.bundles.index(name) + 1 if name in after.bundles else None
    same = _group(before, "dshloop") == _group(after, "dshloop") and before.bundles == after.bundles
    return PluginChange(
        name,
        version_in(folder),
        after.recorded.get(name, ""),
        "unchanged" if same else state,
        layer,
    )


def _texts(manifest: Manifest) -> list[str]:
    return [bundle for bundle in manifest.bundles if isinstance(bundle, str)]
