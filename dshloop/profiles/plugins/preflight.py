"""What would be wrong with a profile after a change of its plugins, found before it changes.

The checks of a profile run on it as it is and as it would be; what is new is the change's own
doing. Errors refuse the change (exit 4) unless it is forced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dshloop.errors import BundleInvalidError, PluginRefusedError, RefusedError, RowIdTakenError
from dshloop.profiles.bundle import Package
from dshloop.profiles.checks import kinds
from dshloop.profiles.checks.bundles import check_bundles
from dshloop.profiles.checks.check import Check, check_profile, dialect_of
from dshloop.profiles.checks.composition import check_composition
from dshloop.profiles.checks.findings import Finding, worst_first
from dshloop.profiles.checks.installed import check_installed
from dshloop.profiles.checks.names import check_names
from dshloop.profiles.checks.slots import check_slots
from dshloop.profiles.checks.subject import Case
from dshloop.profiles.checks.values import check_values
from dshloop.profiles.layers import Place
from dshloop.profiles.layout import Manifest
from dshloop.profiles.plugins.builds import Build
from dshloop.profiles.plugins.changing import Fetched, Request
from dshloop.profiles.plugins.compatibility import exemptions, unmet
from dshloop.profiles.row_names import file_url
from dshloop.profiles.rows import Taken, taken_ids
from dshloop.profiles.stack import find_bundle

_CHECKS: tuple[Check, ...] = (
    check_bundles,
    check_composition,
    check_names,
    check_slots,
    check_values,
)


def preflight(request: Request, before: Manifest, fetched: Fetched) -> list[Finding]:
    """Find what a change would break or leave undone, worst first.

    ``fetched.manifest`` is the whole manifest after the change, bundle list included.
    """
    now, then = _case(request, before), _case(request, fetched.manifest, fetched.packages)
    known = {finding.identity for finding in check_profile(now, _CHECKS).findings}
    taken = _taken(then, fetched.packages)
    new = [
        _owned(finding, taken)
        for finding in check_profile(then, _CHECKS).findings
        if finding.identity not in known
    ]
    judged = [_judged(request, finding, fetched.packages) for finding in new]
    return worst_first([*judged, *_drift(request, now), *_builds(request, fetched.builds)])


def refuse(request: Request, findings: Sequence[Finding]) -> None:
    """Raise when a finding is an error, unless the request is forced.

    RowIdTakenError (ROW_ID_TAKEN) and BundleInvalidError (BUNDLE_INVALID) where that comes first,
    else PluginRefusedError (PLUGIN_REFUSED); details list all findings.
    """
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors and not request.force:
        raise _refusal(errors[0], findings, len(errors) - 1)


def _refusal(worst: Finding, findings: Sequence[Finding], more: int) -> RefusedError:
    listed = [finding.as_json() for finding in findings]
    details = {**worst.details, "row": worst.row, "findings": listed}
    message = worst.why + (f" ({more} more error{'s' * (more > 1)})" if more else "")
    if worst.kind is kinds.ROW_ID_DUPLICATE:
        return RowIdTakenError(message, **details)
    if worst.kind in (kinds.BUNDLE_BROKEN, kinds.BUNDLE_UNDECLARED):
        place = worst.place or Place("")
        return BundleInvalidError(
            message, file=place.file, line=place.line, column=place.column, **details
        )
    fix = worst.fix or worst.kind.fix
    hint = f"Nothing was changed. {fix} --force goes on anyway."
    return PluginRefusedError(message, hint=hint, finding=worst.code, **details)


def _case(request: Request, manifest: Manifest, packages: Sequence[Package] = ()) -> Case:
    profile = request.profile
    folders = {package.name: package.folder for package in packages}

    def find(name: str) -> Path | None:
        return folders.get(name) or find_bundle(profile.folder, name)

    return Case(
        profile,
        inbox=request.inbox,
        dialect=dialect_of(request.engines.dsh_version),
        manifest_override=manifest,
        find=find,
        engines=request.engines,
    )


def _drift(request: Request, now: Case) -> Iterator[Finding]:
    """Tell of packages that aren't what is recorded: pnpm brings the recorded ones back."""
    if request.pnpm is None:
        return
    for finding in check_profile(now, (check_installed,)).findings:
        if finding.kind in (kinds.VERSION_DRIFT, kinds.LOCK_DRIFT):
            yield finding


def _taken(case: Case, packages: Sequence[Package]) -> list[Taken]:
    """Find the rows that newcomers insert though another layer has them."""
    names = {package.name for package in packages}
    bundles = [layer for layer in case.layers if layer.kind == "bundle"]
    newcomers = [layer for layer in bundles if layer.label in names]
    others = [layer for layer in case.layers if layer not in newcomers]
    return taken_ids(others, newcomers)


def _owned(finding: Finding, taken: Sequence[Taken]) -> Finding:
    """Say of a row that is there twice who has it and who wants it, whatever their order."""
    found = next((one for one in taken if one.row == finding.row), None)
    if finding.kind is not kinds.ROW_ID_DUPLICATE or found is None:
        return finding
    others = [{"row": o.row, "owner": o.owner, "newcomer": o.newcomer} for o in taken]
    details = {"owner": found.owner, "newcomer": found.newcomer, "taken": others}
    return replace(finding, why=found.message, details=details)


def _judged(request: Request, finding: Finding, packages: Sequence[Package]) -> Finding:
    """Give a finding the weight it has here: dsh 0.2.1 rejects and skips what asks for another."""
    if finding.kind is kinds.ENGINE_UNMET and _rejected(request, finding, packages):
        finding = replace(finding, severity="error")
    return _told(request, finding, packages)


def _told(request: Request, finding: Finding, packages: Sequence[Package]) -> Finding:
    """Name files where the user has them or will have them, not where they are looked at."""
    for package in packages:
        here = str(package.folder)
        there = str(package.origin or request.profile.modules / package.name)
        if here == there:
            continue
        place = finding.place
        if place is not None and place.file is not None:
            place = place._replace(file=place.file.replace(here, there))
        why = finding.why.replace(file_url(here), there).replace(here, there)
        finding = replace(finding, place=place, why=why)
    return finding


def _rejected(request: Request, finding: Finding, packages: Sequence[Package]) -> bool:
    label = finding.place.label if finding.place else ""
    package = next((one for one in packages if one.name == label), None)
    ranges = unmet(package, request.engines, exemptions(request.profile)) if package else []
    return any(one.program == "dsh" for one in ranges)


def _builds(request: Request, builds: Sequence[Build]) -> Iterator[Finding]:
    """Tell of install scripts that were not run, with the entry that gives pnpm leave."""
    if request.runs_scripts:
        return
    for build in builds:
        scripts = ", ".join(build.scripts)
        yield Finding(
            kinds.BUILD_NOT_ALLOWED,
            f"{build.package} has install scripts ({scripts}), which did not run",
            Place(build.package, str(request.profile.folder / "pnpm-workspace.yaml")),
            fix="Add it with --allow-build, or write into the profile's pnpm-workspace.yaml: "
            + build.entry,
            severity="warning",
            details={"key": build.key, "scripts": list(build.scripts), "entry": build.entry},
        )
