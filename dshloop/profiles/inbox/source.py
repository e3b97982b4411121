"""The bundles that the user's dsh brings itself: `@deepseek-ai/dsh-base` and friends.

dsh looks a bundle up in its own installation first, so these win over any copy in a profile
(dsh-profiles 2). A dsh installed as a node package has them as packages, read in place with file
and line. A dsh that is one program shows nothing but its dumps: its bundles are learned from those
once and kept (`inbox_learn`, `inbox_cache`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from dshloop.dsh import Program, find_program
from dshloop.paths import Places
from dshloop.profiles.layers import Layer

Progress = Callable[[str], None]
OLDEST = (0, 1, 2)


class Unusable(NamedTuple):
    """A package of dsh's own that is no usable bundle; ``reason`` in dsh's words."""

    reason: str


Found: TypeAlias = Layer | Path | Unusable
"""A bundle of dsh's: its layer, or the folder of its package, or why dsh skips it."""


class Inbox(Protocol):
    """Where the bundles that a dsh brings itself are found."""

    @property
    def version(self) -> str | None:
        """The version of this dsh, for rules in which versions differ; may have to ask it."""

    @property
    def notices(self) -> Sequence[str]:
        """What people should know of this dsh, as far as it has been asked."""

    def find(self, bundles: Sequence[Any]) -> list[Found | None]:
        """Look up a profile's bundle list; None where dsh has no such package."""


def user_inbox(
    places: Places, variables: Mapping[str, str], progress: Progress | None = None
) -> Inbox | None:
    """Give the bundles of the dsh on PATH; None without one. Nothing is started yet.

    ``progress`` is told when dsh has to be asked, which takes some seconds once.
    """
    program = find_program("dsh", variables)
    return None if program is None else inbox_of(program, places, variables, progress)


def inbox_of(
    program: Program,
    places: Places,
    variables: Mapping[str, str],
    progress: Progress | None = None,
) -> Inbox:
    """Give the bundles of one dsh."""
    from dshloop.profiles.inbox.installation import find_installation

    installation = find_installation(program)
    if installation.package is not None:
        return PackageInbox(installation.package)
    from dshloop.profiles.inbox.cache import LearnedInbox

    return LearnedInbox(program, installation, places, variables, progress)


@dataclass(frozen=True, slots=True)
class PackageInbox:
    """The bundles beside a dsh that is a node package in ``folder``: nested, hoisted or pnpm's."""

    folder: Path

    @property
    def version(self) -> str | None:
        """What its manifest says."""
        from dshloop.profiles.bundle import version_in

        return version_in(self.folder)

    @property
    def notices(self) -> Sequence[str]:
        """Say when this dsh is older than what we know."""
        return age_notices(self.version)

    def find(self, bundles: Sequence[Any]) -> list[Found | None]:
        """Give the folders of the bundles' packages, found as Node does from dsh's own."""
        from dshloop.profiles.stack import find_bundle

        return [find_bundle(self.folder, name) if askable(name) else None for name in bundles]


def askable(bundle: Any) -> bool:
    """Tell whether a member of a bundle list can be a package of dsh's: a bare name."""
    return isinstance(bundle, str) and bundle != "" and not bundle.startswith((".", "/"))


def age_notices(version: str | None) -> list[str]:
    """Say when a dsh is older than the rules we follow (0.1.2 and 0.2.1 compose alike)."""
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", version or "")
    if numbers is None or tuple(map(int, numbers.groups())) >= OLDEST:
        return []
    return [f"dsh {version} is older than 0.1.2: profiles are composed by the rules of 0.1.2"]
