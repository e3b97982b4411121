"""Whether a package fits the user's dsh and node: engines and peers (dsh-profiles 12)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dshloop.dsh import Program, version_of
from dshloop.errors import DshloopError
from dshloop.files import decode, read_bytes
from dshloop.profiles.bundle import Package
from dshloop.profiles.layout import SCOPE, Profile
from dshloop.profiles.plugins.ranges import accepts

HOST = SCOPE + "dsh"


@dataclass(frozen=True, slots=True)
class Unmet:
    """A range of a package that the user's program is not in; ``what`` names the key."""

    what: str
    program: str
    range: str
    version: str


@dataclass(frozen=True)
class Engines:
    """The user's dsh and node; each is asked for its version when a range needs it, once.

    A program that isn't there, or doesn't answer, meets every range: nothing is known then.
    """

    dsh: Program | None = None
    node: Program | None = None
    variables: Mapping[str, str] | None = None
    ask: Callable[[Program, Mapping[str, str]], str | None] = version_of

    @cached_property
    def dsh_version(self) -> str | None:
        """What ``dsh --version`` says."""
        return self.ask(self.dsh, self.variables or {}) if self.dsh else None

    @cached_property
    def node_version(self) -> str | None:
        """What ``node --version`` says."""
        return self.ask(self.node, self.variables or {}) if self.node else None


def is_host(name: str) -> bool:
    """Whether a package is dsh or one of its own, of which there must be one copy only."""
    return name == HOST or name.startswith(HOST + "-")


def unmet(package: Package, engines: Engines, exempt: Mapping[str, Any]) -> list[Unmet]:
    """Find the ranges that aren't met, by the rules of dsh 0.2.1.

    ``engines.dsh`` decides alone where it is there, else every peer of dsh's own packages must
    accept the running version. ``exempt`` is `exemptions` of the profile.
    """
    found = list(_against_dsh(package, engines))
    if found and engines.dsh_version in _listed(exempt, package):
        found = []
    return [*found, *_against_node(package, engines)]


def exemptions(profile: Profile) -> Mapping[str, Any]:
    """Read ``compatibility.json``, which lifts ranges for exact versions; empty when unreadable."""
    path = profile.folder / "compatibility.json"
    try:
        value = json.loads(decode(read_bytes(path) or b"{}", path).value)
    except (DshloopError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _against_dsh(package: Package, engines: Engines) -> Iterator[Unmet]:
    own = _texts(package.manifest.get("engines")).get("dsh")
    peers = _texts(package.manifest.get("peerDependencies"))
    ranges = {f"peerDependencies {name}": text for name, text in peers.items() if is_host(name)}
    if own is not None:
        ranges = {"engines.dsh": own}
    for what, text in ranges.items():
        version = engines.dsh_version
        if version is not None and not accepts(text, version):
            yield Unmet(what, "dsh", text, version)


def _against_node(package: Package, engines: Engines) -> Iterator[Unmet]:
    text = _texts(package.manifest.get("engines")).get("node")
    version = engines.node_version if text is not None else None
    if text is not None and version is not None and not accepts(text, version):
        yield Unmet("engines.node", "node", text, version)


def _listed(exempt: Mapping[str, Any], package: Package) -> list[Any]:
    found = exempt.get(f"{package.name}@{package.version}")
    return found if isinstance(found, list) else []


def _texts(value: Any) -> dict[str, str]:
    members = value if isinstance(value, dict) else {}
    return {key: text for key, text in members.items() if isinstance(text, str)}
