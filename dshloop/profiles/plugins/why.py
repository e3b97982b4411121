"""Why a plugin is there, acts or doesn't act, and what depends on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from dshloop.files import shown
from dshloop.journal import Entry, Journal
from dshloop.profiles.bundle import Package
from dshloop.profiles.checks.findings import where_text
from dshloop.profiles.inbox.source import Inbox
from dshloop.profiles.layout import Manifest, Profile, read_manifest
from dshloop.profiles.plugins.disabled import SHELF, Disabled, disabled_plugins
from dshloop.profiles.plugins.view import PluginView, find_line, show_plugin
from dshloop.profiles.stack import stack_layers
from dshloop.profiles.view import packages_needing, read_installed

State = Literal["active", "skipped", "disabled", "off", "plain"]


@dataclass(frozen=True, slots=True)
class Reasons:
    """Why a plugin is as it is; ``dependents`` say who would miss it."""

    name: str
    state: State
    installed: str
    acts: str
    history: tuple[str, ...]
    dependents: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        return {
            "name": self.name,
            "state": self.state,
            "installed": self.installed,
            "acts": self.acts,
            "history": list(self.history),
            "dependents": list(self.dependents),
        }

    def as_text(self) -> str:
        """Give the lines people see."""
        lines = [f"{self.name} is {self.state}: {self.acts}", f"installed: {self.installed}"]
        lines += [f"  {line}" for line in self.history]
        lines.append("needed by:" if self.dependents else "needed by: nothing that is known")
        return "\n".join([*lines, *(f"  {line}" for line in self.dependents)])


def why_plugin(profile: Profile, name: str, inbox: Inbox | None, journal: Journal) -> Reasons:
    """Say why a plugin is as it is. Raises PluginNotFoundError."""
    find_line(profile, name)
    manifest = read_manifest(profile)
    record = disabled_plugins(manifest).get(name)
    skipped = next(
        (one for one in stack_layers(profile, inbox=inbox).skipped if one.bundle == name), None
    )
    package = read_installed(profile, name)
    entries = [entry for entry in journal.entries() if _speaks_of(entry, profile, name)]
    state, acts = _acts(manifest, name, package, record, skipped.reason if skipped else None)
    return Reasons(
        name,
        state,
        _installed(manifest, name, bool(entries)),
        acts,
        tuple(_told(entry, name) for entry in entries),
        tuple(_dependents(profile, manifest, name, show_plugin(profile, name, inbox))),
    )


def _installed(manifest: Manifest, name: str, ours: bool) -> str:
    groups = [group for group in ("dependencies", "optionalDependencies", SHELF)
              if name in (manifest.value.get(group) or {})]  # fmt: skip
    if not groups:
        return "not by the profile; it is on the bundle list and comes with dsh, or from nowhere"
    by = "recorded" if ours else "recorded by dsh or by hand, not by dshloop,"
    return f"{by} under {groups[0]} as {manifest.recorded[name]}"


def _acts(
    manifest: Manifest,
    name: str,
    package: Package | None,
    record: Disabled | None,
    skipped: str | None,
) -> tuple[State, str]:
    if name in manifest.bundles:
        if skipped is not None:
            return "skipped", f"dsh 0.2.1 goes on without it: {skipped}"
        place = f"layer {manifest.bundles.index(name) + 1} of {len(manifest.bundles)}"
        if record is None:
            return "active", f"{place} of dsh.profile.bundles"
        return "active", (
            f"{place}, although it was {record.why}; it came back by hand, or by a command of "
            f"dsh 0.1.2 after its dependency was moved back"
        )
    if record is not None:
        return "disabled", f"{record.why}; dshloop plugin enable {name} restores its place"
    if package is not None and not package.is_bundle:
        return "plain", "its package.json declares no dsh.bundle, so it adds no layer"
    if name in manifest.dependencies:
        return "off", (
            "it is a dependency but was taken off the bundle list; dsh 0.2.1 leaves it off, the "
            "next plugin command of dsh 0.1.2 appends it"
        )
    return "off", "it is no production dependency, and dsh activates no others"


def _speaks_of(entry: Entry, profile: Profile, name: str) -> bool:
    plugins = entry.note.get("plugins")
    known = isinstance(plugins, dict) and name in plugins
    return known and profile.manifest in entry.paths and entry.state == "done"


def _told(entry: Entry, name: str) -> str:
    when = datetime.fromtimestamp(entry.time, UTC).isoformat(sep=" ", timespec="minutes")[:16]
    return f"{when} {entry.note['plugins'][name]}: {entry.command} (history {entry.id})"


def _dependents(profile: Profile, manifest: Manifest, name: str, view: PluginView) -> Iterator[str]:
    for other, key, text in packages_needing(profile, manifest, name):
        yield f"package {other} ({key}: {text})"
    for row in view.rows:
        for change in row.patched:
            yield f"{where_text(change.place)} changes its row {row.id}: {change.key}"
    for path, row_id in _loading(profile, name):
        yield f"{path} has a row that loads it: {row_id}"


def _loading(profile: Profile, name: str) -> Iterator[tuple[str, str]]:
    from dshloop.profiles.rows import left_rows

    for left in left_rows(profile, [name]):
        yield shown(left.file), left.row
