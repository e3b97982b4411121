"""The recorded binding of a session to a loop and a driver (loop-dock 7 and 8).

It rides on the known event ``agent-preset/selected``, so that DSH still loads the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, NoReturn

from dshloop.errors import LoopSwitchError
from dshloop.loops.names import is_name, is_object

__all__ = [
    "Binding",
    "Recorded",
    "Stored",
    "binding_data",
    "effective_preset",
    "is_name",
    "newest_first",
    "read_binding",
    "read_log",
    "refuse_switch",
    "require_same",
    "stored_binding",
    "without_bindings",
]

EVENT = "agent-preset/selected"

# what the dock's bundle maps DSH's presets to (loop-dock 16; `ptc` is newer DSH's `code`)
PRESET_LOOPS = dict.fromkeys(("standard", "minimal", "code", "ptc", "cordis"), "standard")
DEFAULT_LOOP = "standard"


class Binding(NamedTuple):
    """A loop and, for strategy loops, the driver it runs on."""

    loop: str
    driver: str | None = None

    def as_json(self) -> dict[str, str]:
        """Give the value of ``agentLoopDock``."""
        return {"loop": self.loop, **({"driver": self.driver} if self.driver else {})}

    def __str__(self) -> str:
        """Give it as a message has it: ``LOOP on DRIVER``."""
        return self.loop if self.driver is None else f"{self.loop} on {self.driver}"


class Stored(NamedTuple):
    """What a session's log says about loop and driver, and where that comes from.

    ``recorded`` is false when the loop is only inferred: from the preset's usual loop, or from
    nothing but the default.
    """

    loop: str
    driver: str | None
    recorded: bool
    inferred_from: Literal["preset", "default"] | None
    preset: str | None


class Recorded(NamedTuple):
    """What a session's log holds about how it runs: its binding, its preset, where it works.

    ``last_event`` is the time of its newest event in milliseconds since the epoch.
    """

    binding: Binding | None = None
    preset: str | None = None
    cwd: str | None = None
    last_event: int | None = None


def read_log(log: object) -> Recorded:
    """Read a stored log: ``{meta, events}``, or anything with a header and events."""
    if is_object(log):
        meta, events = log.get("meta"), log.get("events")
        header, cwd = (meta.get("agentPreset"), meta.get("cwd")) if is_object(meta) else (None,) * 2
    else:
        events = getattr(log, "events", None)
        about = getattr(log, "header", None)
        header, cwd = getattr(about, "agent_preset", None), getattr(about, "cwd", None)
    listed = list(newest_first(events))[::-1]
    preset = effective_preset(listed, header)
    return Recorded(
        read_binding(listed), preset, cwd if isinstance(cwd, str) else None, _newest_time(listed)
    )


def newest_first(events: object) -> Iterable[Any]:
    """Give the events of a list, an iterator or a stored log from the last to the first.

    Anything else has no events (loop-dock 8 and 18.13).
    """
    if isinstance(events, Iterator):
        events = list(events)
    if isinstance(events, list | tuple):
        newest: Iterable[Any] = reversed(events)
        return newest
    inner: object = getattr(events, "events", None)
    return () if inner is None or callable(inner) else newest_first(inner)


def read_binding(events: object) -> Binding | None:
    """Find the newest readable binding; whatever is malformed is skipped."""
    for event in newest_first(events):
        if is_object(event) and event.get("type") == EVENT:
            binding = _binding_of(_field(event, "agentLoopDock"))
            if binding is not None:
                return binding
    return None


def effective_preset(events: object, header_preset: object) -> str | None:
    """Give the newest recorded preset, else the header's."""
    for event in newest_first(events):
        if is_object(event) and event.get("type") == EVENT:
            preset = _field(event, "agentPreset")
            if isinstance(preset, str) and preset:
                return preset
    return header_preset if isinstance(header_preset, str) and header_preset else None


def binding_data(binding: Binding, preset: str | None) -> dict[str, Any]:
    """Make the data of the event that records a binding; the session's preset stays the same."""
    start = {"agentPreset": preset} if preset else {}
    return {**start, "agentLoopDock": binding.as_json()}


def without_bindings(events: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Give events that record no binding, and all else that they recorded."""
    found = []
    for event in events:
        data = event.get("data")
        if event.get("type") == EVENT and is_object(data):
            kept = {key: value for key, value in data.items() if key != "agentLoopDock"}
            found.append({**event, "data": kept})
        else:
            found.append(dict(event))
    return found


def stored_binding(events: object, header_preset: str | None) -> Stored:
    """Tell what a log is bound to, or what it would be inferred to run on."""
    binding = read_binding(events)
    preset = effective_preset(events, header_preset)
    if binding is not None:
        return Stored(binding.loop, binding.driver, True, None, preset)
    mapped = PRESET_LOOPS.get(preset) if preset else None
    origin: Literal["preset", "default"] = "preset" if mapped else "default"
    return Stored(mapped or DEFAULT_LOOP, None, False, origin, preset)


def require_same(session: str, field: str, stored: str | None, requested: str | None) -> None:
    """Raise LOOP_SWITCH when a resume asks for another loop or driver than the recorded one."""
    if stored is not None and requested is not None and stored != requested:
        refuse_switch(session, field, stored, requested)


def refuse_switch(
    session: str,
    field: str,
    stored: str,
    requested: str,
    *,
    requested_by: Literal["explicit", "route"] = "explicit",
    stored_by: Literal["binding", "preset mapping"] = "binding",
) -> NoReturn:
    """Raise LOOP_SWITCH, with all that a program or a person needs to go on."""
    raise LoopSwitchError(
        f'session "{session}" is bound to {field} "{stored}" and cannot be resumed with {field} '
        f'"{requested}"; loop switching follows the same blank-session-only rule as preset '
        "switching",
        hint=_way_on(session, field, requested_by),
        session=session,
        field=field,
        stored=stored,
        requested=requested,
        requested_by=requested_by,
        stored_by=stored_by,
    )


def _newest_time(events: list[Any]) -> int | None:
    times = (event.get("time") for event in reversed(events) if is_object(event))
    return next((time for time in times if isinstance(time, int)), None)


def _way_on(session: str, field: str, requested_by: str) -> str:
    new = f"begin a new session to run on another {field}"
    if requested_by == "route":
        from shlex import quote

        return f"Remove its route (dshloop loop unroute {quote(session)} --session), or {new}."
    return f"Resume it without naming a {field}, or {new}."


def _field(event: Mapping[str, Any], name: str) -> object:
    data = event.get("data")
    return data.get(name) if is_object(data) else None


def _binding_of(value: object) -> Binding | None:
    if isinstance(value, str):
        value = {"loop": value}
    if not is_object(value) or not is_name(value.get("loop")):
        return None
    if "driver" not in value:
        return Binding(value["loop"])
    return Binding(value["loop"], value["driver"]) if is_name(value["driver"]) else None
