"""What profiles and their plugins are, for `profile list`, `profile show` and `plugin list`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dshloop.errors import DshloopError
from dshloop.files import shown
from dshloop.paths import Places
from dshloop.profiles.bundle import Package, read_package
from dshloop.profiles.layout import (
    Manifest,
    Profile,
    profile_at,
    profile_names,
    read_manifest,
)

if TYPE_CHECKING:
    from dshloop.profiles.compose import Composition
    from dshloop.profiles.inbox.source import Inbox
    from dshloop.profiles.stack import Stack


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """One profile of the list; ``fault`` says why its manifest can't be read."""

    name: str
    folder: str
    bundles: tuple[Any, ...]
    plugins: int
    default: bool
    fault: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        return {**asdict(self), "bundles": list(self.bundles)}


@dataclass(frozen=True, slots=True)
class PluginLine:
    """One dependency of a profile, as installed.

    ``layer`` counts from 1 in the bundle list, None when it is no active layer; ``bundle`` is
    whether it could be one; ``folder`` None means that it is missing on disk; ``disabled`` is
    why it is off, where `plugin disable` switched it off.
    """

    name: str
    version: str | None
    spec: str
    layer: int | None
    bundle: bool
    folder: str | None
    disabled: str | None = None

    @property
    def state(self) -> str:
        """Say in a few words what it is."""
        if self.layer is not None:
            role = f"layer {self.layer}"
        elif self.disabled is not None:
            role = self.disabled
        else:
            role = "off, not in the bundle list" if self.bundle else "plain dependency"
        missing = self.folder is None and self.spec != ""
        return f"{role}, missing on disk" if missing else role

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        return {**asdict(self), "installed": self.folder is not None, "state": self.state}


@dataclass(frozen=True, slots=True)
class ProfileView:
    """One profile as it would boot: its layers, what is skipped, how many rows come out."""

    profile: Profile
    bundles: tuple[Any, ...]
    stack: Stack
    composition: Composition

    @property
    def rows(self) -> int:
        """How many rows the tree has, those in groups included."""
        return sum(1 for _ in self.composition.walk())

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        return {
            "name": self.profile.name,
            "folder": shown(self.profile.folder),
            "exists": self.profile.exists,
            "bundles": list(self.bundles),
            "layers": [
                {"label": layer.label, "kind": layer.kind, "patches": len(layer.patches)}
                for layer in self.stack.layers
            ],
            "skipped": [{"bundle": s.bundle, "reason": s.reason} for s in self.stack.skipped],
            "rows": self.rows,
            "warnings": [warned._asdict() for warned in self.composition.warnings],
        }

    def as_text(self) -> str:
        """Give the lines people see."""
        there = "" if self.profile.exists else "  (a template; not created yet)"
        lines = [
            f"profile  {self.profile.name}{there}",
            f"folder   {shown(self.profile.folder)}",
            f"rows     {self.rows}",
            "layers",
        ]
        for number, layer in enumerate(self.stack.layers, 1):
            count = len(layer.patches)
            lines.append(f"  {number}. {layer.label}  ({count} patch{'es' * (count != 1)})")
        if not self.stack.layers:
            lines.append("  none")
        if self.stack.skipped:
            lines.append("skipped")
            lines += [f"  {one.bundle}: {one.reason}" for one in self.stack.skipped]
        return "\n".join(lines)


def list_profiles(places: Places, default: str | None) -> list[ProfileLine]:
    """Look at every profile; one that can't be read is listed with its fault."""
    return [_profile_line(profile_at(places, name), default) for name in profile_names(places)]


def show_profile(profile: Profile, inbox: Inbox | None = None) -> ProfileView:
    """Compose a profile, with the bundles of the user's dsh.

    Raises what its manifest or its own patch files have wrong.
    """
    from dshloop.profiles.compose import compose
    from dshloop.profiles.stack import stack_layers

    stack = stack_layers(profile, inbox=inbox)
    return ProfileView(profile, read_manifest(profile).bundles, stack, compose(stack.layers))


def list_plugins(profile: Profile) -> list[PluginLine]:
    """List the dependencies of a profile, dev and optional ones too, sorted by name.

    What `plugin disable` switched off is listed even when it is no dependency.
    """
    from dshloop.profiles.plugins.disabled import disabled_plugins

    manifest = read_manifest(profile)
    names = sorted({*manifest.recorded, *disabled_plugins(manifest)})
    return [line for name in names if (line := plugin_line(profile, manifest, name))]


def plugin_line(profile: Profile, manifest: Manifest, name: str) -> PluginLine | None:
    """Describe one plugin, a bundle that is no dependency included; None where it is neither."""
    from dshloop.profiles.plugins.disabled import disabled_plugins

    off, listed = disabled_plugins(manifest).get(name), name in manifest.bundles
    if not (off or listed or name in manifest.recorded):
        return None
    package = read_installed(profile, name)
    gone = off is not None and off.group is not None and name not in manifest.recorded
    return PluginLine(
        name,
        package.version if package else None,
        manifest.recorded.get(name, ""),
        manifest.bundles.index(name) + 1 if listed else None,
        package.is_bundle if package else listed,
        shown(package.folder) if package else None,
        off.why + (", removed since" if gone else "") if off and not listed else None,
    )


def _profile_line(profile: Profile, default: str | None) -> ProfileLine:
    folder, chosen = shown(profile.folder), profile.name == default
    try:
        manifest = read_manifest(profile)
    except DshloopError as fault:
        return ProfileLine(profile.name, folder, (), 0, chosen, fault.message)
    return ProfileLine(profile.name, folder, manifest.bundles, len(manifest.recorded), chosen)


def read_installed(profile: Profile, name: str) -> Package | None:
    """Read a package from the profile's node_modules; None where there is none to read."""
    try:
        return read_package(profile.modules / name, name=name)
    except DshloopError:
        return None


def packages_needing(
    profile: Profile, manifest: Manifest, name: str
) -> Iterator[tuple[str, str, str]]:
    """Yield the other plugins that have a package under dependencies or peers, key and range."""
    for other in manifest.recorded:
        package = read_installed(profile, other) if other != name else None
        for key in ("dependencies", "peerDependencies"):
            members = package.manifest.get(key) if package else None
            if isinstance(members, dict) and name in members:
                yield other, key, str(members[name])
