"""The profile that is used when none is named, and what other profiles get of it (design 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dshloop.host.rows import HostRow
from dshloop.loops.binding import DEFAULT_LOOP, PRESET_LOOPS

DOCK = HostRow(
    "agent-loop-dock",
    "dsh-loop-dock",
    {
        "defaultLoop": DEFAULT_LOOP,
        "defaultDriver": "default",
        "presetLoops": PRESET_LOOPS,
        "sessionLoops": {},
        "agents": [],
    },
)
ENGINE = HostRow(
    "agent-loop-dock-default-driver",
    "dsh-loop-dock/headless-driver",
    {"maxParallelToolCalls": 10, "fakeDriver": True},
)
ROWS = (DOCK, ENGINE)


@dataclass(frozen=True, slots=True)
class Completed:
    """A profile's rows, and those that were added in memory."""

    rows: tuple[HostRow, ...]
    added: tuple[HostRow, ...] = ()


def completed(rows: Sequence[HostRow]) -> Completed:
    """Give a profile without a dock row that runs those of ours that it lacks."""
    running = {row.name for row in rows if row.off is None}
    if DOCK.name in running:
        return Completed(tuple(rows))
    added = tuple(row for row in ROWS if row.name not in running)
    kept = tuple(row for row in rows if row.off is None or row.name not in (DOCK.name, ENGINE.name))
    return Completed((*added[:1], *kept, *added[1:]), added)
