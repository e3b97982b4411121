"""From a selection to the loop and driver that will really run (loop-dock 6, hub stage)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dshloop.errors import InvalidConfigError, MissingDriverError
from dshloop.loops.binding import Binding
from dshloop.loops.names import listed
from dshloop.loops.registry import DriverRegistry, Loop, LoopRegistry
from dshloop.loops.selection import Origin, Selection

DefaultDriver = Callable[[], tuple[str, Origin]]

# how a message says where the driver's name came from
NAMED_BY: dict[Origin, str] = {
    "explicit": "it was asked for explicitly",
    "session route": "the session's route names it",
    "preset route": "the preset's route names it",
    "binding": "the session's log records it",
    "strategy": "the loop itself names it",
    "settings": "the settings name it (agent-loops.defaultDriver)",
    "config": "the dock's config names it (defaultDriver)",
}


FAKE_DRIVER = "fake-driver"
_FAKE_HINT = (
    "The row dsh-loop-dock/headless-driver brings it only with `fakeDriver: true` in its config "
    "(dshloop profile row list names the row); dshloop driver list lists the drivers."
)


class Resolved(NamedTuple):
    """What will run. ``ignored`` is a driver that was named but has no part in a driver loop."""

    loop: Loop
    driver: str | None
    driver_from: Origin | None
    ignored: str | None = None

    @property
    def binding(self) -> Binding:
        """What the session's log records."""
        return Binding(self.loop.id, self.driver)


def resolve(
    selection: Selection, loops: LoopRegistry, drivers: DriverRegistry, default: DefaultDriver
) -> Resolved:
    """Find the loop and its driver; `default` is only called when nothing else names one.

    Raises UNKNOWN_LOOP, INVALID_CONFIG and MISSING_DRIVER.
    """
    loop = loops.require(selection.loop)
    if loop.kind == "driver":
        return Resolved(loop, None, None, _ignored(selection, loop))
    driver, origin = choose_driver(selection, loop, default)
    if drivers.get(driver) is None:
        raise _missing(loop, driver, origin, drivers.names)
    return Resolved(loop, driver, origin)


def choose_driver(selection: Selection, loop: Loop, default: DefaultDriver) -> tuple[str, Origin]:
    """Name the driver of a strategy loop, and what named it."""
    if selection.driver is not None and selection.driver_from is not None:
        return selection.driver, selection.driver_from
    return default() if loop.driver is None else (loop.driver, "strategy")


def _ignored(selection: Selection, loop: Loop) -> str | None:
    """Refuse a driver that was meant for this driver loop; any other is ignored (18.1).

    A recorded driver is always refused: it was recorded together with this very loop.
    """
    origin = selection.driver_from
    if origin in ("explicit", "binding") or (origin and origin == selection.loop_from):
        raise InvalidConfigError(
            f'driver selection is only valid for strategy loops; "{loop.id}" is a driver loop',
            hint=f'"{loop.id}" brings its own engine; leave the driver out.',
            field="driver",
            loop=loop.id,
            driver=selection.driver,
            source=origin,
        )
    return selection.driver


def _missing(loop: Loop, driver: str, origin: Origin, known: list[str]) -> MissingDriverError:
    return MissingDriverError(
        f'strategy loop "{loop.id}" requires driver "{driver}", which is not registered\n'
        f"{NAMED_BY[origin]}; available: {listed(known)}",
        hint=_FAKE_HINT if driver == FAKE_DRIVER else None,
        loop=loop.id,
        driver=driver,
        origin=origin,
        available=known,
    )
