"""All loops and drivers that are known, from all places; the nearer place wins (design 4).

Places, nearest first: a program's own `register()`, the profile's loops.yml, installed packages,
built-in. What is shadowed is told; twice in one place is an error of that name alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from dshloop.errors import DshloopError, DuplicateDriverError, DuplicateLoopError
from dshloop.loops.discovery import Offered
from dshloop.loops.importing import load_driver, load_loop
from dshloop.loops.loops_file import LoopsFile, Registered
from dshloop.loops.registry import Driver, Loop
from dshloop.loops.strategy import Strategy

T = TypeVar("T")
Source = Literal["program", "profile", "package", "built-in"]
SOURCES: tuple[Source, ...] = ("program", "profile", "package", "built-in")
AsLoop = Callable[[Strategy], Loop]


@dataclass(frozen=True, slots=True)
class Offer(Generic[T]):
    """A loop or driver that some place has; ``load`` gives it, and may raise."""

    id: str
    source: Source
    where: str
    load: Callable[[], T]
    target: str | None = None
    strategy: Strategy | None = None


@dataclass(frozen=True, slots=True)
class Entry(Generic[T]):
    """What an id stands for: the nearest offer, what became of it, and what it hides."""

    offer: Offer[T]
    value: T | None
    fault: DshloopError | None = None
    shadows: tuple[Offer[T], ...] = ()

    @property
    def id(self) -> str:
        """The loop's id or the driver's name."""
        return self.offer.id

    def require(self) -> T:
        """Give what was loaded. Raises why it can't be."""
        if self.value is None:
            assert self.fault is not None
            raise self.fault
        return self.value

    @property
    def notice(self) -> str | None:
        """Say what is hidden, if anything is."""
        if not self.shadows:
            return None
        hidden = ", ".join(f"{one.source} ({one.where})" for one in self.shadows)
        return f'"{self.id}" of {self.offer.source} ({self.offer.where}) hides that of {hidden}'

    def as_json(self) -> dict[str, Any]:
        """Give where it is from, as lists print it."""
        return {
            "from": self.offer.source,
            "where": self.offer.where,
            "target": self.offer.target,
            "shadows": [{"from": one.source, "where": one.where} for one in self.shadows],
            "fault": None if self.fault is None else self.fault.as_json(),
        }


def catalogue(offers: Iterable[Offer[T]], error: type[DshloopError]) -> dict[str, Entry[T]]:
    """Load the nearest offer of each id, in code-point order; a broken one keeps its fault.

    `error` is what an id is given that one place offers twice.
    """
    by_id: dict[str, list[Offer[T]]] = {}
    for offer in offers:
        by_id.setdefault(offer.id, []).append(offer)
    return {name: _entry(by_id[name], error) for name in sorted(by_id)}


def loop_offers(
    file: LoopsFile, packages: Sequence[Offered], as_loop: AsLoop
) -> Iterator[Offer[Loop]]:
    """Give the loops of a loops.yml and of packages; `as_loop` makes one of a strategy."""
    for one in file.loops:
        yield Offer(one.id, "profile", one.where, _loader(one, as_loop), one.target, one.strategy)
    for name, target, distribution in packages:
        yield Offer(name, "package", distribution, _package_loop(name, target), target)


def driver_offers(file: LoopsFile, packages: Sequence[Offered]) -> Iterator[Offer[Driver]]:
    """Give the drivers of a loops.yml and of packages."""
    for one in file.drivers:
        yield Offer(one.id, "profile", one.where, _driver(str(one.target)), one.target)
    for name, target, distribution in packages:
        yield Offer(name, "package", distribution, _driver(target), target)


def catalogue_loops(offers: Iterable[Offer[Loop]]) -> dict[str, Entry[Loop]]:
    """Load loops; see `catalogue`."""
    return catalogue(offers, DuplicateLoopError)


def catalogue_drivers(offers: Iterable[Offer[Driver]]) -> dict[str, Entry[Driver]]:
    """Load drivers; see `catalogue`."""
    return catalogue(offers, DuplicateDriverError)


def _entry(offers: list[Offer[T]], error: type[DshloopError]) -> Entry[T]:
    ranked = sorted(offers, key=lambda offer: SOURCES.index(offer.source))
    first = ranked[0]
    same = [offer for offer in ranked if offer.source == first.source]
    rest = tuple(offer for offer in ranked if offer.source != first.source)
    if len(same) > 1:
        both = " and ".join(offer.where for offer in same)
        message = f'"{first.id}" is offered by {both}'
        hint = "Uninstall one of them, or register the one you mean in loops.yml."
        fault = error(message, hint=hint, id=first.id, offered_by=[one.where for one in same])
        return Entry(first, None, fault, rest)
    try:
        return Entry(first, first.load(), None, rest)
    except DshloopError as error_found:
        return Entry(first, None, error_found, rest)


def _loader(one: Registered, as_loop: AsLoop) -> Callable[[], Loop]:
    strategy, target = one.strategy, one.target
    if strategy is not None:
        return lambda: as_loop(strategy)
    return lambda: load_loop(one.id, str(target))


def _package_loop(name: str, target: str) -> Callable[[], Loop]:
    return lambda: load_loop(name, target)


def _driver(target: str) -> Callable[[], Driver]:
    return lambda: load_driver(target)
