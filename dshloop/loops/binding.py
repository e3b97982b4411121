"""The recorded binding of a session to a loop and a driver (loop-dock 7 and 8).

It rides on the known event ``agent-preset/selected``, so that DSH still loads the log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from dshloop.errors import LoopSwitchError

EVENT = "agent-preset/selected"
NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")

# what the dock's bundle maps DSH's presets to (loop-dock 16; `ptc` is newer DSH's `code`)
PRESET_LOOPS = dict.fromkeys(("standard", "minimal", "code", "ptc", "cordis"), "standard")
DEFAULT_LOOP = "standard"


@dataclass(frozen=True, slots=True)
class Binding:
    """A loop and, for strategy loops, the driver it runs on."""

    loop: str
    driver: str | None = None

    def as_json(self) -> dict[str, str]:
        """Give the value of ``agentLoopDock``."""
        return {"loop": self.loop, **({"driver": self.driver} if self.driver else {})}


@dataclass(frozen=True, slots=True)
class Stored:
    """What a session's log says about loop and driver, and where that comes from.

    ``recorded`` is false when the loop is only inferred: from the preset's usual loop, or from
    nothing but the default.
    """

    loop: str
    driver: str | None
    recorded: bool
    inferred_from: Literal["preset", "default"] | None
    preset: str | None


def is_name(value: object) -> bool:
    """Whether a value is a valid loop id or driver name."""
    return isinstance(value, str) and NAME.fullmatch(value) is not None


def read_binding(events: object) -> Binding | None:
    """Find the newest readable binding in a list of events; whatever is malformed is skipped."""
    if not isinstance(events, (list, tuple)):
        return None
    found = (_binding_of(_field(event, "agentLoopDock")) for event in reversed(events))
    return next((binding for binding in found if binding is not None), None)


def effective_preset(events: object, header_preset: str | None) -> str | None:
    """Give the newest recorded preset, else the header's."""
    if isinstance(events, (list, tuple)):
        for event in reversed(events):
            preset = _field(event, "agentPreset")
            if isinstance(preset, str) and preset:
                return preset
    return header_preset or None


def binding_data(binding: Binding, preset: str | None) -> dict[str, Any]:
    """Make the data of the event that records a binding; the session's preset stays the same."""
    start = {"agentPreset": preset} if preset else {}
    return {**start, "agentLoopDock": binding.as_json()}


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
        _refuse_switch(session, field, stored, requested)


def _refuse_switch(session: str, field: str, stored: str, requested: str) -> NoReturn:
    raise LoopSwitchError(
        f'session "{session}" is bound to {field} "{stored}" and cannot be resumed with {field} '
        f'"{requested}"; loop switching follows the same blank-session-only rule as preset '
        "switching",
        session=session,
        field=field,
        stored=stored,
        requested=requested,
        requested_by="explicit",
        stored_by="binding",
    )


def _field(event: object, name: str) -> object:
    """Give a value out of a preset event's data, None when it is another event or malformed."""
    if not isinstance(event, Mapping) or event.get("type") != EVENT:
        return None
    data = event.get("data")
    return data.get(name) if isinstance(data, Mapping) else None


def _binding_of(value: object) -> Binding | None:
    if isinstance(value, str):
        value = {"loop": value}
    if not isinstance(value, Mapping) or not is_name(value.get("loop")):
        return None
    if "driver" not in value:
        return Binding(value["loop"])
    return Binding(value["loop"], value["driver"]) if is_name(value["driver"]) else None
