"""What a record says of a cell, beside what its session came to."""

from __future__ import annotations

from typing import Any

from dshloop.runs.matrix.plan import Cell

TIMEOUT, UNAVAILABLE, SKIPPED, CRASHED = "timeout", "unavailable", "skipped", "crashed"
"""Outcomes beside those of turns: out of time, could not begin, was not wanted, its worker died."""


def blank(cell: Cell) -> dict[str, Any]:
    """Give the record of a cell in which nothing has happened, with every key."""
    return {
        "number": cell.number,
        **cell.axes,
        "outcome": SKIPPED,
        "passed": None,
        "checks": [],
        "turns": 0,
        "steps": 0,
        "tool_calls": 0,
        "tokens": {},
        "seconds": 0.0,
        "text": "",
        "session": None,
        "ran_on": None,
        "answered_by": None,
        "failure": None,
        "notices": [],
        "tries": 0,
        "finished_at": None,
    }
