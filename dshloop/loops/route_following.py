"""The model route of a running agent follows its session's preset (loop-dock 12 and 18.7).

A loop may pin provider, model or both. While the effective preset leads to such a loop its pin
is laid over every request; once it doesn't, what the pin had replaced is given back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from dshloop.loops.harness import Presets
from dshloop.loops.names import ABSENT, is_object
from dshloop.loops.registry import LoopRegistry
from dshloop.loops.selection import Route

EVENT = "agent/request"
HALVES = ("provider", "model")
EFFORT = "reasoningEffort"


def lay_pin(route: Mapping[str, Any], pin: Mapping[str, str]) -> dict[str, Any]:
    """Lay a pin over a model route: its halves replace those there, and the effort goes."""
    laid = {**route, **pin}
    if pin:
        laid.pop(EFFORT, None)
    return laid


class RouteFollower:
    """Knows, for one agent, what a pin replaced, and corrects each request's route."""

    def __init__(
        self,
        loops: LoopRegistry,
        preset_loops: Mapping[str, Route],
        created_with: Mapping[str, Any],
        pin: Mapping[str, str] | None = None,
    ) -> None:
        """Follow for an agent created with these options, before `pin` was laid over them.

        Only that pin can stay behind: one that is laid over a request ends with it.
        """
        self._loops = loops
        self._preset_loops = preset_loops
        self._before = {half: created_with.get(half, ABSENT) for half in HALVES}
        self._effort = created_with.get(EFFORT, ABSENT)
        self._pin = dict(pin or {})

    def follow(self, resolved: Any, preset: str | None) -> Any:
        """Give the route of a request, from what the inner handlers resolved."""
        route = None if preset is None else self._preset_loops.get(preset)
        loop = None if route is None else self._loops.get(route.loop)
        if loop is None or not is_object(resolved):
            return resolved
        released = self._release(resolved, loop.pin)
        return lay_pin(released, loop.pin) if loop.pin else released

    def _release(
        self, resolved: Mapping[str, Any], current: Mapping[str, str]
    ) -> Mapping[str, Any]:
        """Give back what a stale pin replaced; a route that no pin has made stays as it is."""
        for pin in self._pins():
            if pin != current and self._is(resolved, pin) and self._made_by(pin, resolved):
                return self._give_back(resolved, pin)
        return resolved

    def _pins(self) -> Iterable[dict[str, str]]:
        """Give the pins of all mapped loops, whole ones first."""
        loops = [self._loops.get(route.loop) for route in self._preset_loops.values()]
        pins = [loop.pin for loop in loops if loop is not None and loop.pin]
        return sorted(pins, key=len, reverse=True)

    def _made_by(self, pin: Mapping[str, str], resolved: Mapping[str, Any]) -> bool:
        """Whether a pin made this route: what it leaves open is as the agent was created."""
        left_open = (half for half in HALVES if half not in pin)
        return all(resolved.get(half, ABSENT) == self._before[half] for half in left_open)

    def _give_back(self, resolved: Mapping[str, Any], pin: Mapping[str, str]) -> dict[str, Any]:
        """Put the halves back as they were, the effort if this pin dropped it; else drop them."""
        effort = self._effort if pin == self._pin else ABSENT
        values = {half: self._before[half] for half in pin} | {EFFORT: effort}
        kept = {name: value for name, value in resolved.items() if name not in values}
        return {**kept, **{name: value for name, value in values.items() if value is not ABSENT}}

    @staticmethod
    def _is(route: Mapping[str, Any], pin: Mapping[str, str]) -> bool:
        return all(route.get(half) == value for half, value in pin.items())


def listener(
    follower: RouteFollower, presets: Presets
) -> Callable[[Mapping[str, Any], Callable[[], Awaitable[Any]]], Awaitable[Any]]:
    """Make the listener on agent/request; it must be the outermost one."""

    async def on_request(event: Mapping[str, Any], following: Callable[[], Awaitable[Any]]) -> Any:
        resolved = await following()
        return follower.follow(resolved, presets.composed(event["agent"]))

    return on_request
