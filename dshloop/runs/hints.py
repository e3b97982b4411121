"""What mends a loop or driver that is missing, where the profile's rows tell more."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from dshloop.errors import DshloopError, MissingDriverError, UnknownLoopError
from dshloop.loops.engine_row import FAKE_DRIVER

if TYPE_CHECKING:
    from dshloop.loops.rows import DockRows

DSH = "dsh"
_ROUTED = ("route", "preset", "default")  # where the profile's own config leads there


def mend(
    error: DshloopError, rows: DockRows | None, drivers: Collection[str], source: str | None
) -> None:
    """Give an unknown loop or a missing driver a better hint, if the rows have one.

    ``drivers`` are the registered ones, ``source`` is that of the selection.
    """
    hint = None
    if rows is not None and isinstance(error, UnknownLoopError):
        hint = _loop_hint(str(error.details.get("loop")), rows, drivers, source)
    elif rows is not None and isinstance(error, MissingDriverError):
        hint = _fake_driver_hint(error, rows)
    error.hint = hint or error.hint


def way_on(drivers: Collection[str], *, routed: bool) -> str:
    """Say how a loop of dsh is run; only its routes promise a driver that is not there yet."""
    if routed or DSH in drivers:
        return f"run it with --driver {DSH}"
    return "only dsh itself runs it"


def _loop_hint(
    loop: str, rows: DockRows, drivers: Collection[str], source: str | None
) -> str | None:
    """Name the row that registers a loop, or may, in JavaScript."""
    owner = rows.foreign_loops().get(loop)
    authors = [owner] if owner else rows.authors()
    if not authors:
        return None
    said = f"{' and '.join(authors)} {'registers' if owner else 'may register'} it, in JavaScript"
    return f"{said}: {way_on(drivers, routed=owner is not None and source in _ROUTED)}."


def _fake_driver_hint(error: MissingDriverError, rows: DockRows) -> str | None:
    """Name the row that has the fake driver off."""
    if error.details.get("driver") != FAKE_DRIVER or rows.engine is None:
        return None
    row = rows.engine.get("id")
    return f"Row {row} has fakeDriver off: dshloop profile set {row}.fakeDriver true."
