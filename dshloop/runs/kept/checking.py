"""Check and mend stored sessions, one or all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.errors import OutputExistsError, OutputRefusedError, SessionNotFoundError
from dshloop.files import shown
from dshloop.paths import Places, absolute
from dshloop.sessions.catalog import entries
from dshloop.sessions.fsck import Checked, check_log, stray_files
from dshloop.sessions.locate import locate
from dshloop.sessions.repair import Repaired, repair_log
from dshloop.transcripts.findings import Finding


@dataclass(frozen=True, slots=True)
class Every:
    """The check of all sessions, and what lies among them that is none."""

    logs: list[Checked]
    stray: list[Finding]

    @property
    def damaged(self) -> int:
        """How many logs have anything wrong with them."""
        return sum(not each.sound for each in self.logs)

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong anywhere."""
        return not self.damaged and not self.stray

    def as_json(self) -> dict[str, Any]:
        """Give the damaged ones whole, and the number of all."""
        return {
            "sessions": len(self.logs),
            "damaged": [each.as_json() for each in self.logs if not each.sound],
            "stray": [each.as_json() for each in self.stray],
            "sound": self.sound,
        }


@dataclass(frozen=True, slots=True)
class Mended:
    """A repair that was done: which log, where the copy is, what it took."""

    path: Path
    out: Path
    done: Repaired

    def as_json(self) -> dict[str, Any]:
        """Give paths and counts as one JSON object."""
        return {"path": shown(self.path), "out": shown(self.out), **self.done.as_json()}

    def text(self) -> str:
        """Say what was done; what didn't happen isn't named."""
        counts = self.done.as_json()
        lines = [f"wrote {shown(self.out)}: {counts['events']} events"]
        lines += [f"  {word.format(counts[name])}" for name, word in _SAID.items() if counts[name]]
        return "\n".join(lines)


_SAID = {
    "header": "the header was mended",
    "mended": "damaged lines that gave events: {}",
    "lost": "lines that gave none and are lost: {}",
    "repeated": "events that came again and were left out: {}",
    "dropped": "events without their counterpart that were left out: {}",
    "added": "results, starts and ends that were lost and are added: {}",
    "renumbered": "events with a new seq: {}",
    "marked": "events of unknown types, now ignorable: {}",
}


def check_session(places: Places, name: str, cwd: Path) -> Checked:
    """Check the log of a session or a file. Raises what `locate` and `check_log` raise."""
    found = locate(places, name, cwd)
    return check_log(found.path, stored=found.entry is not None)


def check_every(places: Places) -> Every:
    """Check all logs of ours and of dsh; one that vanishes meanwhile is left out."""
    logs = []
    for entry in entries(places):
        try:
            logs.append(check_log(entry.path, stored=True))
        except SessionNotFoundError:
            continue
    stray = [each for root in _roots(places) for each in stray_files(root)]
    return Every(logs, stray)


def repair_session(
    places: Places, name: str, out: str, cwd: Path, variables: Mapping[str, str]
) -> Mended:
    """Mend a session's log into a new file.

    Raises OUTPUT_REFUSED for a file among the sessions (dsh takes every log there for one of its
    own), OUTPUT_EXISTS, and what `locate` and `repair_log` raise.
    """
    target = absolute(out, cwd, variables)
    found = locate(places, name, cwd)
    if target.exists():
        raise OutputExistsError(f"{shown(target)} exists already", file=shown(target))
    for root in _roots(places):
        if target.is_relative_to(root):
            raise OutputRefusedError(
                f"{shown(target)} would lie among the sessions in {shown(root)}",
                file=shown(target),
            )
    return Mended(found.path, target, repair_log(found.path, target))


def _roots(places: Places) -> tuple[Path, Path]:
    return places.sessions, places.dsh_sessions
