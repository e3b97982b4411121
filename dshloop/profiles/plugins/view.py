"""One plugin of a profile: what it is, the rows it brings, and who changes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dshloop.dsh_yaml import Value, to_json
from dshloop.files import shown
from dshloop.profiles.bundle import Package
from dshloop.profiles.checks.findings import where_text
from dshloop.profiles.compose import Composition, compose
from dshloop.profiles.inbox.source import Inbox
from dshloop.profiles.layers import Layer, Place
from dshloop.profiles.layout import Profile, read_manifest
from dshloop.profiles.patch import Assignment, Row
from dshloop.profiles.plugins.turnover import no_such_plugin
from dshloop.profiles.row_names import id_text
from dshloop.profiles.stack import bundle_layers, stack_layers
from dshloop.profiles.view import PluginLine, plugin_line, read_installed


@dataclass(frozen=True, slots=True)
class Change:
    """One key of a row that another layer sets: by whom, where, on which row."""

    row: str | None
    key: str
    place: Place

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        return {"row": self.row, "key": self.key, **self.place._asdict()}


@dataclass(frozen=True, slots=True)
class BroughtRow:
    """A row that the plugin inserts, and what other layers change of it."""

    id: Value
    name: Value
    place: Place | None
    disabled: Value
    patched: tuple[Change, ...]

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        place = self.place or Place("")
        return {
            "id": to_json(self.id),
            "name": to_json(self.name),
            "file": place.file,
            "line": place.line,
            "disabled": to_json(self.disabled),
            "patched": [change.as_json() for change in self.patched],
        }


@dataclass(frozen=True, slots=True)
class PluginView:
    """One plugin as it is in the profile; ``patches`` are its changes of other layers' rows."""

    profile: Profile
    line: PluginLine
    package: Package | None
    rows: tuple[BroughtRow, ...]
    patches: tuple[Change, ...]
    files: tuple[str, ...]

    def _of(self, key: str) -> dict[str, Any]:
        found = self.package.manifest.get(key) if self.package else None
        return found if isinstance(found, dict) else {}

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        return {
            **self.line.as_json(),
            "profile": self.profile.name,
            "description": self.package.manifest.get("description") if self.package else None,
            "rows": [row.as_json() for row in self.rows],
            "patches": [change.as_json() for change in self.patches],
            "patch_files": list(self.files),
            "dependencies": self._of("dependencies"),
            "peer_dependencies": self._of("peerDependencies"),
            "engines": self._of("engines"),
        }

    def as_text(self) -> str:
        """Give the lines people see."""
        line = self.line
        lines = [
            f"{line.name} {line.version or '(version unknown)'}",
            f"state    {line.state}",
            f"spec     {line.spec or 'no dependency of the profile'}",
            f"folder   {line.folder or 'comes with dsh, or is missing'}",
        ]
        for title, key in (("engines", "engines"), ("peers", "peerDependencies")):
            told = [f"{name} {text}" for name, text in self._of(key).items()]
            lines += [f"{title:<8} {', '.join(told)}"] if told else []
        lines += [f"patch    {file}" for file in self.files]
        lines.append("rows" if self.rows else "rows     none")
        lines += [text for row in self.rows for text in _row_lines(row)]
        if self.patches:
            lines.append("changes of other rows")
            lines += [f"  {one.row}.{one.key}  {where_text(one.place)}" for one in self.patches]
        return "\n".join(lines)


def show_plugin(profile: Profile, name: str, inbox: Inbox | None) -> PluginView:
    """Look at one plugin. Raises PluginNotFoundError, and what the user's own files have wrong."""
    line = find_line(profile, name)
    layers = stack_layers(profile, inbox=inbox).layers
    if all(layer.label != name for layer in layers):
        alone, _ = bundle_layers(profile, [name], inbox=inbox)
        layers = tuple(alone)
    composition = compose(layers)
    return PluginView(
        profile,
        line,
        read_installed(profile, name),
        tuple(_rows(composition, name)),
        tuple(_patches(composition, name)),
        tuple(_files(layers, name)),
    )


def find_line(profile: Profile, name: str) -> PluginLine:
    """Give what `plugin list` would say of a plugin, a bundle of dsh's own included."""
    manifest = read_manifest(profile)
    found = plugin_line(profile, manifest, name)
    if found is None:
        raise no_such_plugin(profile, manifest, name)
    return found


def _rows(composition: Composition, name: str) -> Iterator[BroughtRow]:
    for placed in composition.walk():
        place = composition.inserted(placed.row)
        if place is None or place.label != name:
            continue
        patched = [
            _change(one) for one in composition.history(placed.row) if one.patch.layer.label != name
        ]
        row = placed.row
        yield BroughtRow(row.get("id"), row.get("name"), place, row.get("disabled"), tuple(patched))


def _patches(composition: Composition, name: str) -> Iterator[Change]:
    for one in composition.assignments:
        place = composition.inserted(one.row)
        if one.patch.layer.label == name and (place is None or place.label != name):
            yield _change(one)


def _change(one: Assignment) -> Change:
    return Change(_named(one.row), one.key, one.place)


def _named(row: Row) -> str | None:
    return None if row.get("id") is None else id_text(row["id"])


def _files(layers: Sequence[Layer], name: str) -> Iterator[str]:
    for layer in layers:
        if layer.label == name:
            yield from (shown(file.path) for file in layer.files if file.path is not None)


def _row_lines(row: BroughtRow) -> Iterator[str]:
    off = "" if row.disabled in (None, False) else "  (disabled)"
    yield f"  {'-' if row.id is None else id_text(row.id)}  {row.name}{off}"
    for change in row.patched:
        yield f"    {change.key} set by {where_text(change.place)}"
