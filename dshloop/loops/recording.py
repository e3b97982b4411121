"""The setup step that records what a session runs on (loop-dock 8)."""

from __future__ import annotations

from typing import Any

from dshloop.loops.binding import EVENT, Binding, binding_data, effective_preset, read_binding
from dshloop.loops.harness import Presets
from dshloop.loops.registry import Setup


def record_binding(binding: Binding, presets: Presets | None = None) -> Setup:
    """Make the setup that appends the binding where the log has no readable one yet.

    The event repeats the session's effective preset, so that recording changes none.
    """

    def setup(agent: Any) -> None:
        events = agent.session.events
        if read_binding(events) is not None:
            return
        composed = None if presets is None else presets.composed(agent)
        preset = composed or effective_preset(events, agent.session.header.agent_preset)
        agent.append(EVENT, binding_data(binding, preset))

    return setup
