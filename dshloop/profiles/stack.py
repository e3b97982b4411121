"""The layers of one profile in the order dsh applies them, and the bundles it would skip.

Order: bundles of the manifest, profile patch, home patch, --patch files (dsh-profiles 3). What
dsh 0.2.1 skips with a line on stderr is skipped here in the same words; what ends its command
ends ours. Bundles are looked up in the user's dsh first (`inbox`), then as Node does from the
profile, without the folders Node itself calls deprecated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

from dshloop.dsh_yaml.stringify import stringify
from dshloop.errors import BundleInvalidError, FailedError
from dshloop.files import read_bytes
from dshloop.profiles.bundle import Package, declared_patches, inside
from dshloop.profiles.inbox.source import Found, Inbox, Unusable
from dshloop.profiles.layers import Layer, LayerKind, read_bundle_layer, read_layer
from dshloop.profiles.layout import Profile, read_manifest
from dshloop.profiles.patch import Composer

Finder = Callable[[str], Path | None]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A bundle of the manifest that adds no layer; ``reason`` in dsh's words."""

    bundle: Any
    reason: str

    @property
    def line(self) -> str:
        """What dsh 0.2.1 prints on stderr."""
        return f"dsh: skipping profile bundle {stringify(self.bundle)}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Stack:
    """The layers that compose a profile, lowest first, and what was skipped."""

    layers: tuple[Layer, ...]
    skipped: tuple[Skipped, ...]


def stack_layers(
    profile: Profile,
    *,
    patches: Sequence[Path] = (),
    bundles_only: bool = False,
    inbox: Inbox | None = None,
) -> Stack:
    """Read all layers of a profile; ``bundles_only`` as dsh's --dump-default-config.

    ``inbox`` gives the bundles of the user's dsh, which are skipped without it. Raises what the
    manifest and the user's own patch files have wrong; bundles never raise.
    """
    manifest = read_manifest(profile)
    layers, skipped = bundle_layers(profile, manifest.bundles, inbox=inbox)
    if not bundles_only:
        layers += user_layers(profile)
        layers += [read_layer(path) for path in patches]
    return Stack(tuple(layers), tuple(skipped))


def user_layers(profile: Profile) -> list[Layer]:
    """Read the profile's and the home's patch layer, each where it is there."""
    own: tuple[tuple[Path, LayerKind], ...] = (
        (profile.patch, "profile"),
        (profile.home_patch, "home"),
    )
    return [read_layer(path, kind=kind) for path, kind in own if path.exists()]


def bundle_layers(
    profile: Profile,
    bundles: Sequence[Any],
    find: Finder | None = None,
    *,
    inbox: Inbox | None = None,
) -> tuple[list[Layer], list[Skipped]]:
    """Read the layers of a bundle list; ``find`` gives a bundle's folder, by default as Node.

    What ``inbox`` knows comes from there, even when the profile has a copy (dsh-profiles 2).
    """
    layers: list[Layer] = []
    skipped: list[Skipped] = []
    for bundle, own in zip(bundles, inbox.find(bundles) if inbox else repeat(None), strict=False):
        try:
            layers.append(_bundle_layer(profile, bundle, find, own))
        except _SkippedBundle as fault:
            skipped.append(Skipped(bundle, str(fault)))
    return layers, skipped


def find_bundle(profile_folder: Path, name: str) -> Path | None:
    """Find the folder of a package as Node does from the profile's folder; None when nowhere.

    A name that starts with ``./`` or ``../`` is beside the manifest. The path is not resolved:
    dsh shows it with its links.
    """
    relative = name in (".", "..") or name.startswith(("./", "../"))
    roots = [profile_folder] if relative else _module_folders(profile_folder)
    for root in roots:
        folder = inside(root, name)
        if (folder / "package.json").is_file():
            return folder
    return None


class _SkippedBundle(Exception):  # noqa: N818 - never leaves this module
    pass


def _bundle_layer(
    profile: Profile, bundle: Any, find: Finder | None, own: Found | None = None
) -> Layer:
    if isinstance(own, Layer):
        return own
    if isinstance(own, Unusable):
        raise _SkippedBundle(own.reason)
    if not isinstance(bundle, str):
        from dshloop.profiles.wording import received

        raise _SkippedBundle(
            "TypeError [ERR_INVALID_ARG_TYPE]: "
            f'The "request" argument must be of type string. Received {received(bundle)}'
        )
    folder = own or (find(bundle) if find else find_bundle(profile.folder, bundle))
    if folder is None:
        raise _SkippedBundle(
            f'Error: dsh: cannot resolve profile bundle "{bundle}" from the dsh installation or '
            f"{profile.folder}; run 'dsh plugin --profile {profile.name} install' "
            "if its dependency is not installed"
        )
    try:
        paths = declared_patches(Package(bundle, folder, _read_json(folder / "package.json")))
    except BundleInvalidError as fault:
        raise _SkippedBundle(f"Error: {fault.message}") from fault
    try:
        layer = read_bundle_layer([inside(folder, path) for path in paths], bundle)
        Composer().apply(layer)  # a malformed insert is found when it is applied
    except FailedError as fault:
        from dshloop.profiles.wording import patch_fault

        raise _SkippedBundle(patch_fault(fault)) from fault
    return layer


def _module_folders(start: Path) -> Iterator[Path]:
    for folder in (start, *start.parents):
        if folder.name != "node_modules":
            yield folder / "node_modules"


def _read_json(path: Path) -> dict[str, Any]:
    """Read a package's manifest as strictly as JavaScript does, a BOM included."""
    text = (read_bytes(path) or b"").decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as fault:
        from dshloop.profiles.wording import json_fault

        raise _SkippedBundle(f"SyntaxError: {json_fault(text, fault)}") from fault
    except (ValueError, RecursionError) as fault:
        raise _SkippedBundle(f"SyntaxError: {fault}") from fault
    if not isinstance(value, dict):
        raise _SkippedBundle(f"Error: dsh: profile manifest {path} must hold a JSON object")
    return value
