"""What an installation is asked, fetches and answers: the data between its steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dshloop.dsh import Program
from dshloop.files import shown
from dshloop.journal import Change, Content, Journal, Link, Tree, tree_state
from dshloop.paths import Places
from dshloop.profiles.bundle import Package
from dshloop.profiles.inbox.source import Inbox
from dshloop.profiles.layout import Manifest, Profile
from dshloop.profiles.plugins.builds import Build
from dshloop.profiles.plugins.compatibility import Engines

if TYPE_CHECKING:
    from dshloop.profiles.checks.findings import Finding

State = Literal["added", "updated", "unchanged", "removed", "disabled", "enabled"]


@dataclass(frozen=True, slots=True)
class Request:
    """One change of one profile's plugins: where, for which command, with what at hand.

    ``allow_build`` lets install scripts run; ``engines`` are the user's dsh and node;
    ``looking`` is a look at packages that need not be complete.
    """

    places: Places
    journal: Journal
    profile: Profile
    cwd: Path
    variables: Mapping[str, str]
    command: str
    pnpm: Program | None = None
    dry_run: bool = False
    force: bool = False
    inbox: Inbox | None = None
    allow_build: bool = False
    engines: Engines = field(default_factory=Engines)
    looking: bool = False

    @property
    def runs_scripts(self) -> bool:
        """Whether install scripts run: with leave, and by pnpm only."""
        return self.allow_build and self.pnpm is not None


@dataclass(frozen=True, slots=True)
class Fetched:
    """Packages that were brought in but not yet put in place.

    ``manifest`` has the new dependencies and the old bundle list; ``changes`` are those of
    node_modules and the lock; ``log`` is where pnpm's output is; ``builds`` are the packages with
    scripts to run.
    """

    packages: tuple[Package, ...]
    manifest: Manifest
    changes: tuple[Change, ...]
    log: Path | None = None
    builds: tuple[Build, ...] = ()

    def allowed(self, request: Request) -> tuple[str, ...]:
        """Give pnpm's keys of the packages whose scripts had leave to run."""
        return tuple(build.key for build in self.builds) if request.runs_scripts else ()


@dataclass(frozen=True, slots=True)
class PluginChange:
    """What became of one plugin; ``layer`` counts from 1 in the bundle list, None when plain.

    ``was`` is the version before; ``why`` says why an update left it where it is.
    """

    name: str
    version: str | None
    spec: str
    state: State
    layer: int | None
    was: str | None = None
    why: str = ""

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        return {
            "name": self.name,
            "version": self.version,
            "spec": self.spec,
            "state": self.state,
            "layer": self.layer,
            "was": self.was,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class LeftRow:
    """A row in a patch layer of the user's that speaks of a plugin which is gone."""

    file: Path
    row: str
    plugin: str

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        return {"file": shown(self.file), "row": self.row, "plugin": self.plugin}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer of the verbs that change plugins; ``diff`` is what was or would be written.

    ``allowed`` are the keys under allowBuilds of the packages whose scripts ran.
    """

    profile: Profile
    plugins: tuple[PluginChange, ...]
    bundles: tuple[Any, ...]
    changed: bool
    created: bool = False
    dry_run: bool = False
    diff: str = ""
    log: Path | None = None
    cautions: tuple[str, ...] = ()
    left: tuple[LeftRow, ...] = ()
    findings: tuple[Finding, ...] = ()
    allowed: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        found: dict[str, Any] = {
            "profile": self.profile.name,
            "folder": shown(self.profile.folder),
            "created": self.created,
            "changed": self.changed,
            "dry_run": self.dry_run,
            "plugins": [plugin.as_json() for plugin in self.plugins],
            "bundles": list(self.bundles),
            "boot": boot_command(self.profile),
            "warnings": list(self.cautions),
            "allowed_builds": list(self.allowed),
            "findings": [finding.as_json() for finding in self.findings],
            "left_rows": [row.as_json() for row in self.left],
            "log": shown(self.log) if self.log else None,
        }
        if self.dry_run:
            found["diff"] = self.diff
        return found


def boot_command(profile: Profile) -> str:
    """Give the command with which the real dsh boots a profile."""
    import shlex

    return f"dsh --profile {shlex.quote(profile.name)}"


def content_at(path: Path) -> Content:
    """Give what is at a path now, links not followed."""
    from dshloop.journal.state import look

    state, data = look(path)
    if state is None:
        return None
    if state.kind == "link":
        return Link(state.value)
    return data if state.kind == "file" else Tree(state.value, state.files, state.size)


def tree_from(source: Path) -> Tree:
    """Describe a folder that is to be moved into place."""
    state = tree_state(source)
    return Tree(state.value, state.files, state.size, source)


def change_of(path: Path, after: Content) -> list[Change]:
    """Plan that a path gets a content; nothing when it has it."""
    before = content_at(path)
    if before == after or (
        isinstance(before, Tree) and isinstance(after, Tree) and before.digest == after.digest
    ):
        return []
    return [Change(path, before, after)]


def bundles_with(
    bundles: Sequence[Any], packages: Sequence[Package], known: Mapping[str, str]
) -> tuple[Any, ...]:
    """Give the bundle list after an add, by the rules of dsh 0.2.1 (dsh-profiles 12).

    Bundles that are new dependencies go last, in the order of package.json, which is that of
    their names; a dependency that was taken off the list stays off; one that is no bundle any
    more leaves it.
    """
    plain = {package.name for package in packages if not package.is_bundle}
    kept = [bundle for bundle in bundles if not (isinstance(bundle, str) and bundle in plain)]
    for package in sorted(packages, key=lambda one: one.name):
        if package.is_bundle and package.name not in kept and package.name not in known:
            kept.append(package.name)
    return tuple(kept)
