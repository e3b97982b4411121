"""What is checked: one profile's files as they are, or as a repair is about to make them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from dshloop.dsh_yaml import Value, truthy
from dshloop.errors import DshloopError
from dshloop.files import decode, read_bytes
from dshloop.journal import Content
from dshloop.profiles.checks.findings import Dialect
from dshloop.profiles.compose import Composition, compose
from dshloop.profiles.edits.pins import Pin
from dshloop.profiles.inbox.source import Inbox
from dshloop.profiles.layers import Layer, LayerKind, PatchFile, Place, parse_layer
from dshloop.profiles.layout import Manifest, Profile, new_manifest, parse_manifest, template_for
from dshloop.profiles.patch import Composer
from dshloop.profiles.plugins.changing import content_at
from dshloop.profiles.plugins.compatibility import Engines
from dshloop.profiles.stack import Finder, Skipped, bundle_layers

Schema = Mapping[str, Any]
Steps = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Files:
    """The disk with some contents as they will be."""

    changed: Mapping[Path, Content] = field(default_factory=dict)

    def content(self, path: Path) -> Content:
        """Give what is at a path, links not followed."""
        return self.changed[path] if path in self.changed else content_at(path)

    def read(self, path: Path) -> bytes | None:
        """Read a file. Errors as of `read_bytes`."""
        found = self.changed.get(path)
        return found if isinstance(found, bytes) else read_bytes(path)

    def with_content(self, path: Path, content: Content) -> Files:
        """Give the disk with one more content changed."""
        return Files({**self.changed, path: content})


@dataclass(frozen=True)
class UserFile:
    """A patch file of the user's: its layer, or why it is none."""

    path: Path
    kind: LayerKind
    data: bytes | None
    layer: Layer | None
    fault: DshloopError | None = None

    @property
    def file(self) -> PatchFile | None:
        """The parsed file."""
        return self.layer.files[0] if self.layer else None

    @cached_property
    def steps(self) -> Mapping[int, Steps]:
        """id of each map and list in the file -> where it stands, keys and indexes."""
        found: dict[int, Steps] = {}
        pending: list[tuple[Value, Steps]] = [(self.file.patches, ())] if self.file else []
        while pending:
            value, steps = pending.pop()
            if id(value) in found:
                continue
            found[id(value)] = steps
            members = value.items() if isinstance(value, dict) else enumerate(value)
            pending += [
                (item, (*steps, key)) for key, item in members if isinstance(item, dict | list)
            ]
        return found

    def place(self, container: Value, key: str | int | None = None) -> Place:
        """Say where a map or list of the file, or its entry, stands."""
        assert self.layer is not None
        return self.layer.place(self.layer.files[0], container, key)


@dataclass(frozen=True)
class Case:
    """One profile under check, read once and lazily; nothing raises but what the disk refuses.

    `manifest` can stand for the one on disk, and `find` for Node's search, where what is checked
    is not installed yet. `schemas` are JSON schemas of rows' configs by the rows' names.
    """

    profile: Profile
    files: Files = field(default_factory=Files)
    inbox: Inbox | None = None
    dialect: Dialect = "021"
    schemas: Mapping[str, Schema] = field(default_factory=dict)
    dsh_schemas: Callable[[Case], Mapping[str, Schema]] | None = None
    manifest_override: Manifest | None = None
    find: Finder | None = None
    engines: Engines | None = None
    pins: Sequence[Pin] = ()

    @cached_property
    def manifest(self) -> Manifest | DshloopError:
        """The manifest, or what is wrong with it."""
        if self.manifest_override is not None:
            return self.manifest_override
        try:
            data = self.files.read(self.profile.manifest)
            if data is None:
                return new_manifest(self.profile.name, template_for(self.profile.name))
            return parse_manifest(data, self.profile.manifest, name=self.profile.name)
        except DshloopError as fault:
            return fault

    @property
    def bundles(self) -> tuple[Any, ...]:
        """The bundle list; none for a manifest that can't be read."""
        return self.manifest.bundles if isinstance(self.manifest, Manifest) else ()

    @cached_property
    def user_files(self) -> tuple[UserFile, ...]:
        """The patch files of the profile and of the home that are there."""
        own: tuple[tuple[Path, LayerKind], ...] = (
            (self.profile.patch, "profile"),
            (self.profile.home_patch, "home"),
        )
        read = (self._user_file(path, kind) for path, kind in own)
        return tuple(one for one in read if one is not None)

    @cached_property
    def bundle_stack(self) -> tuple[list[Layer], list[Skipped]]:
        """The layers of the bundles, and the bundles that give none."""
        return bundle_layers(self.profile, self.bundles, self.find, inbox=self.inbox)

    @cached_property
    def layers(self) -> list[Layer]:
        """All layers that can be read, lowest first."""
        return [*self.bundle_stack[0], *(one.layer for one in self.user_files if one.layer)]

    @cached_property
    def composition(self) -> Composition:
        """What the layers that can be read compose to."""
        return compose(self.layers)

    def user_file(self, layer: Layer) -> UserFile | None:
        """Give the user's file that a layer is of."""
        return next((one for one in self.user_files if one.layer is layer), None)

    def where_from(self, container: Value) -> tuple[UserFile, Steps] | None:
        """Say in which file of the user's a composed row or list is written, and where there."""
        source = self.composition.source(container)
        file = self.user_file(source[0]) if source else None
        if source is None or file is None or id(source[2]) not in file.steps:
            return None
        return file, file.steps[id(source[2])]

    def _user_file(self, path: Path, kind: LayerKind) -> UserFile | None:
        data: bytes | None = None
        try:
            data = self.files.read(path)
            if data is None:
                return None
            layer = parse_layer(data, str(path), kind, path=path)
            Composer().apply(layer)
            return UserFile(path, kind, data, layer)
        except DshloopError as fault:
            return UserFile(path, kind, data, None, fault)


def text_of(data: bytes, path: Path) -> str:
    """Give a file's text with its byte order mark, if it has one."""
    text = decode(data, path)
    return ("\ufeff" if text.bom else "") + text.value


def every_row(value: Value, steps: Steps = ()) -> Iterator[tuple[dict[str, Value], Steps]]:
    """Yield the rows of a list of rows and of its groups, marked or not, with their places."""
    if not isinstance(value, list):
        return
    for index, row in enumerate(value):
        if isinstance(row, dict):
            yield row, (*steps, index)
            if truthy(row.get("group")) or row.get("name") == "cordis:group":
                yield from every_row(row.get("config"), (*steps, index, "config"))
