"""The loop that is always there: DSH's standard preset on the default driver (loop-dock 14)."""

from __future__ import annotations

from typing import Any, Protocol

from dshloop.loops.registry import Loop
from dshloop.loops.wrapping import strategy_loop

ID = "standard"
PRESET = "standard"


class PresetMounts(Protocol):
    """The harness's service of presets, as far as a loop uses it."""

    def composed(self, agent: Any) -> str | None:
        """Give the preset that is composed for an agent now, None when none is."""
        ...

    async def mount(self, agent: Any, preset: str) -> object:
        """Give an agent a preset's tools and prompt."""
        ...


def standard_loop(presets: PresetMounts | None = None) -> Loop:
    """Define the loop; it mounts its preset unless the agent has one, so never twice."""

    async def setup(agent: Any) -> None:
        if presets is not None and presets.composed(agent) is None:
            await presets.mount(agent, PRESET)

    return strategy_loop(
        setup,
        id=ID,
        label="Standard preset loop",
        description="Runs the shipped Standard preset on the dock default driver.",
    )
