"""Profiles made for checks, and what was found in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dshloop.profiles.checks.check import Report, check_profile
from dshloop.profiles.checks.findings import Finding
from dshloop.profiles.checks.repair import Repair, plan_repair
from dshloop.profiles.checks.subject import Case
from dshloop.profiles.layout import Profile
from tests.profiles.packages import package, places_in, profile_in


def profile(
    root: Path,
    *bundles: str,
    patch: str | bytes = "[]\n",
    plain: tuple[str, ...] = (),
    **manifest: Any,
) -> Profile:
    """Make profile p whose bundles are installed and each insert the row of their name.

    `plain` packages are installed too and are no bundles.
    """
    names = dict.fromkeys((*bundles, *plain), "1.0.0")
    dependencies = {**names, **manifest.pop("dependencies", {})}
    made = profile_in(places_in(root), bundles=bundles, dependencies=dependencies, **manifest)
    for name in bundles:
        package(made.modules / name, name)
    for name in plain:
        package(made.modules / name, name, dsh=None)
    write(made.patch, patch)
    return made


def write(path: Path, text: str | bytes) -> None:
    """Write a patch file byte for byte."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def found(made: Profile, code: str | None = None, **more: Any) -> list[Finding]:
    """Check a profile; give the findings of a code, or all."""
    report = check_profile(Case(made, **more))
    return [one for one in report.findings if code in (None, one.code)]


def codes(made: Profile, **more: Any) -> list[str]:
    """Give the codes of all findings, the worst first."""
    return [one.code for one in found(made, **more)]


def repaired(made: Profile, *, safe_only: bool = False, **more: Any) -> Repair:
    """Plan a repair and write it."""
    repair = plan_repair(Case(made, **more), safe_only=safe_only)
    for change in repair.plan.changes:
        if change.after is None:
            change.path.unlink()
        elif isinstance(change.after, bytes):
            change.path.write_bytes(change.after)
        else:
            change.path.unlink(missing_ok=True)
            change.path.symlink_to(change.after.target)  # type: ignore[union-attr]
    return repair


def report(made: Profile, **more: Any) -> Report:
    """Check a profile."""
    return check_profile(Case(made, **more))
