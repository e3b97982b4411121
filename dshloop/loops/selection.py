"""Which loop and driver a create or resume asks for, as a pure function (loop-dock 6 and 7).

Options and routes are taken as they come from JSON: a key that is absent is undefined, None is
null. Nothing here says why; `explanation` builds the reasons when somebody asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from dshloop.loops.binding import refuse_switch
from dshloop.loops.names import (
    ABSENT,
    is_object,
    require_driver_name,
    require_loop_id,
)

Origin = Literal[
    "explicit", "session route", "preset route", "binding", "strategy", "settings", "config"
]
_SOURCES = {"explicit": "explicit", "session route": "route", "preset route": "preset"}


class Route(NamedTuple):
    """What a session id or a preset is mapped to, once the config has been read."""

    loop: str
    driver: str | None = None

    def as_json(self) -> dict[str, str]:
        """Give the route as the config writes it."""
        return {"loop": self.loop, **({"driver": self.driver} if self.driver else {})}


class Selection(NamedTuple):
    """The loop that was found and, if anything named one, the driver; and where each is from."""

    loop: str
    loop_from: Origin
    driver: str | None = None
    driver_from: Origin | None = None
    resumed: bool = False

    @property
    def source(self) -> str:
        """Where the loop is from, in the original's words."""
        return self._word(self.loop_from)

    @property
    def driver_source(self) -> str | None:
        """Where the driver is from, in the original's words; None when nothing named one."""
        return None if self.driver_from is None else self._word(self.driver_from)

    def _word(self, origin: Origin) -> str:
        if self.resumed and origin in ("binding", "preset route"):
            return "persisted"
        return _SOURCES.get(origin, "default")

    def as_json(self) -> dict[str, str]:
        """Give the original's result; it has no driverSource on resume."""
        found = {"loopId": self.loop, "source": self.source}
        if self.driver is not None:
            found["driver"] = self.driver
            if not self.resumed:
                found["driverSource"] = str(self.driver_source)
        return found


class Wish(NamedTuple):
    """A loop and a driver as somebody asked for them, unchecked; ABSENT where nobody did."""

    loop: Any = ABSENT
    driver: Any = ABSENT


NO_WISH = Wish()
Routes = Mapping[str, Any]


def select_create(
    options: object, session_routes: Routes, preset_loops: Routes, default_loop: object
) -> Selection:
    """Select for a new session. Raises INVALID_LOOP_ID and INVALID_DRIVER."""
    asked = options if is_object(options) else {}
    wish = explicit_wish(asked)
    session, preset = NO_WISH, NO_WISH
    if wish.loop is ABSENT or wish.driver is ABSENT:
        session = route_at(session_routes, session_key(asked))
        preset = route_at(preset_loops, preset_key(asked))
    loop: Any
    driver: Any
    loop_from: Origin
    driver_from: Origin | None
    if (loop := wish.loop) is not ABSENT:
        loop_from = "explicit"
    elif (loop := session.loop) is not ABSENT:
        loop_from = "session route"
    elif (loop := preset.loop) is not ABSENT:
        loop_from = "preset route"
    else:
        loop, loop_from = default_loop, "config"
    if (driver := wish.driver) is not ABSENT:
        driver_from = "explicit"
    elif (driver := session.driver) is not ABSENT:
        driver_from = "session route"
    elif (driver := preset.driver) is not ABSENT:
        driver_from = "preset route"
    else:
        return Selection(require_loop_id(loop), loop_from)
    return Selection(require_loop_id(loop), loop_from, require_driver_name(driver), driver_from)


def select_resume(
    options: object,
    session_routes: Routes,
    preset_loops: Routes,
    default_loop: object,
    *,
    persisted: object = ABSENT,
    header_preset: object = ABSENT,
) -> Selection:
    """Select for a stored session.

    ``persisted`` is what the log recorded, a loop id or ``{loop, driver?}``; ``header_preset``
    the session's effective preset, whose route counts as stored too. Raises LOOP_SWITCH,
    INVALID_LOOP_ID and INVALID_DRIVER.
    """
    asked = options if is_object(options) else {}
    wish = explicit_wish(asked)
    route = route_at(session_routes, session_key(asked))
    bound, mapped = recorded_wish(persisted), route_at(preset_loops, header_preset)
    _refuse_switch(asked, wish, route, bound, mapped)
    loop, loop_from = _first_loop(wish, route, bound, mapped, default_loop)
    driver, driver_from = _first_driver(wish, route, bound, mapped)
    if driver_from is None:
        return Selection(require_loop_id(loop), loop_from, resumed=True)
    return Selection(
        require_loop_id(loop), loop_from, require_driver_name(driver), driver_from, True
    )


def explicit_wish(options: Mapping[str, Any]) -> Wish:
    """Read what the caller named: its own field, else the same one of agentOptions.

    A null falls through to agentOptions; a null there is a value, and will be refused.
    """
    loop, driver = options.get("loop"), options.get("driver")
    if loop is not None and driver is not None:
        return Wish(loop, driver)
    inner = options.get("agentOptions")
    if not is_object(inner):
        inner = {}
    return Wish(
        inner.get("loop", ABSENT) if loop is None else loop,
        inner.get("driver", ABSENT) if driver is None else driver,
    )


def recorded_wish(persisted: object) -> Wish:
    """Read a recorded binding; one without a loop says nothing.

    Raises INVALID_LOOP_ID and INVALID_DRIVER.
    """
    wish = read_route(persisted)
    if wish.loop is ABSENT or wish.loop is None:
        return NO_WISH
    require_loop_id(wish.loop)
    if wish.driver is not ABSENT:
        require_driver_name(wish.driver)
    return wish


def session_key(options: Mapping[str, Any]) -> Any:
    """Give the id under which a session route is looked up."""
    key = options.get("sessionId")
    return options.get("resumeSessionId") if key is None else key


def preset_key(options: Mapping[str, Any]) -> Any:
    """Give the preset whose route is looked up when creating."""
    meta = options.get("meta")
    return meta.get("agentPreset") if is_object(meta) else None


def route_at(routes: Routes, key: object) -> Wish:
    """Look a route up by its exact key; NO_WISH when there is none."""
    return read_route(routes.get(key)) if isinstance(key, str) and is_object(routes) else NO_WISH


def read_route(value: object) -> Wish:
    """Read a route, raw or not; whatever is none says nothing."""
    if value is None:
        return NO_WISH
    if isinstance(value, Route):
        return Wish(value.loop, ABSENT if value.driver is None else value.driver)
    if isinstance(value, str):
        return Wish(value)
    if is_object(value):
        return Wish(value.get("loop", ABSENT), value.get("driver", ABSENT))
    return NO_WISH


def _refuse_switch(
    options: Mapping[str, Any], wish: Wish, route: Wish, bound: Wish, mapped: Wish
) -> None:
    """Raise LOOP_SWITCH for the first wish that differs from what is stored."""
    for field in (0, 1):
        recorded = bound[field] is not ABSENT
        stored = bound[field] if recorded else mapped[field]
        if stored is ABSENT:
            continue
        if wish[field] is not ABSENT and wish[field] != stored:
            requested: Any = wish[field]
        elif route[field] is not ABSENT and route[field] != stored:
            requested = route[field]
        else:
            continue
        require = require_driver_name if field else require_loop_id
        refuse_switch(
            _session_named(options),
            "driver" if field else "loop",
            require(stored),
            require(requested),
            requested_by="explicit" if requested is wish[field] else "route",
            stored_by="binding" if recorded else "preset mapping",
        )


def _session_named(options: Mapping[str, Any]) -> str:
    resumed = options.get("resumeSessionId")
    return str(options.get("sessionId") if resumed is None else resumed)


def _first_loop(
    wish: Wish, route: Wish, bound: Wish, mapped: Wish, default_loop: object
) -> tuple[object, Origin]:
    if wish.loop is not ABSENT:
        return wish.loop, "explicit"
    if route.loop is not ABSENT:
        return route.loop, "session route"
    if bound.loop is not ABSENT:
        return bound.loop, "binding"
    if mapped.loop is not ABSENT:
        return mapped.loop, "preset route"
    return default_loop, "config"


def _first_driver(
    wish: Wish, route: Wish, bound: Wish, mapped: Wish
) -> tuple[object, Origin | None]:
    if wish.driver is not ABSENT:
        return wish.driver, "explicit"
    if route.driver is not ABSENT:
        return route.driver, "session route"
    if bound.driver is not ABSENT:
        return bound.driver, "binding"
    if mapped.driver is not ABSENT:
        return mapped.driver, "preset route"
    return None, None
