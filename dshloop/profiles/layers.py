"""Patch layers: lists of patches with a label, lowest layer first (dsh-profiles 3, 4)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from dshloop.dsh_yaml import Document, JsExpr, Position, Value, load_document
from dshloop.errors import (
    DshYamlInvalidError,
    PatchInvalidError,
    PatchUnreadableError,
    UnreadableFileError,
)
from dshloop.files import read_bytes

LayerKind = Literal["bundle", "profile", "home", "patch"]


class Place(NamedTuple):
    """Where something was said: the layer's label, its file, line and column (from 1).

    File, line and column are None where a layer has none (an in-box bundle learned from a dump).
    """

    label: str
    file: str | None = None
    line: int | None = None
    column: int | None = None

    def as_json(self) -> dict[str, str | int | None]:
        """Give the place as an object of `--json`."""
        return self._asdict()


@dataclass(frozen=True, slots=True, eq=False)
class PatchFile:
    """The patches of one file; `path` is None when they are from no file the user has."""

    document: Document
    path: Path | None = None

    @property
    def patches(self) -> list[Value]:
        """The items; nobody changes them."""
        patches: list[Value] = self.document.value
        return patches


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One step of a composition: a user's patch file, or the patch files of a bundle.

    `label` is what a dump's headers say: a bundle's package name, else the file's path.
    """

    label: str
    files: tuple[PatchFile, ...]
    kind: LayerKind = "patch"

    @property
    def patches(self) -> list[Value]:
        """All items in order; nobody changes them."""
        return [item for file in self.files for item in file.patches]

    def place(self, file: PatchFile, container: Value, key: str | int | None = None) -> Place:
        """Say where a map or list of a file, or its entry `key`, stands."""
        if file.path is None:
            return Place(self.label)
        position = file.document.position(container, key) or file.document.position(container)
        return Place(self.label, str(file.path), *(position or (None, None)))


def read_layer(path: Path, label: str | None = None, kind: LayerKind = "patch") -> Layer:
    """Read a patch file; without a label its path is the label.

    Raises PATCH_UNREADABLE when it is missing or unreadable, DSH_YAML_INVALID, and PATCH_INVALID
    when it is no list of mappings; the messages are DSH's own.
    """
    return read_bundle_layer([path], str(path) if label is None else label, kind)


def read_bundle_layer(paths: Sequence[Path], label: str, kind: LayerKind = "bundle") -> Layer:
    """Read the patch files of one layer, applied in order; errors as of `read_layer`."""
    files = tuple(_checked(_read(path, kind), path, kind) for path in paths)
    return Layer(label, files, kind)


def parse_layer(
    text: str | bytes, label: str, kind: LayerKind = "patch", *, path: Path | None = None
) -> Layer:
    """Make a layer of a text, which is that of `path` if given; errors as of `read_layer`."""
    file = _checked(text, path or Path(label), kind)
    return Layer(label, (file if path else PatchFile(file.document),), kind)


def _word(kind: LayerKind) -> str:
    return "patches" if kind == "home" else "overlay"


def _read(path: Path, kind: LayerKind) -> bytes:
    try:
        data = read_bytes(path)
    except UnreadableFileError as error:
        in_dsh = "Error: EISDIR: illegal operation on a directory, read"
        reason = in_dsh if path.is_dir() else error.message
        raise _unreadable(path, kind, reason) from error
    if data is None:
        raise _unreadable(path, kind, f"Error: ENOENT: no such file or directory, open '{path}'")
    return data


def _unreadable(path: Path, kind: LayerKind, reason: str) -> PatchUnreadableError:
    return PatchUnreadableError(f"failed to read {_word(kind)} {path}: {reason}", file=str(path))


def _checked(text: str | bytes, path: Path, kind: LayerKind) -> PatchFile:
    """Read the text and see that it is a list of mappings."""
    name = os.fspath(path)
    try:
        document = load_document(text, source=name)
    except DshYamlInvalidError as error:
        reason = error.message.removeprefix(f"{name}: ")
        raise DshYamlInvalidError(
            f"failed to parse {_word(kind)} {name}: YAMLException: {reason}",
            hint=error.hint,
            **error.details,
        ) from None
    if not isinstance(document.value, list):
        raise PatchInvalidError(
            f"{_word(kind)} {name} must be a top-level YAML array of loader patch entries",
            file=name,
            line=1,
            column=1,
        )
    for index, item in enumerate(document.value):
        if not isinstance(item, dict | JsExpr):
            position = document.position(document.value, index) or Position(1, 1)
            raise PatchInvalidError(
                f"{_word(kind)} entry {index + 1} in {name} "
                "must be a mapping (a loader patch entry)",
                file=name,
                line=position.line,
                column=position.column,
                entry=index + 1,
            )
    return PatchFile(document, path)
