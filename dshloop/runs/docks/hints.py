"""What mends a loop or driver that is missing, where the profile's rows tell more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dshloop.errors import DshloopError, MissingDriverError, UnknownLoopError
from dshloop.loops.engine_row import FAKE_DRIVER

if TYPE_CHECKING:
    from dshloop.loops.rows import DockRows

ONLY_DSH = "only dsh itself runs it; --loop standard --driver dsh lets dsh run the turns"
"""Of a loop in JavaScript: the driver `dsh` runs turns of our loops, not dsh's own loops."""


def mend(error: DshloopError, rows: DockRows | None) -> None:
    """Give an unknown loop or a missing driver a better hint, if the rows have one."""
    hint = None
    if isinstance(error, UnknownLoopError):
        loop = str(error.details.get("loop"))
        hint = (None if rows is None else _loop_hint(loop, rows)) or _meant(loop, error)
    elif rows is not None and isinstance(error, MissingDriverError):
        hint = _fake_driver_hint(error, rows)
    error.hint = hint or error.hint


def _loop_hint(loop: str, rows: DockRows) -> str | None:
    """Name the row that registers a loop, or may, in JavaScript."""
    owner = rows.foreign_loops().get(loop)
    authors = [owner] if owner else rows.authors()
    if not authors:
        return None
    said = f"{' and '.join(authors)} {'registers' if owner else 'may register'} it, in JavaScript"
    return f"{said}: {ONLY_DSH}."


def _meant(loop: str, error: UnknownLoopError) -> str | None:
    """Name the loop that was probably meant, of those that packages have too."""
    from dshloop.loops.discovery import offered
    from dshloop.loops.fields import near_match

    packaged = [one.id for one in offered("dshloop.loops")]
    near = near_match(loop, [*error.details.get("available", ()), *packaged])
    return None if near is None else f'Did you mean "{near}"? {error.hint}'


def _fake_driver_hint(error: MissingDriverError, rows: DockRows) -> str | None:
    """Name the row that has the fake driver off."""
    if error.details.get("driver") != FAKE_DRIVER or rows.engine is None:
        return None
    row = rows.engine.get("id")
    return f"Row {row} has fakeDriver off: dshloop profile set {row}.fakeDriver true."
