"""Looking into a plugin without installing it: what it is, what it would break, how it boots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dshloop.dsh import Program
from dshloop.errors import BundleInvalidError, DshMissingError
from dshloop.profiles.checks import kinds
from dshloop.profiles.checks.findings import Finding
from dshloop.profiles.layers import Place
from dshloop.profiles.layout import read_manifest
from dshloop.profiles.plugins.boot import Boot, boot, home_for_trial, packages_in
from dshloop.profiles.plugins.changing import Outcome, Request
from dshloop.profiles.plugins.install import Staged, staged_add
from dshloop.profiles.plugins.spec import parse_spec


@dataclass(frozen=True, slots=True)
class Look:
    """What was found in a plugin; ``against`` is the profile it was held against.

    ``boot`` is None when none was asked for; ``alone`` is the boot without the plugin, tried
    where the one with it fails.
    """

    spec: str
    against: str
    outcome: Outcome | None
    findings: tuple[Finding, ...]
    boot: Boot | None = None
    alone: Boot | None = None

    @property
    def ok(self) -> bool:
        """Whether it can be added: no error found, and a boot with it is no worse than without."""
        fine = all(finding.severity != "error" for finding in self.findings)
        return fine and (self.boot is None or self.boot.ok or self._no_worse)

    @property
    def _no_worse(self) -> bool:
        """Whether a boot without the plugin goes the same way, with the same complaints."""
        if self.boot is None or self.alone is None:
            return False
        same = self.boot.outcome == self.alone.outcome
        return same and set(self.boot.complaints) <= set(self.alone.complaints)

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        plugins = self.outcome.plugins if self.outcome else ()
        return {
            "spec": self.spec,
            "ok": self.ok,
            "profile": self.against,
            "plugin": plugins[0].as_json() if plugins else None,
            "findings": [finding.as_json() for finding in self.findings],
            "warnings": list(self.outcome.cautions) if self.outcome else [],
            "boot": self.boot.as_json() if self.boot else None,
            "boot_without": self.alone.as_json() if self.alone else None,
        }

    def as_text(self) -> str:
        """Give the lines people see."""
        lines = [finding.as_text() for finding in self.findings]
        lines += [f"note    {text}" for text in (self.outcome.cautions if self.outcome else ())]
        lines += self._of_boot()
        plugins = self.outcome.plugins if self.outcome else ()
        name = f"{plugins[0].name} {plugins[0].version or ''}".strip() if plugins else self.spec
        role = " as a layer" if plugins and plugins[0].layer else ""
        told = "can be added" if self.ok else "can't be added as it is"
        return "\n".join([*lines, f"{name} {told} to profile {self.against}{role}"])

    def _of_boot(self) -> list[str]:
        if self.boot is None:
            return []
        told = {"running": "dsh came up", "ended": "dsh ran and ended", "failed": "dsh failed"}
        lines = [f"boot    {told[self.boot.outcome]}"]
        lines += [f"  {line}" for line in self.boot.complaints]
        if self.alone is not None and not self.alone.ok:
            lines += ["boot    without the plugin too:", *(f"  {x}" for x in self.alone.complaints)]
        return lines


def look_into(request: Request, text: str, *, dsh: Program | None, trying: bool) -> Look:
    """Look into one plugin as `plugin add` would, and change nothing.

    ``trying`` boots a copy of the profile with it. Raises what the spec and pnpm have wrong, and
    DshMissingError (DSH_MISSING) when there is no dsh to boot.
    """
    spec = parse_spec(text, request.cwd, request.variables)
    if trying and dsh is None:
        raise DshMissingError("a boot needs dsh, which is not on PATH")
    name = request.profile.name
    own = replace(request, dry_run=True, force=True, looking=not trying)
    if spec.local and not trying:
        own = replace(own, pnpm=None)  # a look at what lies here needs no registry
    try:
        with staged_add(own, [spec]) as staged:
            look = Look(text, name, staged.outcome, tuple(_findings(staged)))
            return _tried(request, staged, look, dsh) if trying and dsh else look
    except BundleInvalidError as fault:
        place = Place(text, str(fault.details.get("file") or text))
        broken = Finding(kinds.BUNDLE_BROKEN, fault.message, place, severity="error")
        return Look(text, name, None, (broken,))


def _findings(staged: Staged) -> Iterator[Finding]:
    """Give what was found, but for modules of dependencies that are installed with the package."""
    brought = {name for package in staged.fetched.packages for name in package.dependencies}
    for finding in staged.outcome.findings:
        missing = finding.kind is kinds.ROW_NAME_UNRESOLVED and any(
            finding.why.startswith(f"package {name} is not installed") for name in brought
        )
        if not missing:
            yield finding


def _tried(request: Request, staged: Staged, look: Look, dsh: Program) -> Look:
    """Boot a copy of the profile with the plugin, and one without where that goes wrong.

    Packages are linked from where they are, so that nothing is fetched again.
    """
    profile, there = request.profile, packages_in(request.profile.modules)
    new = {package.name: package.folder for package in staged.fetched.packages}
    packages = {**(packages_in(staged.modules) if staged.modules else there), **new}
    with TemporaryDirectory(prefix="dshloop-trial-") as folder:
        home = Path(folder)
        trial = home_for_trial(profile, home / "with", staged.fetched.manifest, packages)
        found = boot(dsh, trial, request.variables)
        if found.ok:
            return replace(look, boot=found)
        trial = home_for_trial(profile, home / "without", read_manifest(profile), there)
        return replace(look, boot=found, alone=boot(dsh, trial, request.variables))
