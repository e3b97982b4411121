"""How much a run may take: turns in all, seconds for each prompt."""

from __future__ import annotations

from typing import NamedTuple

from dshloop.host.abort import Cause

GRACE = 5.0
"""Seconds that a turn whose time is over may take to end; then it is left open in the log."""

MAX_TURNS, TIMEOUT = "MAX_TURNS", "TIMEOUT"


class Bounds(NamedTuple):
    """None is without end."""

    max_turns: int | None = None
    timeout: float | None = None

    @property
    def of_turns(self) -> str:
        """Say that there were as many turns as there may be."""
        count = "1 turn" if self.max_turns == 1 else f"{self.max_turns} turns"
        return f"stopped after {count} (--max-turns), with more to do"

    @property
    def of_time(self) -> str:
        """Say that a turn took too long."""
        return f"no answer within {self.timeout:g} s (--timeout)"


UNBOUNDED = Bounds()


def cause(text: str) -> Cause:
    """Give the reason that the log names for a turn which a bound has ended."""
    return {"kind": "hook", "reason": text}
