"""What was carried in or out, and what was not, as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dshloop.cli.memory.texts import redaction
from dshloop.result import Caution

if TYPE_CHECKING:
    from dshloop.memory.interchange.report import Report


def not_carried(report: Report, *, secrets: bool = False) -> list[Caution]:
    """Say what was not carried, and that secrets were taken out, or are in what was written."""
    from dshloop.terminal import one_line

    found = [Caution(note, "IMPORT_NOTE") for note in report.notes]
    for reason, count in report.lost.most_common():
        places = report.places[reason]
        shown = ", ".join(f"line {one}" if isinstance(one, int) else one_line(one)
                          for one in places)  # fmt: skip
        more = ", …" if count > len(places) else ""
        message = f"{count} not carried: {one_line(reason)} ({shown}{more})"
        details = {"reason": reason, "count": count, "places": places}
        found.append(Caution(message, "NOT_CARRIED", details=details))
    if secrets and report.redacted:
        what = "1 text looks" if report.redacted == 1 else f"{report.redacted} texts look"
        message = f"{what} like a secret; --redact takes such out"
        return [*found, Caution(message, "SECRETS_EXPORTED", details={"found": report.redacted})]
    return [*found, *redaction(report.redacted)]


def counted(counts: dict[str, int]) -> str:
    many = {"memory": "memories"}
    parts = [
        f"{count:,} {kind if count == 1 else many.get(kind, kind + 's')}"
        for kind in ("memory", "observation", "session", "document")
        if (count := counts[kind])
    ]
    return ", ".join(parts) or "nothing"
