"""The manifest and its bundle list: what is listed, what it brings, what it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dshloop.errors import BundleInvalidError, DshloopError, FailedError
from dshloop.files import BOM, shown
from dshloop.profiles.bundle import Package, check_patches, read_package, valid_package_name
from dshloop.profiles.checks import kinds
from dshloop.profiles.checks.edits import manifest_edit
from dshloop.profiles.checks.findings import Edit, Finding, Mend
from dshloop.profiles.checks.subject import Case
from dshloop.profiles.layers import Place
from dshloop.profiles.layout import SCOPE, Manifest
from dshloop.profiles.plugins.disabled import disabled_plugins
from dshloop.profiles.row_names import id_text
from dshloop.profiles.stack import Skipped, find_bundle


def check_bundles(case: Case) -> Iterator[Finding]:
    """Look at package.json, then at each bundle it lists and at those it doesn't."""
    yield from _manifest(case)
    if not isinstance(case.manifest, Manifest):
        return
    yield from _twice(case)
    for skipped in case.bundle_stack[1]:
        yield _skipped(case, skipped)
    yield from _undepended(case, case.manifest)
    yield from _off(case, case.manifest)
    for name in filter(valid_package_name, case.manifest.recorded):
        yield from _brought_along(case, name)


def entry_place(case: Case, text: str) -> Place:
    """Say in which line of package.json a text in quotes stands last."""
    path = case.profile.manifest
    try:
        lines = (case.files.read(path) or b"").decode("utf-8", "replace").splitlines()
    except DshloopError:
        lines = []
    for number in range(len(lines), 0, -1):
        column = lines[number - 1].rfind(f'"{text}"')
        if column >= 0:
            return Place("package.json", shown(path), number, column + 1)
    return Place("package.json", shown(path))


def _manifest(case: Case) -> Iterator[Finding]:
    path = case.profile.manifest
    if isinstance(case.manifest, DshloopError):
        details = case.manifest.details
        place = Place("package.json", shown(path), details.get("line"), details.get("column"))
        if place.line is None:  # JSON, but not what dsh wants in it
            place = entry_place(case, "bundles")
        yield Finding(kinds.MANIFEST_INVALID, case.manifest.message, place)
        return
    data = case.files.content(path)
    if isinstance(data, bytes) and data.startswith(BOM):

        def edit(content: Any) -> Any:
            return content.removeprefix(BOM) if isinstance(content, bytes) else content

        place = Place("package.json", shown(path), 1, 1)
        mend = Mend(path, "take the byte order mark out", edit)
        yield Finding(kinds.MANIFEST_BOM, "the file starts with it", place, mend=mend)


def _twice(case: Case) -> Iterator[Finding]:
    seen: set[str] = set()
    for bundle in case.bundles:
        if isinstance(bundle, str) and bundle in seen:
            why = f"{bundle} is listed more than once"
            edit = manifest_edit(case.profile, _listed_once)
            mend = Mend(case.profile.manifest, "list each bundle once", edit)
            yield Finding(kinds.BUNDLE_LISTED_TWICE, why, entry_place(case, bundle), mend=mend)
        if isinstance(bundle, str):
            seen.add(bundle)


def _listed_once(manifest: Manifest) -> Manifest:
    kept: list[Any] = []
    for bundle in manifest.bundles:
        if not (isinstance(bundle, str) and bundle in kept):
            kept.append(bundle)
    return manifest.with_bundles(kept)


def _unlisted(case: Case, name: str) -> Edit:
    def change(manifest: Manifest) -> Manifest:
        return manifest.with_bundles([one for one in manifest.bundles if one != name])

    return manifest_edit(case.profile, change)


def _skipped(case: Case, skipped: Skipped) -> Finding:
    """Say why a listed bundle brings nothing."""
    name = id_text(skipped.bundle)
    place = entry_place(case, name)
    if name.startswith(SCOPE) and case.inbox is None:
        why = f"{name} comes with dsh, and no dsh was found"
        return Finding(kinds.BUNDLE_UNCHECKED, why, place)
    if "declares no dsh.bundle" in skipped.reason:
        mend = Mend(case.profile.manifest, f"take {name} off the list", _unlisted(case, name))
        why = f"{name} declares no dsh.bundle in its package.json"
        return Finding(kinds.BUNDLE_UNDECLARED, why, place, mend=mend)
    if "cannot resolve profile bundle" in skipped.reason or not isinstance(skipped.bundle, str):
        why = f"{name} is listed but installed nowhere"
        if name not in _recorded(case):
            why += ", and no dependency either"
        return Finding(kinds.BUNDLE_UNRESOLVED, why, place, fix=_install_again(case, name))
    why, place = _broken(case, name, skipped, place)
    fix = f"Update the plugin, or switch it off: dshloop plugin disable {name}"
    return Finding(kinds.BUNDLE_BROKEN, why, place, fix=fix)


def _broken(case: Case, name: str, skipped: Skipped, place: Place) -> tuple[str, Place]:
    """Give our own words for a broken bundle, with file and line, where we can."""
    folder = (case.find(name) if case.find else None) or find_bundle(case.profile.folder, name)
    if folder is not None:
        try:
            check_patches(read_package(folder, name=name))
        except (BundleInvalidError, FailedError) as fault:
            found = fault.details
            at = Place(name, str(found.get("file") or ""), found.get("line"), found.get("column"))
            return fault.message, at
    reason = skipped.reason.removeprefix("Error: ").removeprefix("dsh: ").splitlines()[0]
    return f"{name}: {reason}", place


def _recorded(case: Case) -> dict[str, str]:
    return case.manifest.recorded if isinstance(case.manifest, Manifest) else {}


def _install_again(case: Case, name: str) -> str:
    if name in _recorded(case):
        return f"Install it again: dsh plugin --profile {case.profile.name} install"
    return f"Add it (dshloop plugin add), or take it off: dshloop plugin remove {name}"


def _undepended(case: Case, manifest: Manifest) -> Iterator[Finding]:
    """Find bundles that are found in the profile's node_modules but are no dependency."""
    listed = [name for name in case.bundles if isinstance(name, str)]
    for name in dict.fromkeys(listed):
        if name in manifest.recorded or not valid_package_name(name):
            continue
        folder = case.profile.modules / name
        if (folder / "package.json").is_file() and not _inbox_has(case, name):
            why = f"{name} is listed and installed, but no dependency in package.json"
            fix = f"dshloop plugin add {name}, or dshloop plugin remove {name}"
            yield Finding(kinds.BUNDLE_NOT_A_DEPENDENCY, why, entry_place(case, name), fix=fix)


def _inbox_has(case: Case, name: str) -> bool:
    return case.inbox is not None and case.inbox.find([name])[0] is not None


def _off(case: Case, manifest: Manifest) -> Iterator[Finding]:
    known = disabled_plugins(manifest)
    for name in filter(valid_package_name, manifest.dependencies):
        package = _package(case, name)
        if package is None or not package.is_bundle or name in manifest.bundles:
            continue
        why = f"{name} is installed but not on the bundle list"
        if name in known:
            why += f" ({known[name].why})"
        fix = f"dshloop plugin enable {name}, or dshloop plugin remove {name}"
        yield Finding(kinds.BUNDLE_OFF, why, entry_place(case, name), fix=fix)


def _package(case: Case, name: str) -> Package | None:
    folder = (case.find(name) if case.find else None) or case.profile.modules / name
    try:
        return read_package(folder, name=name)
    except DshloopError:
        return None


def _brought_along(case: Case, name: str) -> Iterator[Finding]:
    """Find packages of dsh's own among a plugin's dependencies, and ranges that aren't met."""
    from dshloop.profiles.plugins.compatibility import is_host

    package = _package(case, name)
    if package is None:
        return
    place = Place(name, shown(package.folder / "package.json"))
    hosts = [one for one in package.dependencies if is_host(one)]
    if hosts:
        why = f"{name} has {', '.join(hosts)} among its dependencies"
        yield Finding(kinds.HOST_PACKAGE_BUNDLED, why, place)
    yield from _unmet(case, package, place)


def _unmet(case: Case, package: Package, place: Place) -> Iterator[Finding]:
    from dshloop.profiles.plugins.compatibility import exemptions, unmet

    if case.engines is None:
        return
    for one in unmet(package, case.engines, exemptions(case.profile)):
        why = (
            f"{package.name} asks for {one.program} {one.range} ({one.what}); here is {one.version}"
        )
        yield Finding(kinds.ENGINE_UNMET, why, place)
