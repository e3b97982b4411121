"""The loops and drivers of a profile's loops.yml and of packages, docked for a run (design 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dshloop.errors import DshloopError
from dshloop.loops.dock import Dock
from dshloop.loops.harness import PresetMounts
from dshloop.loops.registry import Driver, Loop
from dshloop.loops.resolution import choose_driver
from dshloop.loops.selection import Selection

if TYPE_CHECKING:  # most runs need no more than the rows
    from dshloop.loops.catalog import Entry
    from dshloop.loops.loops_file import LoopsFile
    from dshloop.loops.strategy import Strategy


@dataclass(slots=True)
class ProfileLoops:
    """Docks what a profile has beside its rows; packages are only asked for unknown names.

    One that can't be loaded is a warning, and an error for whoever wants to run on it.
    """

    dock: Dock
    file: LoopsFile | None = None
    presets: PresetMounts | None = None
    faults: dict[tuple[str, str], DshloopError] = field(default_factory=dict)

    def register(self) -> None:
        """Dock what loops.yml registers, in the place of what rows brought under the same id."""
        if self.file is None or not (self.file.loops or self.file.drivers):
            return
        from dshloop.loops.catalog import (
            catalogue_drivers,
            catalogue_loops,
            driver_offers,
            loop_offers,
        )

        self._dock_loops(catalogue_loops(loop_offers(self.file, [], self._as_loop)))
        self._dock_drivers(catalogue_drivers(driver_offers(self.file, [])))
        for (kind, name), fault in self.faults.items():
            self.dock.warn(f"{kind} {name} can't be used: {fault.message}")

    def require(self, selection: Selection) -> None:
        """Have the loop and driver of a selection docked, if they can be found at all.

        Raises why one that is registered can't be loaded.
        """
        self.require_loop(selection.loop)
        loop = self.dock.loops.get(selection.loop)
        if loop is not None and loop.kind == "strategy":
            self.require_driver(choose_driver(selection, loop, self.dock.default_driver)[0])

    def require_loop(self, name: str) -> None:
        """Look for a loop in packages if it isn't docked; raises its fault."""
        if ("loop", name) not in self.faults and not self.dock.loops.has(name):
            from dshloop.loops.catalog import catalogue_loops, loop_offers
            from dshloop.loops.discovery import offered
            from dshloop.loops.loops_file import LoopsFile

            offers = loop_offers(LoopsFile(), offered("dshloop.loops", name), self._as_loop)
            self._dock_loops(catalogue_loops(offers))
        self._raise_fault("loop", name)

    def require_driver(self, name: str) -> None:
        """Look for a driver in packages if it isn't docked; raises its fault."""
        if ("driver", name) not in self.faults and self.dock.drivers.get(name) is None:
            from dshloop.loops.catalog import catalogue_drivers, driver_offers
            from dshloop.loops.discovery import offered
            from dshloop.loops.loops_file import LoopsFile

            offers = driver_offers(LoopsFile(), offered("dshloop.drivers", name))
            self._dock_drivers(catalogue_drivers(offers))
        self._raise_fault("driver", name)

    def _dock_loops(self, entries: Mapping[str, Entry[Loop]]) -> None:
        for entry in entries.values():
            hidden = self.dock.unregister(entry.id)
            if entry.value is not None:
                self.dock.register(entry.value)
            self._tell("loop", entry, hidden)

    def _dock_drivers(self, entries: Mapping[str, Entry[Driver]]) -> None:
        for entry in entries.values():
            hidden = self.dock.unregister_driver(entry.id)
            if entry.value is not None:
                self.dock.register_driver(entry.id, entry.value)
            self._tell("driver", entry, hidden)

    def _tell(self, kind: str, entry: Entry[Loop] | Entry[Driver], hidden: bool) -> None:
        if entry.fault is not None:
            self.faults[kind, entry.id] = entry.fault
        if hidden:
            self.dock.warn(f'{kind} "{entry.id}" of {entry.offer.where} hides the built-in one')

    def _raise_fault(self, kind: str, name: str) -> None:
        if (kind, name) in self.faults:
            raise self.faults[kind, name]

    def _as_loop(self, strategy: Strategy) -> Loop:
        from dshloop.loops.strategy_setup import strategy_as_loop

        return strategy_as_loop(strategy, self.presets)
