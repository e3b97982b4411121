"""All checks of one profile at once, with dsh down, node absent and files that don't parse.

``check_profile(Case(profile, ...))`` reads and never writes; what can be mended is planned by
`dshloop.profiles.checks.repair`. The caller says what is known: the bundles of the user's dsh,
schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

from dshloop.profiles.checks.bundles import check_bundles
from dshloop.profiles.checks.composition import check_composition
from dshloop.profiles.checks.findings import SEVERITIES, Dialect, Finding, Severity, worst_first
from dshloop.profiles.checks.installed import check_installed
from dshloop.profiles.checks.names import check_names
from dshloop.profiles.checks.patch_files import check_patch_files
from dshloop.profiles.checks.pins import check_pins
from dshloop.profiles.checks.presets import check_presets
from dshloop.profiles.checks.rows import check_rows
from dshloop.profiles.checks.schema import check_schemas
from dshloop.profiles.checks.slots import check_slots
from dshloop.profiles.checks.subject import Case
from dshloop.profiles.checks.values import check_values

Check = Callable[[Case], Iterable[Finding]]
CHECKS: tuple[Check, ...] = (
    check_patch_files,
    check_bundles,
    check_installed,
    check_composition,
    check_names,
    check_rows,
    check_values,
    check_slots,
    check_presets,
    check_pins,
    check_schemas,
)


@dataclass(frozen=True, slots=True)
class Report:
    """What was found, the worst first."""

    profile: str
    dialect: Dialect
    findings: tuple[Finding, ...]

    def of(self, severity: Severity) -> list[Finding]:
        """Give the findings of a severity."""
        return [finding for finding in self.findings if finding.severity == severity]

    @property
    def ok(self) -> bool:
        """Whether nothing of severity error was found."""
        return not self.of("error")

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        return {
            "profile": self.profile,
            "ok": self.ok,
            "dialect": self.dialect,
            **{f"{name}s": len(self.of(name)) for name in SEVERITIES},
            "findings": [finding.as_json() for finding in self.findings],
        }

    def as_text(self) -> str:
        """Give the lines people see."""
        if not self.findings:
            return f"profile {self.profile}: nothing is wrong"
        counts = [(len(self.of(name)), name) for name in SEVERITIES]
        told = [f"{count} {name}{'s' * (count != 1)}" for count, name in counts if count]
        blocks = [finding.as_text() for finding in self.findings]
        return "\n".join([*blocks, f"profile {self.profile}: {', '.join(told)}"])


def check_profile(case: Case, checks: Iterable[Check] = CHECKS) -> Report:
    """Run the checks; `case.dialect` decides the severities."""
    found = [_judged(finding, case) for check in checks for finding in check(case)]
    once = {finding.identity: finding for finding in found}
    return Report(case.profile.name, case.dialect, tuple(worst_first(list(once.values()))))


def dialect_of(version: str | None) -> Dialect:
    """Give the dialect of a dsh by its version: 0.1 and older are 012, all others 021."""
    return "012" if version is not None and version.startswith(("0.0.", "0.1.")) else "021"


def _judged(finding: Finding, case: Case) -> Finding:
    """Give a finding its severity, and a fix that names the profile."""
    name = quote(case.profile.name)
    fix = (finding.fix or finding.kind.fix).replace("--profile NAME", f"--profile {name}")
    fix = fix.replace("dshloop profile repair", f"dshloop profile repair {name}")
    severity = finding.severity or finding.kind.judged_by(case.dialect)
    return replace(finding, severity=severity, fix=fix)
