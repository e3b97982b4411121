"""What is said of loops that only rows in JavaScript can register."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dshloop.loops.rows import DockRows

DSH = "dsh"
_ROUTED = ("route", "preset", "default")  # where the profile's own config leads there


def owner_hint(
    loop: object, rows: DockRows | None, drivers: Collection[str], source: str | None
) -> str | None:
    """Name the row that registers an unknown loop, or may, in JavaScript; None without one.

    ``drivers`` are the registered ones, ``source`` is that of the selection.
    """
    if rows is None:
        return None
    owner = rows.foreign_loops().get(str(loop))
    authors = [owner] if owner else rows.authors()
    if not authors:
        return None
    said = f"{' and '.join(authors)} {'registers' if owner else 'may register'} it, in JavaScript"
    return f"{said}: {way_on(drivers, routed=owner is not None and source in _ROUTED)}."


def way_on(drivers: Collection[str], *, routed: bool) -> str:
    """Say how a loop of dsh is run; only its routes promise a driver that is not there yet."""
    if routed or DSH in drivers:
        return f"run it with --driver {DSH}"
    return "only dsh itself runs it"
