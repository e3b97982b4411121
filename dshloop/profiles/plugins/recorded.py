"""The specs that a profile has recorded, and which of them an update can move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dshloop.errors import SpecInvalidError
from dshloop.profiles.layout import Manifest, Profile
from dshloop.profiles.plugins.spec import PluginSpec, parse_spec

Way = Literal["range", "pin", "tag", "link", "copy", "archive", "url", "git", "unknown"]
"""How a dependency is recorded, which decides how it moves."""

_WHY: Mapping[Way, str] = {
    "range": "",
    "tag": "",
    "pin": "pinned to this version: update --latest moves it",
    "link": "linked: changes of the folder act at the next start",
    "copy": "a copy of a folder: update reads the folder again",
    "archive": "an archive: update reads the file again",
    "url": "an address names one archive: add another address to move it",
    "git": "from git: update takes the newest commit of its branch, unless one is pinned",
    "unknown": "recorded in a way that dshloop doesn't know; pnpm decides",
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """One dependency as recorded; ``spec`` is None for what we can't read."""

    name: str
    text: str
    way: Way
    spec: PluginSpec | None = None

    @property
    def why(self) -> str:
        """Say why it doesn't move by itself; "" for what does."""
        return _WHY[self.way]

    @property
    def remote(self) -> bool:
        """Whether only pnpm can move it."""
        return self.way not in ("link", "copy", "archive")

    @property
    def package(self) -> str:
        """Its name in the registry, which an alias hides."""
        target = self.text.removeprefix("npm:") if self.text.startswith("npm:") else ""
        return target[: target.rindex("@")] if target.rfind("@") > 0 else target or self.name

    @property
    def range(self) -> str:
        """The range, version or tag it asks the registry for."""
        if not self.text.startswith("npm:"):
            return self.text
        place = self.text.rfind("@")
        return self.text[place + 1 :] if place > len("npm:") else "*"


def recorded_plugins(
    profile: Profile, manifest: Manifest, variables: Mapping[str, str]
) -> list[Recorded]:
    """Read what the manifest records, sorted by name."""
    return [
        _read(profile, name, text, variables) for name, text in sorted(manifest.recorded.items())
    ]


def _read(profile: Profile, name: str, text: str, variables: Mapping[str, str]) -> Recorded:
    try:
        spec = parse_spec(f"{name}@{text}", profile.folder, variables)
    except SpecInvalidError:
        return Recorded(name, text, "unknown")
    return Recorded(name, text, _way(spec), spec)


def _way(spec: PluginSpec) -> Way:
    from dshloop.profiles.plugins.ranges import is_exact, is_range

    if spec.kind == "folder":
        return "link" if spec.link else "copy"
    if spec.kind != "registry":
        return spec.kind
    plain = Recorded("", spec.target, "range").range
    if is_exact(plain):
        return "pin"
    return "range" if is_range(plain) else "tag"
