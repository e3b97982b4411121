"""What a reader found wrong in a log, and where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of a log.

    ``line`` counts from 1, the header's; ``byte`` is the offset of that line in the decoded text,
    or of a frame in the file; ``seq`` is the event's own or the one that was expected.
    ``refuses`` marks the faults for which DSH refuses to load the log; ``message`` is DSH's then,
    as far as it has one.
    """

    code: str
    severity: Severity
    message: str
    line: int | None = None
    byte: int | None = None
    seq: int | None = None
    refuses: bool = False

    def as_json(self) -> dict[str, Any]:
        """Give the finding as a JSON object without its absent places."""
        places = {"line": self.line, "byte": self.byte, "seq": self.seq}
        known = {name: value for name, value in places.items() if value is not None}
        return {"code": self.code, "severity": self.severity, "message": self.message, **known}


Report = Callable[[Finding], None]
