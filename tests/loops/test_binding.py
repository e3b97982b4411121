"""The recorded binding of a session."""

from __future__ import annotations

from typing import Any

import pytest

from dshloop.errors import ExitCode, LoopSwitchError
from dshloop.loops.binding import (
    Binding,
    binding_data,
    effective_preset,
    is_name,
    read_binding,
    require_same,
    stored_binding,
)


def selected(**data: Any) -> dict[str, Any]:
    return {"type": "agent-preset/selected", "seq": 0, "time": 1, "data": data}


@pytest.mark.parametrize(
    ("events", "wanted"),
    [
        ([], None),
        (None, None),
        ({"a": 1}, None),
        ([selected(agentLoopDock="a")], Binding("a")),
        ([selected(agentLoopDock={"loop": "a", "driver": "d"}), None], Binding("a", "d")),
        ([selected(agentLoopDock="a"), selected(agentLoopDock="b")], Binding("b")),
        ([selected(agentLoopDock="a"), selected(agentLoopDock={"loop": "B"})], Binding("a")),
        ([selected(agentLoopDock={"loop": "a", "driver": "D"})], None),
        ([selected(agentLoopDock={"driver": "d"}), selected(agentPreset="p")], None),
        ([selected(agentLoopDock="a\n"), selected(agentLoopDock=5)], None),
        ([{"type": "other", "data": {"agentLoopDock": "a"}}, {"data": 1}, 7], None),
        ([{"type": "agent-preset/selected", "data": "a"}], None),
    ],
)
def test_the_newest_readable_binding_counts(events: object, wanted: Binding | None) -> None:
    assert read_binding(events) == wanted


def test_what_is_recorded_reads_back() -> None:
    bound = Binding("standard", "fake-driver")
    assert binding_data(bound, None) == {
        "agentLoopDock": {"loop": "standard", "driver": "fake-driver"}
    }
    data = binding_data(bound, "minimal")
    assert data["agentPreset"] == "minimal"
    assert read_binding([selected(**data)]) == bound


def test_the_newest_preset_counts_and_the_header_is_last() -> None:
    events = [selected(agentPreset="a"), selected(agentPreset=""), selected(agentPreset=5)]
    assert effective_preset(events, "h") == "a"
    assert effective_preset([], "h") == "h"
    assert effective_preset([], "") is None


def test_stored_tells_recorded_from_inferred() -> None:
    recorded = stored_binding([selected(agentLoopDock={"loop": "x", "driver": "d"})], "minimal")
    assert (recorded.loop, recorded.driver, recorded.recorded) == ("x", "d", True)
    preset = stored_binding([], "minimal")
    assert (preset.loop, preset.driver, preset.inferred_from) == ("standard", None, "preset")
    assert stored_binding([], "homemade").inferred_from == "default"


def test_another_driver_on_resume_is_refused() -> None:
    with pytest.raises(LoopSwitchError) as caught:
        require_same("s", "driver", "fake-driver", "dsh")
    assert caught.value.message == (
        'session "s" is bound to driver "fake-driver" and cannot be resumed with driver "dsh"; '
        "loop switching follows the same blank-session-only rule as preset switching"
    )
    assert caught.value.exit_code == ExitCode.REFUSED
    assert caught.value.details["stored"] == "fake-driver"
    for stored, requested in (("a", "a"), (None, "a"), ("a", None)):
        require_same("s", "driver", stored, requested)


@pytest.mark.parametrize(("value", "good"), [("a.b-c_9", True), ("", False), ("-a", False)])
def test_names(value: str, good: bool) -> None:
    assert is_name(value) is good
