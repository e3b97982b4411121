"""What an agent waits for, and the command that mends it (loop-dock 18.4)."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Literal, NamedTuple

from dshloop.errors import MissingDriverError, UnknownLoopError
from dshloop.loops.registry import DEFAULT_DRIVER


class Missing(NamedTuple):
    """What an agent waits for: a loop or a driver, and who named it."""

    kind: Literal["loop", "driver"]
    name: str
    origin: str
    message: str
    available: Sequence[str] = ()

    def command(self, profile: str | None = None) -> str:
        """Give the command that mends it, on the profile of this name."""
        if self.origin == "settings" and self.available:
            usual = DEFAULT_DRIVER in self.available
            return f"dshloop driver use {DEFAULT_DRIVER if usual else self.available[0]}"
        on = "" if profile is None else f" --profile {quote(profile)}"
        return f"dshloop {self.kind} register {self.name} MODULE:OBJECT{on}"


def missing_of(error: UnknownLoopError | MissingDriverError, loop_from: str) -> Missing:
    """Read it from the error of a selection; ``loop_from`` is what named the loop."""
    details = error.details
    kind: Literal["loop", "driver"] = "loop" if isinstance(error, UnknownLoopError) else "driver"
    return Missing(
        kind,
        details[kind],
        loop_from if kind == "loop" else details["origin"],
        error.message.split("\n", 1)[0],
        details["available"],
    )
