"""The places that may name a loop or a driver, in the order the dock looks at them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from dshloop.loops.binding import Recorded
from dshloop.loops.names import ABSENT, is_object
from dshloop.loops.selection import (
    Origin,
    Selection,
    Wish,
    explicit_wish,
    preset_key,
    route_at,
    session_key,
)
from dshloop.loops.settings_default import KEY, NAMESPACE

if TYPE_CHECKING:
    from dshloop.loops.dock import Dock

Dimension = Literal["loop", "driver"]


class Candidate(NamedTuple):
    """One place that may name a loop or a driver; ``value`` is None where it names none.

    ``where`` is what to look at to change it: a config path, an option, a file and line if the
    caller knows them.
    """

    dimension: Dimension
    origin: Origin
    value: Any
    won: bool
    where: str

    def as_json(self) -> dict[str, Any]:
        """Give the candidate as `loop explain --json` prints it."""
        return {
            "dimension": self.dimension,
            "from": self.origin,
            "value": self.value,
            "won": self.won,
            "where": self.where,
        }


class Offer(NamedTuple):
    """Somebody's wish, and the place of its loop and of its driver."""

    origin: Origin
    wish: Wish
    loop_at: str
    driver_at: str


def create_offers(dock: Dock, options: Mapping[str, Any]) -> Iterator[Offer]:
    """Give what a create looks at, but for the defaults."""
    yield _explicit(options)
    yield _routed(dock, options)
    yield _mapped(dock, preset_key(options))


def resume_offers(dock: Dock, options: Mapping[str, Any], recorded: Recorded) -> Iterator[Offer]:
    """Give what a resume looks at, but for the defaults."""
    yield _explicit(options)
    yield _routed(dock, options)
    binding = recorded.binding
    wish = Wish() if binding is None else Wish(binding.loop, binding.driver or ABSENT)
    yield Offer("binding", wish, "the session's log", "the session's log")
    yield _mapped(dock, recorded.preset)


def _explicit(options: Mapping[str, Any]) -> Offer:
    inner = options.get("agentOptions")
    names = ("loop", "driver")
    at = [
        f"options.agentOptions.{name}"
        if options.get(name) is None and is_object(inner) and name in inner
        else f"options.{name}"
        for name in names
    ]
    return Offer("explicit", explicit_wish(options), at[0], at[1])


def _routed(dock: Dock, options: Mapping[str, Any]) -> Offer:
    key = session_key(options)
    path = "sessionLoops" if key is None else f"sessionLoops.{key}"
    return Offer("session route", route_at(dock.config.session_loops, key), path, path)


def _mapped(dock: Dock, preset: object) -> Offer:
    path = "presetLoops" if preset is None else f"presetLoops.{preset}"
    return Offer("preset route", route_at(dock.config.preset_loops, preset), path, path)


def loop_candidates(
    dock: Dock, offers: list[Offer], selection: Selection | None
) -> Iterator[Candidate]:
    """Give the candidates for the loop."""
    winner = None if selection is None else selection.loop_from
    for offer in offers:
        value = _shown(offer.wish.loop)
        yield Candidate("loop", offer.origin, value, offer.origin == winner, offer.loop_at)
    default = dock.config.default_loop
    yield Candidate("loop", "config", default, winner == "config", "defaultLoop")


def driver_candidates(
    dock: Dock,
    offers: list[Offer],
    selection: Selection | None,
    chosen: tuple[str | None, Origin | None],
) -> Iterator[Candidate]:
    """Give the candidates for the driver; `chosen` is the one that won, and what named it."""
    winner = chosen[1]
    for offer in offers:
        value = _shown(offer.wish.driver)
        yield Candidate("driver", offer.origin, value, offer.origin == winner, offer.driver_at)
    loop = None if selection is None else dock.loops.get(selection.loop)
    if loop is not None and loop.kind == "driver":
        return  # it has an engine of its own; no default counts
    own = None if loop is None else loop.driver
    at = "the loop" if loop is None else f'loop "{loop.id}"'
    yield Candidate("driver", "strategy", own, winner == "strategy", at)
    setting, origin = dock.default_driver()
    chosen_setting = setting if origin == "settings" else None
    place = f"{NAMESPACE}.{KEY}"
    yield Candidate("driver", "settings", chosen_setting, winner == "settings", place)
    default = dock.config.default_driver
    yield Candidate("driver", "config", default, winner == "config", "defaultDriver")


def _shown(value: Any) -> Any:
    return None if value is ABSENT else value
