"""The profile that is used when none is named, and what other profiles get of it (design 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
TOOLS = HostRow("workspace-tools", "dshloop/workspace-tools", {"allow": []})
MEMORY = HostRow("memory", "dshloop/memory", {"record": False, "inject": False})
COMPACTION = HostRow("compaction", "dshloop/compaction", {})
ROWS = (DOCK, ENGINE, TOOLS, MEMORY, COMPACTION)
REPLACED = (DOCK.name, ENGINE.name)
"""What a profile needs, so that a row of its own that is off gives way to ours."""

RECORDERS = ("dsh-agentmemory", "dsh-patchouli-agent-loop")
"""Rows that record and offer memory: ours is left out beside them."""


class Completed(NamedTuple):
    """A profile's rows, and those that were added in memory."""

    rows: tuple[HostRow, ...]
    added: tuple[HostRow, ...] = ()


def completed(rows: Sequence[HostRow]) -> Completed:
    """Give a profile without a dock row that runs those of ours that it lacks.

    One of the others that the profile has switched off stays off.
    """
    running = {row.name for row in rows if row.off is None}
    if DOCK.name in running:
        return Completed(tuple(rows))
    known = running | {row.name for row in rows if row.name not in REPLACED}
    if recorder_of(rows) is not None:
        known.add(MEMORY.name)
    added = tuple(row for row in ROWS if row.name not in known)
    kept = tuple(row for row in rows if row.off is None or row.name not in REPLACED)
    return Completed((*added[:1], *kept, *added[1:]), added)


def recorder_of(rows: Sequence[HostRow]) -> HostRow | None:
    """Give the row that keeps memory in the place of ours."""
    return next((row for row in rows if row.off is None and row.name in RECORDERS), None)
