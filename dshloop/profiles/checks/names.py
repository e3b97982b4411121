"""Names of rows: whether the module that each names is there (dsh-profiles 6)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from dshloop.dsh_yaml import JsExpr, Value, truthy
from dshloop.errors import DshloopError
from dshloop.profiles.bundle import read_package
from dshloop.profiles.checks import kinds
from dshloop.profiles.checks.edits import remove_item
from dshloop.profiles.checks.findings import Finding
from dshloop.profiles.checks.subject import Case
from dshloop.profiles.compose import Placed
from dshloop.profiles.inbox.source import PackageInbox
from dshloop.profiles.layout import SCOPE, Manifest, Profile
from dshloop.profiles.patch import Row
from dshloop.profiles.row_names import id_text
from dshloop.profiles.stack import find_bundle

_BUILT_IN = ("cordis:group", "cordis:include")
_MAIN_MODULE = re.compile(
    r"/node_modules/((?:(?:@|%40)[^/]+/)?[^/]+)/(?:[^/]+/)*index\.[cm]?[jt]s$"
)
_SUFFIXES = ("", ".js", ".mjs", ".cjs", ".ts", "/index.js", "/index.mjs")


def check_names(case: Case) -> Iterator[Finding]:
    """Look for the modules of all rows that would be started."""
    known: dict[tuple[str, str], str] = {}
    for placed in case.composition.walk():
        name = placed.row.get("name")
        if isinstance(name, str) and name and runs(placed):
            place = case.composition.inserted(placed.row)
            key = (place.label if place else "", name)
            fault = known[key] = known[key] if key in known else _fault(case, placed.row, name)
            if fault:
                yield _finding(case, placed.row, name, fault)


def runs(placed: Placed) -> bool:
    """Whether a row is switched on as far as that can be known without running JavaScript."""
    rows = (*placed.groups, placed.row)
    return not any(
        truthy(d) and not isinstance(d, JsExpr) for d in (r.get("disabled") for r in rows)
    )


def package_of(name: str) -> tuple[str, str]:
    """Split ``@scope/pkg/sub/path`` into the package and the path in it."""
    parts = name.split("/")
    count = 2 if name.startswith("@") else 1
    return "/".join(parts[:count]), "/".join(parts[count:])


def plugin_of(row: Row) -> Value:
    """Give the plugin a row loads; the main module of a package by its path is the package."""
    name = row.get("name")
    found = _MAIN_MODULE.search(name) if isinstance(name, str) and name[:5] == "file:" else None
    return unquote(found[1]) if found else name


def _fault(case: Case, row: Row, name: str) -> str:
    """Say what is missing; "" when nothing is, or when that can't be known."""
    if name.startswith("cordis:"):
        return "" if name in _BUILT_IN else f"dsh has no plugin {name}"
    if name.startswith("file:"):
        path = Path(unquote(urlsplit(name).path))
        return "" if path.exists() else f"{path} does not exist"
    if Path(name).is_absolute():
        return "" if Path(name).exists() else f"{name} does not exist"
    package, inner = package_of(name)
    if package.startswith(SCOPE):
        return ""  # dsh's own packages nest; what can't be seen is not missing
    folder = find_package(case, row, package)
    if folder is None:
        return f"package {package} is not installed"
    return "" if exports(folder, inner) else f"package {package} has no {inner}"


def find_package(case: Case, row: Row, package: str) -> Path | None:
    """Find a package from the profile, from the bundle that brought the row, and from dsh."""
    place = case.composition.inserted(row)
    label = place.label if place else ""
    staged = case.find(package) if case.find else None
    starts = [case.profile.folder]
    bundle = (case.find(label) if case.find else None) or find_bundle(case.profile.folder, label)
    if label and bundle is not None:
        starts += [bundle, bundle.resolve()]
        if package == label:
            return bundle
    if isinstance(case.inbox, PackageInbox):
        starts.append(case.inbox.folder)
    found = (find_bundle(start, package) for start in starts)
    return staged or next((folder for folder in found if folder is not None), None)


def exports(folder: Path, inner: str) -> bool:
    """Whether a package offers a path, as far as its manifest and files say."""
    try:
        manifest = read_package(folder, name="x").manifest
    except DshloopError:
        return True
    listed = manifest.get("exports")
    if isinstance(listed, str | list):
        return not inner
    if isinstance(listed, dict):
        keys = [key for key in listed if key.startswith(".")]
        return not inner if not keys else _matches(listed, f"./{inner}" if inner else ".")
    return _has_entry(folder, manifest) if not inner else _file_at(folder / inner)


def _matches(listed: Mapping[str, Any], wanted: str) -> bool:
    for key, target in listed.items():
        before, star, after = key.partition("*")
        fits = wanted.startswith(before) and wanted.endswith(after) if star else key == wanted
        if fits and target is not None:
            return True
    return False


def _has_entry(folder: Path, manifest: Mapping[str, Any]) -> bool:
    main = manifest.get("main")
    return _file_at(folder / (main if isinstance(main, str) and main else "index.js"))


def _file_at(path: Path) -> bool:
    return any(Path(f"{path}{suffix}").is_file() for suffix in _SUFFIXES)


def _finding(case: Case, row: Row, name: str, fault: str) -> Finding:
    row_id = None if row.get("id") is None else id_text(row["id"])
    place = case.composition.origin(row, ("name",))
    found = case.where_from(row)
    if found is None or "is not installed" not in fault or _expected(case, name):
        return Finding(kinds.ROW_NAME_UNRESOLVED, f"{fault} (name: {name})", place, row_id)
    file, steps = found
    other = _other_profile(case, package_of(name)[0]) if file.kind == "home" else None
    if other is not None:
        why = f"{fault} here, only in profile {other}; the home's patch file acts on all profiles"
        return Finding(kinds.ROW_NAME_UNRESOLVED, why, place, row_id)
    mend = None
    if steps[1:2] == ("insert",):
        mend = remove_item(file.path, steps, "take the row out")
    return Finding(kinds.ROW_ORPHANED, f"{fault} (name: {name})", place, row_id, mend=mend)


def _expected(case: Case, name: str) -> bool:
    """Whether a package should be there, or may be: then a row for it is no orphan."""
    manifest = case.manifest
    return isinstance(manifest, DshloopError) or package_of(name)[0] in manifest.recorded


def _other_profile(case: Case, package: str) -> str | None:
    """Give another profile of the home that has a package, or wants it."""
    for manifest in sorted(case.profile.dsh_home.glob("profiles/*/package.json")):
        folder = manifest.parent
        if folder == case.profile.folder:
            continue
        other = Case(Profile(folder.name, folder, case.profile.dsh_home)).manifest
        wanted = isinstance(other, Manifest) and package in other.recorded
        if wanted or (folder / "node_modules" / package).exists():
            return folder.name
    return None


def value_at(row: Row, *keys: str) -> Value:
    """Give the value at keys in a row, None for nothing."""
    value: Value = row
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
