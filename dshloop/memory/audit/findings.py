"""What an audit finds, and what would put it right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from dshloop.memory.entries import Entry

Severity = Literal["error", "warning", "note"]
ORDER: tuple[Severity, ...] = ("error", "warning", "note")
MOST = 10_000
"""Findings of one kind that are kept; all are counted."""


class Kind(NamedTuple):
    """A kind of finding: how bad it is, what it means, what to do (``fixed`` is what --fix does,
    "" when it does nothing)."""

    severity: Severity
    meaning: str
    advice: str
    fixed: str = ""


KINDS: Mapping[str, Kind] = {
    "SECRET": Kind(
        "error",
        "it holds what looks like a secret",
        "change the secret; then dshloop memory audit --fix, and forget --purge to leave no trace",
        "the secret is taken out",
    ),
    "FEEDBACK_LOOP": Kind(
        "error",
        "what memory recalled was stored again",
        "dshloop memory forget ID",
        "the recalled part is taken out, or the entry forgotten",
    ),
    "DUPLICATE": Kind(
        "warning",
        "the same text is stored more than once",
        "dshloop memory forget ID, all but the first",
        "all but the first are forgotten, which takes their labels over",
    ),
    "CONTRADICTION": Kind(
        "warning",
        "two texts are nearly equal and differ in a number, a name or a negation",
        "if only one holds: dshloop memory forget ID",
    ),
    "NEAR_DUPLICATE": Kind(
        "note", "two texts say nearly the same", "dshloop memory forget ID, or edit one"
    ),
    "STALE": Kind(
        "note", "it is old and was worth little", "dshloop memory forget --before 180d ..."
    ),
    "EXPIRED": Kind(
        "note",
        "it has expired, and is deleted from the file 30 days after",
        "nothing to do: recall doesn't see it",
    ),
}


class Finding(NamedTuple):
    """One thing that was found in some entries; ``detail`` says what differs or where it is."""

    code: str
    ids: tuple[str, ...]
    detail: str
    amended: Entry | None = None
    """What the first of them is to be, where a fix changes it."""
    forgotten: tuple[str, ...] = ()
    """The ids that a fix forgets."""

    @property
    def kind(self) -> Kind:
        """What is known of all findings like it."""
        return KINDS[self.code]

    @property
    def fixable(self) -> bool:
        """Tell whether --fix does something about it."""
        return self.amended is not None or bool(self.forgotten)

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows."""
        return {
            "code": self.code,
            "severity": self.kind.severity,
            "ids": list(self.ids),
            "message": self.kind.meaning,
            "detail": self.detail,
            "fix": self.kind.fixed if self.fixable else None,
            "advice": self.kind.advice,
        }


@dataclass(slots=True)
class Audit:
    """All that was found; ``unmeasurable`` says of what nothing can be said, and why."""

    entries: int = 0
    memories: int = 0
    findings: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    unmeasurable: dict[str, str] = field(default_factory=dict)
    fixed: int = 0

    def add(self, finding: Finding) -> None:
        """Count a finding, and keep it while there is room."""
        self.counts[finding.code] += 1
        if self.counts[finding.code] <= MOST:
            self.findings.append(finding)

    def sort(self) -> None:
        """Put the worst first."""
        codes = list(KINDS)
        self.findings.sort(key=lambda one: codes.index(one.code))

    @property
    def failed(self) -> bool:
        """Tell whether something of severity error was found."""
        return any(KINDS[code].severity == "error" for code, n in self.counts.items() if n)

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows."""
        return {
            "entries": self.entries,
            "memories": self.memories,
            "counts": {code: self.counts[code] for code in KINDS},
            "duplicate_rate": self._rate("DUPLICATE"),
            "near_duplicate_rate": self._rate("NEAR_DUPLICATE"),
            "findings": [one.as_json() for one in self.findings],
            "not_measurable": dict(self.unmeasurable),
            "fixed": self.fixed,
        }

    def _rate(self, code: str) -> float | None:
        """Give the share of entries that could go."""
        more = sum(len(one.ids) - 1 for one in self.findings if one.code == code)
        return round(more / self.entries, 4) if self.entries else None


def shortened(texts: Sequence[str], most: int = 60) -> str:
    """Give the beginnings of texts, for a finding's detail."""
    heads = [" ".join(text[: 4 * most].split()) for text in texts]
    return " / ".join(head if len(head) <= most else head[: most - 1] + "…" for head in heads)
