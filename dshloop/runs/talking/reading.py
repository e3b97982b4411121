"""Runs that change nothing: which tools are left, which rows, and who can't be held to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dshloop.host.agent import Agent
from dshloop.host.rows import HostRow
from dshloop.host.tools import Execution
from dshloop.plugins.built_in import MEMORY, RECORDERS
from dshloop.runs.profile import ProfileRows

_WRITERS = (*RECORDERS, "dsh-patchouli")
_REASON = "the run is read-only: --read-only allows only {names}"


def read_only_rows(rows: ProfileRows) -> ProfileRows:
    """Leave out what records, and have our memory only recalled; says which rows that are."""
    rows, left_out = without_recorders(rows)
    told = "nothing is changed: tools that change something are off, memory is only read"
    more = [f"left out of a read-only run: {', '.join(left_out)}"] if left_out else []
    return replace(rows, notices=(*rows.notices, f"read-only: {told}", *more))


def without_recorders(rows: ProfileRows, *, recall: bool = True) -> tuple[ProfileRows, list[str]]:
    """Leave out the rows that record what happens elsewhere; gives their names, too.

    Ours records nothing then, and without ``recall`` puts nothing before the model.
    """
    left_out = [row.name for row in rows.rows if row.off is None and _writes(row)]
    kept = tuple(_reading(row, recall) for row in rows.rows if row.name not in left_out)
    return replace(rows, rows=kept), left_out


def _writes(row: HostRow) -> bool:
    return row.name.startswith(_WRITERS)


def _reading(row: HostRow, recall: bool) -> HostRow:
    if row.name != MEMORY.name or row.off is not None:
        return row
    config = row.config if isinstance(row.config, Mapping) else {}
    kept = {**config, "record": False}
    return replace(row, config=kept if recall else {**kept, "inject": False})


def hold_to_reading(agent: Agent) -> None:
    """Hide and refuse all tools but those that say they change nothing, and record the mode."""
    known = [tool.name for tool in agent.tools.offered if tool.reads]
    agent.tools.restrict(allow=known)
    reason = _REASON.format(names=", ".join(known) or "no tool")

    def guard(execution: Execution) -> str | None:
        return None if execution.tool is not None and execution.tool.reads else reason

    agent.tools.guard(guard)
    agent.session.append("sandbox/mode", {"mode": "read-only"}, later=True)
