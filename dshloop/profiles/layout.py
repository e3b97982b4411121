"""What a profile is on disk: its folder, name, manifest and templates, and which one is meant.

Everything here reads; creating is in create.py. Facts: dsh-profiles 1, 2 and 11.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dshloop.errors import (
    ManifestInvalidError,
    ProfileNameInvalidError,
    ProfileNotFoundError,
    ProfileNotNamedError,
    UnreadableFileError,
)
from dshloop.files import decode, read_bytes, shown, why
from dshloop.paths import Places
from dshloop.profiles.package_json import indent_of, json_object

SCOPE = "@deepseek-ai/"
BASE = (SCOPE + "dsh-base",)
TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "web": (*BASE, SCOPE + "dsh-web-app"),
    "headless": (*BASE, SCOPE + "dsh-headless"),
    "sdk": (*BASE, SCOPE + "dsh-sdk-app"),
    "sdk-minimal": (SCOPE + "dsh-sdk-minimal",),
    "acp": (*BASE, SCOPE + "dsh-acp-app"),
}
# What --template takes beside DSH's own: base is DSH's answer to every other name.
CHOICES: Mapping[str, tuple[str, ...]] = {**TEMPLATES, "base": BASE, "empty": ()}

_OLD_HEADLESS = [SCOPE + "dsh-base", SCOPE + "dsh-web-app", SCOPE + "dsh-headless"]
_GROUPS = ("dependencies", "devDependencies", "optionalDependencies")
STAGE = ".dshloop-stage-"


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile of a DSH home; its folder need not be there yet (a template)."""

    name: str
    folder: Path
    dsh_home: Path

    @property
    def manifest(self) -> Path:
        """The package.json, which makes a folder a profile."""
        return self.folder / "package.json"

    @property
    def patch(self) -> Path:
        """The profile's own patch layer."""
        return self.folder / "cordis.patch.yml"

    @property
    def home_patch(self) -> Path:
        """The patch layer that all profiles of the home share."""
        return self.dsh_home / "cordis.patch.yml"

    @property
    def modules(self) -> Path:
        """Where the profile's packages are installed."""
        return self.folder / "node_modules"

    @property
    def exists(self) -> bool:
        """Whether dsh would find it: a manifest is there."""
        return self.manifest.is_file()


@dataclass(frozen=True, slots=True)
class Manifest:
    """A profile's package.json as JSON, and how its text was laid out.

    ``bundles`` is what dsh reads from it: members of any type, since dsh skips the odd ones.
    """

    value: Mapping[str, Any]
    bundles: tuple[Any, ...]
    indent: str = "  "
    newline: str = "\n"

    @property
    def dependencies(self) -> dict[str, str]:
        """The production dependencies that are text; DSH activates no others."""
        found = self.value.get("dependencies")
        if not isinstance(found, dict):
            return {}
        return {name: spec for name, spec in found.items() if isinstance(spec, str)}

    @property
    def recorded(self) -> dict[str, str]:
        """All packages that pnpm installs for the profile: other groups of dependencies too."""
        found: dict[str, str] = {}
        for group in reversed(_GROUPS):
            members = self.value.get(group)
            if isinstance(members, dict):
                found.update({name: str(spec) for name, spec in members.items()})
        return found

    def without(self, names: Sequence[str]) -> Manifest:
        """Give the manifest without these packages in any group of dependencies."""
        value = dict(self.value)
        for group in _GROUPS:
            members = value.get(group)
            if isinstance(members, dict) and not members.keys().isdisjoint(names):
                value[group] = {k: v for k, v in members.items() if k not in names}
                if not value[group]:
                    del value[group]
        return replace(self, value=value)

    def with_specs(self, specs: Mapping[str, str]) -> Manifest:
        """Give the manifest with these recorded, sorted as pnpm sorts, in the groups they are in.

        New ones go to the dependencies.
        """
        value = dict(self.value)
        groups = {group: found for group in _GROUPS if isinstance(found := value.get(group), dict)}
        for name, spec in specs.items():
            group = next((one for one, members in groups.items() if name in members), _GROUPS[0])
            groups[group] = dict(sorted({**groups.get(group, {}), name: spec}.items()))
        return replace(self, value={**value, **groups})

    def with_bundles(self, bundles: Sequence[Any]) -> Manifest:
        """Give the manifest with this bundle list, where dsh looks for it."""
        if tuple(bundles) == self.bundles:
            return self
        dsh = self.value.get("dsh")
        dsh = dict(dsh) if isinstance(dsh, dict) else {}
        inner = dsh.get("profile")
        dsh["profile"] = {**(inner if isinstance(inner, dict) else {}), "bundles": list(bundles)}
        return replace(self, value={**self.value, "dsh": dsh}, bundles=tuple(bundles))

    def as_bytes(self) -> bytes:
        """Write it as dsh and pnpm do, in the file's own indentation and line ends."""
        from dshloop.dsh_yaml.stringify import escape_surrogates

        text = json.dumps(self.value, indent=self.indent, ensure_ascii=False) + "\n"
        if self.newline != "\n":
            text = text.replace("\n", self.newline)
        return escape_surrogates(text).encode()


def check_name(name: str) -> str:
    """Give a profile name back, or raise ProfileNameInvalidError (dsh-profiles 11)."""
    forbidden = name in ("", ".", "..", "node_modules") or "/" in name or "\\" in name
    if forbidden or "\0" in name:
        raise ProfileNameInvalidError(f'invalid profile name "{name}"', name=name)
    return name


def profile_at(places: Places, name: str) -> Profile:
    """Give the profile of a name, there or not."""
    return Profile(check_name(name), places.profiles / name, places.dsh_home)


def find_profile(places: Places, name: str) -> Profile:
    """Give a profile that is there, or one of DSH's templates, which is made in memory.

    Raises ProfileNotFoundError (PROFILE_NOT_FOUND) with the near matches.
    """
    profile = profile_at(places, name)
    if profile.exists or name in TEMPLATES:
        return profile
    from difflib import get_close_matches

    known = sorted({*profile_names(places), *TEMPLATES})
    near = get_close_matches(name, known, n=3)
    raise ProfileNotFoundError(
        f'profile "{name}" does not exist',
        hint=(f"Did you mean {' or '.join(near)}? " if near else "")
        + f"To create it: dshloop profile create {name}.",
        name=name,
        near=near,
        profiles=profile_names(places),
    )


def profile_names(places: Places) -> list[str]:
    """List the profiles that are there, sorted."""
    return [folder.name for folder in profile_folders(places)]


def profile_folders(places: Places) -> list[Path]:
    """List the folders that dsh would boot as profiles, sorted by name."""
    try:
        folders = sorted(places.profiles.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as fault:
        raise UnreadableFileError(
            f"can't list {shown(places.profiles)}: {why(fault)}", file=shown(places.profiles)
        ) from fault
    return [folder for folder in folders if _is_profile(folder)]


def _is_profile(folder: Path) -> bool:
    hidden = folder.name == "node_modules" or folder.name.startswith(STAGE)
    return not hidden and (folder / "package.json").is_file()


def choose_profile(
    places: Places,
    named: str | None,
    variables: Mapping[str, str],
    configured: str | None,
) -> str:
    """Give the name of the profile that is meant: option, $DSHLOOP_PROFILE, then config.yml.

    Raises ProfileNotNamedError (PROFILE_NOT_NAMED), whose details list what could be named.
    """
    for name in (named, variables.get("DSHLOOP_PROFILE") or None, configured):
        if name is not None:
            return check_name(name)
    names = profile_names(places)
    there = ", ".join(names) if names else "none yet"
    raise ProfileNotNamedError(
        f"no profile is named; profiles in {places.profiles}: {there}",
        profiles=names,
        templates=list(TEMPLATES),
    )


def template_for(name: str) -> tuple[str, ...]:
    """Give the bundles that dsh puts into a new profile of this name."""
    return TEMPLATES.get(name, BASE)


def read_manifest(profile: Profile) -> Manifest:
    """Read a profile's manifest; a template that isn't there yet gives what dsh would create.

    Raises ManifestInvalidError (MANIFEST_INVALID) where dsh 0.2.1 ends with an error too. A BOM
    is read over; dsh itself dies of it.
    """
    data = read_bytes(profile.manifest)
    if data is None:
        return new_manifest(profile.name, template_for(profile.name))
    return parse_manifest(data, profile.manifest, name=profile.name)


def new_manifest(name: str, bundles: Sequence[str]) -> Manifest:
    """Give the manifest of a new profile, keys in dsh's order."""
    value = {
        "name": f"dsh-profile-{name}",
        "private": True,
        "dependencies": {},
        "dsh": {"profile": {"bundles": list(bundles)}},
    }
    return Manifest(value, tuple(bundles))


def parse_manifest(data: bytes, path: Path, *, name: str = "") -> Manifest:
    """Read the bytes of a profile manifest as dsh 0.2.1 does (dsh-profiles 2)."""
    text = decode(data, path).value
    value = json_object(text, path)
    bundles = _member(_member(value.get("dsh"), "profile"), "bundles")
    if bundles is None:
        bundles = []
    if not isinstance(bundles, list):
        raise ManifestInvalidError(
            f"dsh.profile.bundles in {path} must be a list of package names",
            hint='Write it as "bundles": ["package", …].',
            file=str(path),
        )
    if name == "headless" and bundles == _OLD_HEADLESS:
        bundles = list(TEMPLATES["headless"])
    newline = "\r\n" if "\r\n" in text else "\n"
    return Manifest(value, tuple(bundles), indent_of(text), newline)


def _member(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None
