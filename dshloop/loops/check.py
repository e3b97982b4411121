"""What is wrong or doubtful in a dock row's config, beyond what building the dock refuses.

Building stays tolerant (loop-dock 5); this is for people and CI (loop-dock 18.5, 18.6, 18.10).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from dshloop.errors import InvalidConfigError
from dshloop.loops.binding import Binding
from dshloop.loops.config import AGENT_FIELDS, KEYS, AgentEntry, DockConfig, read_dock_config
from dshloop.loops.fields import near_match
from dshloop.loops.names import ABSENT, as_text, is_object, listed
from dshloop.loops.selection import Route

_AGENT_KEYS = ("id", *(key for key, _, _ in AGENT_FIELDS))


@dataclass(frozen=True, slots=True)
class DockFinding:
    """One thing to look at; ``path`` leads to it within the config, like `agents[0].loop`."""

    code: str
    severity: Literal["error", "warning"]
    path: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a config can be held against; None where it isn't known.

    ``loops`` maps ids to kinds, ``bindings`` session ids to what their logs record, ``setting``
    is the user's default driver.
    """

    loops: Mapping[str, str] | None = None
    drivers: Collection[str] | None = None
    presets: Collection[str] | None = None
    bindings: Mapping[str, Binding] = field(default_factory=dict)
    setting: object = None


def check_config(
    config: object = ABSENT, surroundings: Surroundings | None = None
) -> list[DockFinding]:
    """Check a dock row's config as it is written.

    Of a config that can't be used only the first fault is found, and keys nobody knows.
    """
    around = surroundings or Surroundings()
    try:
        read = read_dock_config(config)
    except InvalidConfigError as error:
        path = str(error.details["path"])
        fault = DockFinding(error.code, "error", path, error.message, str(error.hint))
        return [fault, *_unknown_keys(config)]
    return [
        *_unknown_keys(config),
        *_repeated_ids(read.agents),
        *_names(read, around),
        *_unreachable(read, around),
        *_setting(around),
    ]


def _unknown_keys(config: object) -> Iterator[DockFinding]:
    if not is_object(config):
        return
    yield from _strangers(config, KEYS, "")
    for name in ("presetLoops", "sessionLoops"):
        routes = config.get(name)
        for key, route in routes.items() if is_object(routes) else ():
            yield from _strangers(route, ("loop", "driver"), f"{name}.{as_text(key)}.")
    agents = config.get("agents")
    for index, entry in enumerate(agents if isinstance(agents, list | tuple) else ()):
        yield from _strangers(entry, _AGENT_KEYS, f"agents[{index}].")


def _strangers(value: object, known: Collection[str], place: str) -> Iterator[DockFinding]:
    for key in value if is_object(value) else ():
        if key in known:
            continue
        near = near_match(as_text(key), known)
        hint = f'Did you mean "{near}"?' if near else f"The keys here are {', '.join(known)}."
        path = f"{place}{as_text(key)}"
        yield DockFinding("UNKNOWN_KEY", "error", path, f"{path} is no key of the dock", hint)


def _repeated_ids(agents: Collection[AgentEntry]) -> Iterator[DockFinding]:
    seen: dict[str, int] = {}
    for index, entry in enumerate(agents):
        first = seen.setdefault(entry.id, index)
        if first != index:
            yield DockFinding(
                "AGENT_ID_REPEATED",
                "warning",
                f"agents[{index}].id",
                f'agents[{first}] and agents[{index}] are both called "{entry.id}"',
                "Give each agent an id of its own, so that messages can tell them apart.",
            )


def _names(config: DockConfig, around: Surroundings) -> Iterator[DockFinding]:
    """Find loops and drivers that are named and not there, and drivers that can't be used."""
    yield from _unknown("loop", config.default_loop, "defaultLoop", around.loops)
    yield from _unknown("driver", config.default_driver, "defaultDriver", around.drivers)
    for name, routes in _maps(config):
        for key, route in routes.items():
            yield from _route(route, f"{name}.{key}", around)
    for index, entry in enumerate(config.agents):
        loop = entry.loop or config.default_loop
        if entry.loop is not None:
            yield from _unknown("loop", entry.loop, f"agents[{index}].loop", around.loops)
        if entry.driver is not None:
            path = f"agents[{index}].driver"
            yield from _unknown("driver", entry.driver, path, around.drivers)
            yield from _useless_driver(loop, path, around)


def _route(route: Route, path: str, around: Surroundings) -> Iterator[DockFinding]:
    yield from _unknown("loop", route.loop, f"{path}.loop", around.loops)
    if route.driver is not None:
        yield from _unknown("driver", route.driver, f"{path}.driver", around.drivers)
        yield from _useless_driver(route.loop, f"{path}.driver", around)


def _unknown(
    kind: Literal["loop", "driver"], name: str, path: str, known: Collection[str] | None
) -> Iterator[DockFinding]:
    if known is None or name in known:
        return
    near = near_match(name, known)
    hint = f"Register it, or use one of these: {listed(sorted(known))}."
    yield DockFinding(
        f"UNKNOWN_{kind.upper()}",
        "error",
        path,
        f'{path} names {kind} "{name}", which is not registered',
        f'Did you mean "{near}"? {hint}' if near else hint,
    )


def _useless_driver(loop: str, path: str, around: Surroundings) -> Iterator[DockFinding]:
    if around.loops is not None and around.loops.get(loop) == "driver":
        yield DockFinding(
            "DRIVER_ON_DRIVER_LOOP",
            "error",
            path,
            f'{path} names a driver, but "{loop}" is a driver loop and brings its own engine',
            "Remove the driver.",
        )


def _unreachable(config: DockConfig, around: Surroundings) -> Iterator[DockFinding]:
    """Find routes that are never taken, or that only stand in a session's way."""
    explicit = {e.identity for e in config.agents if e.loop is not None and e.driver is not None}
    for session, route in config.session_loops.items():
        path = f"sessionLoops.{session}"
        bound = around.bindings.get(session)
        if session == "":
            yield _never(path, "no session has an empty id")
        elif session in explicit:
            yield _never(path, "the entry in agents names both loop and driver itself")
        elif bound is not None and _differs(route, bound):
            yield _never(path, f'the session is bound to "{bound.loop}", so resuming it fails')
    for preset in config.preset_loops:
        if preset == "" or (around.presets is not None and preset not in around.presets):
            yield _never(f"presetLoops.{preset}", f'there is no preset "{preset}"')


def _differs(route: Route, bound: Binding) -> bool:
    driver = route.driver is not None and bound.driver is not None and route.driver != bound.driver
    return route.loop != bound.loop or driver


def _never(path: str, reason: str) -> DockFinding:
    message = f"{path} can never apply: {reason}"
    return DockFinding("UNREACHABLE_ROUTE", "warning", path, message, "Remove the route.")


def _setting(around: Surroundings) -> Iterator[DockFinding]:
    path = "agent-loops.defaultDriver"
    if around.setting is None:
        return
    if around.setting == "":
        yield DockFinding(
            "SETTING_EMPTY",
            "warning",
            path,
            "the setting agent-loops.defaultDriver is empty and counts as unset",
            "Choose a driver (dshloop driver use NAME), or remove the key.",
        )
    else:
        yield from _unknown("driver", as_text(around.setting), path, around.drivers)


def _maps(config: DockConfig) -> Iterator[tuple[str, Mapping[str, Route]]]:
    yield "presetLoops", config.preset_loops
    yield "sessionLoops", config.session_loops
