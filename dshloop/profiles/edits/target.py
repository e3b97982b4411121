"""The layer that an edit writes to: the profile's patch, the home's, or a preset's own rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from dshloop.dsh_yaml import Document
from dshloop.errors import PatchInvalidError, PresetNotFoundError, UsageError
from dshloop.files import decode, read_bytes, shown
from dshloop.journal import Change
from dshloop.profiles.create import HOME_PATCH_TEXT, PATCH_TEXT, new_profile
from dshloop.profiles.layers import Layer, LayerKind, PatchFile, parse_layer
from dshloop.profiles.layout import Profile, template_for
from dshloop.splice import YamlText

TargetKind: TypeAlias = Literal["profile", "home", "preset"]
_PRESET = re.compile(r"[a-z0-9][a-z0-9-]*")
_ABOVE: dict[LayerKind, tuple[LayerKind, ...]] = {
    "profile": ("home", "patch"),
    "home": ("patch",),
}


@dataclass(frozen=True, slots=True)
class Target:
    """A file that is edited; `data` is what was read, None where it isn't there yet.

    `text` is that, or the template of a new file; `others` are changes that come with a new one.
    A preset holds rows; its `layer` has them in one ``insert``.
    """

    kind: TargetKind
    path: Path
    data: bytes | None
    text: YamlText
    layer: Layer
    others: tuple[Change, ...] = ()

    @property
    def holds_rows(self) -> bool:
        """Whether the file is a list of rows, not of patches."""
        return self.kind == "preset"

    def in_file(self, path: Sequence[str | int]) -> tuple[str | int, ...]:
        """Turn a path in the layer's patches into one in the file."""
        return tuple(path[2:] if self.holds_rows else path)

    def with_text(self, text: YamlText) -> Layer:
        """Give the layer as it would be with another text."""
        return _layer(self.layer.label, self.layer.kind, text.document, self.path, self.holds_rows)

    def change(self, text: YamlText) -> Change:
        """Give the change of the file to another text."""
        return Change(self.path, self.data, text.text.encode("utf-8"))


def open_target(profile: Profile, layers: Sequence[Layer], name: str) -> Target:
    """Open the layer of a name: ``profile``, ``home`` or ``preset:ID``.

    `layers` are those of the profile; one that was read is not read again. Raises USAGE for
    another name, PRESET_NOT_FOUND, and what the file has wrong.
    """
    if name.startswith("preset:"):
        return _open_preset(profile, name.removeprefix("preset:"))
    if name == "profile":
        others = () if profile.exists else _new_files(profile)
        return _open_patch("profile", profile.patch, PATCH_TEXT, layers, others)
    if name == "home":
        return _open_patch("home", profile.home_patch, HOME_PATCH_TEXT, layers)
    raise UsageError(
        f'there is no layer "{name}" to edit', hint="Layers: profile, home, preset:ID."
    )


def with_target(layers: Sequence[Layer], target: Target) -> tuple[tuple[Layer, ...], int]:
    """Give the layers with the target's among them, at its place, and which it is."""
    if target.holds_rows:
        return (target.layer,), 0
    found = list(layers)
    for number, layer in enumerate(found):
        if layer.kind == target.kind:
            found[number] = target.layer
            return tuple(found), number
    above = _ABOVE[target.layer.kind]
    number = next((n for n, layer in enumerate(found) if layer.kind in above), len(found))
    found.insert(number, target.layer)
    return tuple(found), number


def _open_patch(
    kind: Literal["profile", "home"],
    path: Path,
    template: str,
    layers: Sequence[Layer],
    others: tuple[Change, ...] = (),
) -> Target:
    data = read_bytes(path)
    text = template if data is None else _text(data, path)
    layer = next((layer for layer in layers if layer.kind == kind), None)
    if layer is None or not _reads(layer.files[0].document, text):
        layer = parse_layer(text, str(path), kind, path=path)
    document = layer.files[0].document
    return Target(
        kind, path, data, YamlText(text, source=str(path), document=document), layer, others
    )


def preset_file(profile: Profile, preset: str) -> Path:
    """Give the file of a preset of the user's own; PRESET_NOT_FOUND when there is none."""
    path = profile.dsh_home / ".agent-presets" / preset / "agent.cordis.yml"
    if _PRESET.fullmatch(preset) is None or not path.exists():
        raise PresetNotFoundError(
            f'there is no preset "{preset}" of your own: {shown(path)} is missing', preset=preset
        )
    return path


def _open_preset(profile: Profile, preset: str) -> Target:
    path = preset_file(profile, preset)
    data = read_bytes(path) or b""
    text = YamlText(_text(data, path), source=str(path))
    if not isinstance(text.value, list):
        raise PatchInvalidError(
            f"preset {path} must be a top-level YAML array of entries",
            hint="A preset file is a list of rows; no rows is written [].",
            file=str(path),
            line=1,
            column=1,
        )
    layer = _layer(str(path), "patch", text.document, path, True)
    return Target("preset", path, data, text, layer)


def _layer(label: str, kind: LayerKind, document: Document, path: Path, rows: bool) -> Layer:
    if rows:
        whole = [{"insert": document.value}]
        document = Document(document.source, whole, document.text, document.marks)
    return Layer(label, (PatchFile(document, path),), kind)


def _text(data: bytes, path: Path) -> str:
    text = decode(data, path)
    return ("\ufeff" if text.bom else "") + text.value


def _reads(document: Document, text: str) -> bool:
    """Tell whether a document was read from this very text."""
    return document.text.text.removesuffix("\n") == text.removeprefix("\ufeff").removesuffix("\n")


def _new_files(profile: Profile) -> tuple[Change, ...]:
    """Give what makes the folder of a template a profile, but for its patch file."""
    changes = new_profile(profile, template_for(profile.name))
    return tuple(change for change in changes if change.path != profile.patch)
