"""Why a session runs on this loop and driver: every candidate in order (loop-dock 18.9).

Built only when somebody asks. Who wins is never decided here: the selection is made as always,
and the candidates are what it looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from dshloop.errors import DshloopError
from dshloop.loops.binding import Recorded
from dshloop.loops.names import ABSENT, is_object
from dshloop.loops.resolution import NAMED_BY, Resolved, choose_driver
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


@dataclass(frozen=True, slots=True)
class Explanation:
    """What would run and why; ``conflict`` is the error that keeps it from running.

    ``recorded`` is None when creating; False marks a session whose loop is only inferred.
    """

    loop: str | None
    driver: str | None
    source: str | None
    driver_source: str | None
    candidates: tuple[Candidate, ...]
    conflict: DshloopError | None = None
    notices: tuple[str, ...] = ()
    recorded: bool | None = None

    def as_json(self) -> dict[str, Any]:
        """Give the explanation as `loop explain --json` prints it."""
        found: dict[str, Any] = {
            "loop": self.loop,
            "driver": self.driver,
            "source": self.source,
            "driver_source": self.driver_source,
            "candidates": [candidate.as_json() for candidate in self.candidates],
            "notices": list(self.notices),
        }
        if self.recorded is not None:
            found["recorded"] = self.recorded
        if self.conflict is not None:
            found["conflict"] = self.conflict.as_json()
        return found


def explain_create(
    dock: Dock, options: Mapping[str, Any], places: Mapping[str, str] | None = None
) -> Explanation:
    """Explain what a create with these options would select.

    ``places`` gives a file and line for config paths like `sessionLoops.s1`.
    """
    offers = list(_create_offers(dock, options))
    selection: Selection | None = None
    try:
        selection = dock.select_create(options)
        resolved = dock.resolve(selection)
    except DshloopError as error:
        return _explained(dock, offers, places, selection, None, conflict=error)
    return _explained(dock, offers, places, selection, resolved)


async def explain_resume(
    dock: Dock,
    options: Mapping[str, Any],
    places: Mapping[str, str] | None = None,
    *,
    force_rebind: bool = False,
) -> Explanation:
    """Explain what a resume with these options would select.

    Raises what reading the session's log raises: SESSION_UNREADABLE, SESSION_NOT_FOUND.
    """
    session = options["resumeSessionId"]
    recorded = await dock.recorded(session, force_rebind=force_rebind)
    return explain_recorded(dock, options, recorded, places)


def explain_recorded(
    dock: Dock,
    options: Mapping[str, Any],
    recorded: Recorded,
    places: Mapping[str, str] | None = None,
) -> Explanation:
    """Explain a resume of a session whose log says `recorded`."""
    offers = list(_resume_offers(dock, options, recorded))
    has_record = recorded.binding is not None
    selection: Selection | None = None
    try:
        selection = dock.select_resume(options, recorded)
        resolved = dock.resolve(selection)
    except DshloopError as error:
        return _explained(dock, offers, places, selection, None, error, has_record)
    return _explained(dock, offers, places, selection, resolved, None, has_record)


class _Offer(NamedTuple):
    """Somebody's wish, and the place of its loop and of its driver."""

    origin: Origin
    wish: Wish
    loop_at: str
    driver_at: str


def _create_offers(dock: Dock, options: Mapping[str, Any]) -> Iterator[_Offer]:
    yield _explicit(options)
    yield _routed(dock, options)
    yield _mapped(dock, preset_key(options))


def _resume_offers(dock: Dock, options: Mapping[str, Any], recorded: Recorded) -> Iterator[_Offer]:
    yield _explicit(options)
    yield _routed(dock, options)
    binding = recorded.binding
    wish = Wish() if binding is None else Wish(binding.loop, binding.driver or ABSENT)
    yield _Offer("binding", wish, "the session's log", "the session's log")
    yield _mapped(dock, recorded.preset)


def _explicit(options: Mapping[str, Any]) -> _Offer:
    inner = options.get("agentOptions")
    names = ("loop", "driver")
    at = [
        f"options.agentOptions.{name}"
        if options.get(name) is None and is_object(inner) and name in inner
        else f"options.{name}"
        for name in names
    ]
    return _Offer("explicit", explicit_wish(options), at[0], at[1])


def _routed(dock: Dock, options: Mapping[str, Any]) -> _Offer:
    key = session_key(options)
    path = "sessionLoops" if key is None else f"sessionLoops.{key}"
    return _Offer("session route", route_at(dock.config.session_loops, key), path, path)


def _mapped(dock: Dock, preset: object) -> _Offer:
    path = "presetLoops" if preset is None else f"presetLoops.{preset}"
    return _Offer("preset route", route_at(dock.config.preset_loops, preset), path, path)


def _explained(
    dock: Dock,
    offers: list[_Offer],
    places: Mapping[str, str] | None,
    selection: Selection | None,
    resolved: Resolved | None,
    conflict: DshloopError | None = None,
    recorded: bool | None = None,
) -> Explanation:
    chosen = _chosen(dock, selection, resolved)
    candidates = [
        *_loop_candidates(dock, offers, selection),
        *_driver_candidates(dock, offers, selection, chosen),
    ]
    known = places or {}
    driver, driver_from = chosen
    return Explanation(
        loop=None if selection is None else selection.loop,
        driver=driver,
        source=None if selection is None else selection.source,
        driver_source=_driver_source(selection, driver_from),
        candidates=tuple(c._replace(where=known.get(c.where, c.where)) for c in candidates),
        conflict=conflict,
        notices=tuple(_notices(selection, resolved, recorded)),
        recorded=recorded,
    )


def _driver_source(selection: Selection | None, origin: Origin | None) -> str | None:
    """Say where the driver is from, in the original's words as far as it has some."""
    if selection is not None and selection.driver_from == origin:
        return selection.driver_source
    return origin


def _chosen(
    dock: Dock, selection: Selection | None, resolved: Resolved | None
) -> tuple[str | None, Origin | None]:
    """Name the driver and what named it, also where it turned out to be missing."""
    if resolved is not None:
        return resolved.driver, resolved.driver_from
    loop = None if selection is None else dock.loops.get(selection.loop)
    if selection is None or loop is None or loop.kind == "driver":
        return None, None
    return choose_driver(selection, loop, dock.default_driver)


def _loop_candidates(
    dock: Dock, offers: list[_Offer], selection: Selection | None
) -> Iterator[Candidate]:
    winner = None if selection is None else selection.loop_from
    for offer in offers:
        value = _shown(offer.wish.loop)
        yield Candidate("loop", offer.origin, value, offer.origin == winner, offer.loop_at)
    default = dock.config.default_loop
    yield Candidate("loop", "config", default, winner == "config", "defaultLoop")


def _driver_candidates(
    dock: Dock,
    offers: list[_Offer],
    selection: Selection | None,
    chosen: tuple[str | None, Origin | None],
) -> Iterator[Candidate]:
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


def _notices(
    selection: Selection | None,
    resolved: Resolved | None,
    recorded: bool | None,
) -> Iterator[str]:
    if resolved is not None and resolved.ignored is not None and selection is not None:
        reason = NAMED_BY[selection.driver_from or "preset route"]
        yield (
            f'driver "{resolved.ignored}" is ignored, because "{resolved.loop.id}" is a driver '
            f"loop chosen elsewhere ({reason})"
        )
    if recorded is False and selection is not None and selection.loop_from == "preset route":
        yield "the loop is inferred from the session's preset, not recorded in its log"


def _shown(value: Any) -> Any:
    return None if value is ABSENT else value
