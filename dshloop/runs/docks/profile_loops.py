"""The loops and drivers of a profile's loops.yml and of packages, docked for a run (design 4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from dshloop.errors import DshloopError
from dshloop.loops.dock import Dock
from dshloop.loops.harness import PresetMounts
from dshloop.loops.registry import Driver, Loop
from dshloop.loops.resolution import choose_driver
from dshloop.loops.selection import Selection

if TYPE_CHECKING:  # most runs need no more than the rows
    from dshloop.loops.catalog import Entry, Offer
    from dshloop.loops.discovery import Group, Offered
    from dshloop.loops.loops_file import LoopsFile
    from dshloop.loops.strategy import Strategy

T = TypeVar("T")


@dataclass(slots=True)
class ProfileLoops:
    """Docks what a profile has beside its rows; packages are asked for what isn't there nearer.

    One that can't be loaded is a warning, and an error for whoever wants to run on it.
    """

    dock: Dock
    file: LoopsFile | None = None
    presets: PresetMounts | None = None
    faults: dict[tuple[str, str], DshloopError] = field(default_factory=dict)
    _groups: set[str] | None = None  # in which some package may offer something

    def register(self) -> None:
        """Dock the drivers of other programs and what loops.yml registers; nearer ones stay."""
        from dshloop.drivers.engines import engine_drivers

        for name, driver in engine_drivers().items():
            if not self.dock.drivers.has(name):
                self.dock.register_driver(name, driver, built_in=True)
        if self.file is None or not (self.file.loops or self.file.drivers):
            return
        from dshloop.loops.catalog import driver_offers, loop_offers

        self._dock_loops(loop_offers(self.file, [], self._as_loop))
        self._dock_drivers(driver_offers(self.file, []))
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
        """Look for a loop in packages if none is nearer; raises its fault."""
        if self._may_be_of_a_package("loop", name, self.dock.loops.get(name)):
            packages = self._packages("dshloop.loops", name)
            if packages:
                from dshloop.loops.catalog import loop_offers
                from dshloop.loops.loops_file import LoopsFile

                self._dock_loops(loop_offers(LoopsFile(), packages, self._as_loop))
        self._raise_fault("loop", name)

    def require_driver(self, name: str) -> None:
        """Look for a driver in packages if none is nearer; raises its fault."""
        if self._may_be_of_a_package("driver", name, self.dock.drivers.get(name)):
            packages = self._packages("dshloop.drivers", name)
            if packages:
                from dshloop.loops.catalog import driver_offers
                from dshloop.loops.loops_file import LoopsFile

                self._dock_drivers(driver_offers(LoopsFile(), packages))
        self._raise_fault("driver", name)

    def _may_be_of_a_package(self, kind: str, name: str, docked: Loop | Driver | None) -> bool:
        if (kind, name) in self.faults:
            return False
        return docked is None or self.dock.is_built_in(docked)

    def _packages(self, group: Group, name: str) -> list[Offered]:
        """Ask packages for a name; a run looks only once which groups they have."""
        from dshloop.loops.discovery import GROUPS, offered, offering

        if self._groups is None:
            self._groups = offering(GROUPS)
        return offered(group, name) if group in self._groups else []

    def _dock_loops(self, offers: Iterable[Offer[Loop]]) -> None:
        from dshloop.loops.catalog import catalogue_loops

        found = list(offers)
        here = [self._docked(self.dock.loops.get(one), one) for one in _first(found)]
        for entry in catalogue_loops([*found, *filter(None, here)]).values():
            if entry.value is None or entry.value is not self.dock.loops.get(entry.id):
                self.dock.unregister(entry.id)
                if entry.value is not None:
                    self.dock.register(entry.value)
            self._tell("loop", entry)

    def _dock_drivers(self, offers: Iterable[Offer[Driver]]) -> None:
        from dshloop.loops.catalog import catalogue_drivers

        found = list(offers)
        here = [self._docked(self.dock.drivers.get(one), one) for one in _first(found)]
        for entry in catalogue_drivers([*found, *filter(None, here)]).values():
            if entry.value is None or entry.value is not self.dock.drivers.get(entry.id):
                self.dock.unregister_driver(entry.id)
                if entry.value is not None:
                    self.dock.register_driver(entry.id, entry.value)
            self._tell("driver", entry)

    def _docked(self, docked: T | None, name: str) -> Offer[T] | None:
        """Give what rows have registered under a name as an offer: our own, or a program's."""
        from dshloop.loops.catalog import Offer

        if docked is None:
            return None
        ours = self.dock.is_built_in(docked)  # type: ignore[arg-type]
        return Offer(
            name, "built-in" if ours else "program", "dshloop" if ours else "a row", lambda: docked
        )

    def _tell(self, kind: str, entry: Entry[Loop] | Entry[Driver]) -> None:
        if entry.fault is not None:
            self.faults[kind, entry.id] = entry.fault
        if entry.notice is not None:
            self.dock.warn(f"{kind} {entry.notice}")

    def _raise_fault(self, kind: str, name: str) -> None:
        if (kind, name) in self.faults:
            raise self.faults[kind, name]

    def _as_loop(self, strategy: Strategy) -> Loop:
        from dshloop.loops.strategy_setup import strategy_as_loop

        return strategy_as_loop(strategy, self.presets)


def _first(offers: Iterable[Offer[Any]]) -> list[str]:
    """Give the names that are offered, each once."""
    return list(dict.fromkeys(one.id for one in offers))
