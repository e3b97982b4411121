"""What a check finds: a kind with a stable code, where it is, why it is wrong, how to mend it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from dshloop.dsh_yaml import Value
from dshloop.journal import Content
from dshloop.profiles.layers import Place
from dshloop.splice import Edit as Splice

Severity = Literal["error", "warning", "info"]
Dialect = Literal["012", "021"]
"""Which dsh judges: 0.1.2 ends at faults that 0.2.1 warns of and goes on."""

Edit: TypeAlias = Callable[[Content], Content]
Splices: TypeAlias = Callable[[Value], Sequence[Splice]]
"""What a YAML file holds at that time -> the edits of it, the last place first."""
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of finding: `when` it is found and what to do, as docs/checks.md says it.

    `mends` is what `profile repair` can do: "" nothing, "safe" what `check --fix` does too,
    "repair" what is done only when asked for.
    """

    code: str
    severity: Severity
    when: str
    fix: str
    mends: Literal["", "safe", "repair"] = ""
    severity_012: Severity | None = None

    def judged_by(self, dialect: Dialect) -> Severity:
        """Give the severity for users of a dsh."""
        return self.severity_012 or self.severity if dialect == "012" else self.severity


@dataclass(frozen=True, slots=True, eq=False)
class Mend:
    """An edit of one file; `at` is the place in it that the edit takes, () for all of it.

    `edit` gets the content at that time and gives the new one (None: the path goes). `splices`
    is the same as edits of a YAML text, so that many mends of one file are made at once.
    """

    path: Path
    what: str
    edit: Edit
    at: tuple[str | int, ...] = ()
    splices: Splices | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """One thing that is wrong, or worth knowing."""

    kind: Kind
    why: str
    place: Place | None = None
    row: str | None = None
    fix: str = ""
    mend: Mend | None = None
    severity: Severity | None = None
    """None until it is judged, and then its kind's."""
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """The stable name of its kind."""
        return self.kind.code

    @property
    def identity(self) -> tuple[Any, ...]:
        """What tells it from other findings of one check."""
        return self.code, self.row, self.place, self.why

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        place = self.place or Place("")
        return {
            "code": self.code,
            "severity": self.severity,
            "row": self.row,
            "layer": place.label or None,
            "file": place.file,
            "line": place.line,
            "column": place.column,
            "why": self.why,
            "fix": self.fix or self.kind.fix,
            "mends": self.kind.mends if self.mend else "",
            "details": self.details,
        }

    def as_text(self) -> str:
        """Give the lines people see."""
        where = where_text(self.place)
        at = f"{where}: " if where else ""
        row = f" [row {self.row}]" if self.row is not None else ""
        return (
            f"{self.severity or self.kind.severity:<7} {self.code}{row}\n  {at}{self.why}\n"
            f"  -> {self.fix or self.kind.fix}"
        )


def where_text(place: Place | None) -> str:
    """Give ``file:line:column`` as far as it is known, else the layer's label."""
    if place is None:
        return ""
    known = (place.file or place.label, place.line, place.column)
    return ":".join(str(part) for part in known if part not in (None, ""))


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """Order findings by severity; within one as they were found."""
    return sorted(findings, key=lambda one: SEVERITIES.index(one.severity or "info"))
