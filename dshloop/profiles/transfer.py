"""A profile in one file: manifest, patches, loops and the specs of its plugins.

The packages themselves are not in it; what is imported is installed by dsh or by `plugin add`.
An import is checked before anything is written.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dshloop.errors import (
    DshloopError,
    ExportInvalidError,
    FindingsRefusedError,
    ProfileExistsError,
    ProfileNotFoundError,
)
from dshloop.files import read_bytes, shown
from dshloop.journal import Change, Journal, Plan
from dshloop.paths import Places
from dshloop.profiles.bundle import version_in
from dshloop.profiles.checks.check import check_profile
from dshloop.profiles.checks.findings import Finding
from dshloop.profiles.checks.subject import Case, Files
from dshloop.profiles.create import other_files
from dshloop.profiles.layout import Manifest, Profile, parse_manifest, profile_at, read_manifest

FORMAT = "dshloop-profile"
VERSION = 1
EXPORTED = (
    "package.json",
    "cordis.patch.yml",
    "pnpm-workspace.yaml",
    "loops.yml",
    "compatibility.json",
)
# What an import can't have yet: it brings no packages.
_LATER = ("BUNDLE_UNRESOLVED", "DEPENDENCY_MISSING", "LINK_STALE")
_KINDS = {"link": "linked", "file": "packed", "http": "packed", "https": "packed", "git": "git"}


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import wrote or would write; `plugins` are to be installed yet."""

    profile: Profile
    plan: Plan
    plugins: tuple[Mapping[str, Any], ...]
    findings: tuple[Finding, ...]
    dry_run: bool

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        return {
            "profile": self.profile.name,
            "folder": shown(self.profile.folder),
            "files": [change.path.name for change in self.plan.changes],
            "plugins": [dict(plugin) for plugin in self.plugins],
            "findings": [finding.as_json() for finding in self.findings],
            "dry_run": self.dry_run,
            **({"diff": self.plan.diff()} if self.dry_run else {}),
        }


def export_profile(profile: Profile) -> dict[str, Any]:
    """Give the export of a profile as JSON. PROFILE_NOT_FOUND, MANIFEST_INVALID."""
    if not profile.exists:
        raise ProfileNotFoundError(f'profile "{profile.name}" does not exist', name=profile.name)
    manifest = read_manifest(profile)
    found = {name: read_bytes(profile.folder / name) for name in EXPORTED}
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": profile.name,
        "files": {name: _as_json(data) for name, data in found.items() if data is not None},
        "plugins": [
            _plugin(profile, manifest, name, spec) for name, spec in manifest.recorded.items()
        ],
    }


def export_text(value: Mapping[str, Any]) -> str:
    """Give the text of an export file."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def import_profile(
    places: Places,
    journal: Journal,
    text: bytes,
    source: Path,
    *,
    name: str | None,
    command: str,
    case: Case | None = None,
    force: bool = False,
    dry_run: bool = False,
) -> Imported:
    """Make a profile of an export. One journal entry.

    `case` gives what is known of the user's dsh. Raises EXPORT_INVALID, PROFILE_EXISTS, and
    FINDINGS_REFUSED when a check finds errors, unless forced.
    """
    value = _read(text, source)
    profile = profile_at(places, name if name is not None else str(value["name"]))
    if profile.exists:
        raise ProfileExistsError(
            f'profile "{profile.name}" is there already: {shown(profile.folder)}',
            hint="Import it under another name: --name NAME.",
            name=profile.name,
            folder=shown(profile.folder),
        )
    plan = _plan(profile, _contents(value, source))
    findings = _checked(profile, plan, case)
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors and not force:
        raise refusal(errors, findings)
    if not dry_run:
        journal.record(command, plan.changes)
    plugins = tuple(one for one in value.get("plugins", []) if isinstance(one, dict))
    return Imported(profile, plan, plugins, tuple(findings), dry_run)


def refusal(
    errors: list[Finding] | tuple[Finding, ...], findings: list[Finding] | tuple[Finding, ...]
) -> FindingsRefusedError:
    """Give the error for findings that keep something from being written."""
    first = errors[0]
    more = len(errors) - 1
    return FindingsRefusedError(
        f"{first.code}: {first.why}" + (f" ({more} more error{'s' * (more > 1)})" if more else ""),
        findings=[finding.as_json() for finding in findings],
    )


def _plugin(profile: Profile, manifest: Manifest, name: str, spec: str) -> dict[str, Any]:
    scheme = spec.partition(":")[0].partition("+")[0]
    known = _KINDS.get(scheme) if ":" in spec else None
    return {
        "name": name,
        "spec": spec,
        "version": version_in(profile.modules / name),
        "kind": known or ("git" if scheme == "github" else "registry"),
        "layer": manifest.bundles.index(name) + 1 if name in manifest.bundles else None,
    }


def _as_json(data: bytes) -> Any:
    """Give a file as text, or in base64 where it is no UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def _read(text: bytes, source: Path) -> dict[str, Any]:
    try:
        value = json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError) as fault:
        raise _invalid(source, f"it is not JSON: {fault}") from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise _invalid(source, "it is no export of a profile")
    if value.get("version") != VERSION:
        raise _invalid(source, f"it has version {value.get('version')}, we know {VERSION}")
    if not isinstance(value.get("name"), str) or not isinstance(value.get("files"), dict):
        raise _invalid(source, "it lacks a name or files")
    return value


def _contents(value: Mapping[str, Any], source: Path) -> dict[str, bytes]:
    """Take the files out; names that no export has are refused, whatever they lead to."""
    found: dict[str, bytes] = {}
    for name, content in value["files"].items():
        if name not in EXPORTED:
            raise _invalid(source, f"it holds a file {name!r} that no profile has")
        found[name] = _from_json(content, name, source)
    if "package.json" not in found:
        raise _invalid(source, "it lacks package.json")
    return found


def _from_json(content: Any, name: str, source: Path) -> bytes:
    if isinstance(content, str):
        return content.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(content["base64"], validate=True)
    except (TypeError, KeyError, ValueError, binascii.Error):
        raise _invalid(source, f"the content of {name} is neither text nor base64") from None


def _plan(profile: Profile, contents: Mapping[str, bytes]) -> Plan:
    changes = []
    for name, data in contents.items():
        path = profile.folder / name
        data = _under_name(data, path, profile) if name == "package.json" else data
        changes.append(Change(path, read_bytes(path), data))
    there = {change.path for change in changes}
    changes += [change for change in other_files(profile) if change.path not in there]
    # the manifest last, so that dsh never sees a profile without its files
    return Plan(tuple(sorted(changes, key=lambda change: change.path == profile.manifest)))


def _under_name(data: bytes, path: Path, profile: Profile) -> bytes:
    try:
        manifest = parse_manifest(data, path)
    except DshloopError:
        return data  # the check tells what is wrong with it
    name = manifest.value.get("name")
    wanted = f"dsh-profile-{profile.name}"
    if not isinstance(name, str) or not name.startswith("dsh-profile-") or name == wanted:
        return data
    return replace(manifest, value={**manifest.value, "name": wanted}).as_bytes()


def _checked(profile: Profile, plan: Plan, case: Case | None) -> list[Finding]:
    files = Files({change.path: change.after for change in plan.changes})
    case = replace(case or Case(profile), profile=profile, files=files)
    found = check_profile(case).findings
    return [one for one in found if one.code not in _LATER]


def _invalid(source: Path, what: str) -> ExportInvalidError:
    return ExportInvalidError(f"{shown(source)} can't be imported: {what}", file=shown(source))
