"""What a trial of loops came to, for people, for programs and for a test that is to fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dshloop.errors import ExitCode, LoopKitError

Outcome = Literal["passed", "failed", "skipped"]
_MARKS: dict[Outcome, str] = {"passed": "ok", "failed": "FAIL", "skipped": "-"}


class Unmet(Exception):  # noqa: N818 - a finding of a check, not a fault of ours
    """Raised in a check: what the loop does wrong, and what its author can do."""

    def __init__(self, said: str, fix: str) -> None:
        super().__init__(said)
        self.said, self.fix = said, fix


@dataclass(frozen=True, slots=True)
class Checked:
    """One check: its name, what it looks at, and, where it failed, what and what to do."""

    name: str
    about: str
    outcome: Outcome
    said: str | None = None
    fix: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        return {
            "check": self.name,
            "about": self.about,
            "outcome": self.outcome,
            "message": self.said,
            "fix": self.fix,
        }

    def lines(self) -> Iterator[str]:
        """Give the lines people see."""
        skipped = self.outcome == "skipped"
        yield f"  {_MARKS[self.outcome]:<4}  {self.name:<14} {self.said if skipped else self.about}"
        for text in () if skipped else (self.said, self.fix):
            for line in (text or "").splitlines():
                yield f"{'':8}{line}"


@dataclass(frozen=True, slots=True)
class LoopReport:
    """All checks of one loop; ``kind`` is None for one that can't be loaded."""

    loop: str
    kind: str | None
    target: str
    checks: tuple[Checked, ...]

    @property
    def failed(self) -> list[Checked]:
        """The checks that failed."""
        return [check for check in self.checks if check.outcome == "failed"]

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        return {
            "loop": self.loop,
            "kind": self.kind,
            "target": self.target,
            "outcome": "failed" if self.failed else "passed",
            "checks": [check.as_json() for check in self.checks],
        }

    def text(self) -> str:
        """Give what people see."""
        about = ", ".join(filter(None, (self.kind, self.target)))
        lines = [f"{self.loop} ({about})"]
        lines += [line for check in self.checks for line in check.lines()]
        return "\n".join(lines)

    def require_passed(self) -> None:
        """Raise LOOP_CHECKS_FAILED, with all that failed, if anything has."""
        if self.failed:
            said = "\n".join(line for check in self.failed for line in check.lines())
            raise LoopKitError(
                f'loop "{self.loop}" fails {_count(len(self.failed), "check")}:\n{said}',
                loop=self.loop,
                checks=[check.as_json() for check in self.failed],
            )


@dataclass(frozen=True, slots=True)
class Report:
    """The loops of what was tried, in its order."""

    loops: Sequence[LoopReport]

    @property
    def exit_code(self) -> ExitCode:
        """FAILED when a check of any loop failed."""
        return ExitCode.FAILED if any(one.failed for one in self.loops) else ExitCode.DONE

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        outcome = "passed" if self.exit_code == ExitCode.DONE else "failed"
        return {"outcome": outcome, "loops": [one.as_json() for one in self.loops]}

    def text(self) -> str:
        """Give what people see: every check, and how many passed, failed and were skipped."""
        outcomes = [check.outcome for one in self.loops for check in one.checks]
        counts = [(kind, outcomes.count(kind)) for kind in _MARKS]
        told = ", ".join(f"{count} {kind}" for kind, count in counts if count)
        return "\n\n".join([*(one.text() for one in self.loops), told])


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
