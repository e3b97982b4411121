"""The model route of a running agent follows its session's preset (loop-dock 12 and 18.7).

A loop may pin provider, model or both. While the effective preset leads to such a loop its pin
is laid over every request; once it doesn't, what the pin had replaced is given back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol

from dshloop.loops.names import ABSENT, is_object
from dshloop.loops.registry import Loop, LoopRegistry
from dshloop.loops.selection import Route

EVENT = "agent/request"
HALVES = ("provider", "model")
EFFORT = "reasoningEffort"


class Presets(Protocol):
    """The harness's service of presets."""

    def composed(self, agent: Any) -> str | None:
        """Give the preset that is composed for an agent now, None when none is."""
        ...


def lay_pin(route: Mapping[str, Any], pin: Mapping[str, str]) -> dict[str, Any]:
    """Lay a pin over a model route: its halves replace those there, and the effort goes."""
    laid = {**route, **pin}
    if pin:
        laid.pop(EFFORT, None)
    return laid


class RouteFollower:
    """Remembers, for one agent, what pins replaced, and corrects each request's route."""

    def __init__(
        self,
        loops: LoopRegistry,
        preset_loops: Mapping[str, Route],
        created_with: Mapping[str, Any],
        pin: Mapping[str, str] | None = None,
    ) -> None:
        """Follow for an agent created with these options, before `pin` was laid over them."""
        self._loops = loops
        self._preset_loops = preset_loops
        self._created_with = {half: created_with.get(half, ABSENT) for half in HALVES}
        # pin -> the route it replaced: provider, model and effort, ABSENT where there was none
        self._replaced: dict[tuple[tuple[str, str], ...], dict[str, Any]] = {}
        if pin:
            self._remember(pin, created_with)

    def follow(self, resolved: Any, preset: str | None) -> Any:
        """Give the route of a request, from what the inner handlers resolved."""
        loop = self._loop_of(preset)
        if loop is None or not is_object(resolved):
            return resolved
        released = self._release(resolved, loop)
        if not loop.pin:
            return released
        self._remember(loop.pin, released)
        return lay_pin(released, loop.pin)

    def _loop_of(self, preset: str | None) -> Loop | None:
        route = None if preset is None else self._preset_loops.get(preset)
        return None if route is None else self._loops.get(route.loop)

    def _remember(self, pin: Mapping[str, str], route: Mapping[str, Any]) -> None:
        if self._is(route, pin):
            return  # laid already; what it replaced is not to be seen any more
        names = (*HALVES, EFFORT)
        self._replaced[_key(pin)] = {name: route.get(name, ABSENT) for name in names}

    def _release(self, resolved: Mapping[str, Any], current: Loop) -> Mapping[str, Any]:
        """Give back what a stale pin replaced; a route that no pin has made stays as it is."""
        for pin in self._pins():
            if pin == current.pin or not self._is(resolved, pin):
                continue
            before = self._replaced.get(_key(pin), self._created_with)
            if len(pin) == len(HALVES) or self._made_by(pin, resolved, before):
                return _give_back(resolved, pin, before)
        return resolved

    def _pins(self) -> Iterable[dict[str, str]]:
        """Yield the pins of all mapped loops, whole ones first."""
        loops = [self._loops.get(route.loop) for route in self._preset_loops.values()]
        pins = [loop.pin for loop in loops if loop is not None and loop.pin]
        return sorted(pins, key=len, reverse=True)

    def _made_by(
        self, pin: Mapping[str, str], resolved: Mapping[str, Any], before: Mapping[str, Any]
    ) -> bool:
        """Whether a half pin made this route: the other half is what it was before the pin."""
        return all(resolved.get(half, ABSENT) == before[half] for half in HALVES if half not in pin)

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


def _give_back(
    resolved: Mapping[str, Any], pin: Mapping[str, str], before: Mapping[str, Any]
) -> dict[str, Any]:
    """Put the pinned halves back, and the effort if it is known; drop what wasn't there."""
    values = {half: before[half] for half in pin} | {EFFORT: before.get(EFFORT, ABSENT)}
    kept = {name: value for name, value in resolved.items() if name not in values}
    return {**kept, **{name: value for name, value in values.items() if value is not ABSENT}}


def _key(pin: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(pin.items()))
