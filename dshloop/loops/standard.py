"""The loop that is always there: DSH's standard preset on the default driver (loop-dock 14)."""

from __future__ import annotations

from typing import Any

from dshloop.loops.carrying import ENGINES_OWN
from dshloop.loops.harness import PresetMounts
from dshloop.loops.registry import Loop
from dshloop.loops.wrapping import strategy_loop

ID = "standard"
PRESET = "standard"


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
        **{ENGINES_OWN: True},
    )
