"""The reasons for a selection: complete, in order, and never another one than the selection."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.errors import DshloopError, LoopSwitchError
from dshloop.loops.binding import Binding, Recorded
from dshloop.loops.candidates import Candidate
from dshloop.loops.dock import Dock
from dshloop.loops.explanation import (
    Explanation,
    explain_create,
    explain_recorded,
    explain_resume,
)
from tests.loops.stand_ins import Maker, Persistence, Settings
from tests.loops.test_original_69 import docked, engine_loop, recorded, strategy

CONFIG = {
    "sessionLoops": {"s1": "a", "s2": {"loop": "b", "driver": "x"}},
    "presetLoops": {"p1": "b", "p2": {"loop": "a", "driver": "y"}, "p3": "full"},
}


def dock_of(settings: Settings | None = None) -> Dock:
    loops = (strategy("standard"), strategy("a"), strategy("b", driver="y"))
    full = engine_loop("full", Maker("full", {}))
    dock, _ = docked(CONFIG, *loops, full, drivers=("default", "x", "y"), settings=settings)
    return dock


def lines(explanation: Explanation, dimension: str) -> list[tuple[Any, ...]]:
    return [
        (c.origin, c.value, c.won, c.where)
        for c in explanation.candidates
        if c.dimension == dimension
    ]


def test_every_candidate_of_a_create_in_order() -> None:
    dock = dock_of(Settings({"defaultDriver": "x"}))
    found = explain_create(dock, {"sessionId": "s1", "meta": {"agentPreset": "p1"}})
    assert lines(found, "loop") == [
        ("explicit", None, False, "options.loop"),
        ("session route", "a", True, "sessionLoops.s1"),
        ("preset route", "b", False, "presetLoops.p1"),
        ("config", "standard", False, "defaultLoop"),
    ]
    assert lines(found, "driver") == [
        ("explicit", None, False, "options.driver"),
        ("session route", None, False, "sessionLoops.s1"),
        ("preset route", None, False, "presetLoops.p1"),
        ("strategy", None, False, 'loop "a"'),
        ("settings", "x", True, "agent-loops.defaultDriver"),
        ("config", "default", False, "defaultDriver"),
    ]
    assert (found.loop, found.driver, found.source) == ("a", "x", "route")
    assert found.driver_source == "settings"
    assert found.conflict is None


def test_where_a_route_is_written_can_be_a_file_and_line() -> None:
    places = {"sessionLoops.s1": "profile.yml:7"}
    found = explain_create(dock_of(), {"sessionId": "s1"}, places)
    assert "profile.yml:7" in [c.where for c in found.candidates if c.won]


def test_the_options_of_the_agent_are_named_as_such() -> None:
    found = explain_create(dock_of(), {"sessionId": "x", "agentOptions": {"loop": "a"}})
    assert lines(found, "loop")[0] == ("explicit", "a", True, "options.agentOptions.loop")


def test_an_ignored_driver_is_noted() -> None:
    options = {"sessionId": "x", "loop": "full", "meta": {"agentPreset": "p2"}}
    found = explain_create(dock_of(), options)
    assert (found.loop, found.driver) == ("full", None)
    assert found.notices[0].startswith('driver "y" is ignored')


def test_a_refused_resume_shows_the_conflict() -> None:
    dock = dock_of()
    dock.sessions = Persistence(log={"events": [recorded("a", "x")]})
    found = asyncio.run(explain_resume(dock, {"resumeSessionId": "r", "loop": "b"}))
    assert isinstance(found.conflict, LoopSwitchError)
    shown = found.as_json()
    assert shown["conflict"]["details"]["stored"] == "a"
    assert shown["recorded"] is True
    assert {"dimension", "from", "value", "won", "where"} == set(shown["candidates"][0])
    assert ("binding", "a", False, "the session's log") in lines(found, "loop")


def test_an_inferred_loop_is_told_from_a_recorded_one() -> None:
    found = explain_recorded(dock_of(), {"resumeSessionId": "r"}, Recorded(None, "p1"))
    assert (found.loop, found.source, found.recorded) == ("b", "persisted", False)
    assert found.notices == (
        "the loop is inferred from the preset, not recorded in the session's log",
    )


@pytest.mark.parametrize(("changed", "notices"), [(None, 1), (4.0, 1), (6.0, 2)])
def test_routes_that_are_newer_than_the_session_are_told(changed: Any, notices: int) -> None:
    log = Recorded(None, "p1", None, last_event=5000)
    options = {"resumeSessionId": "r"}
    found = explain_recorded(dock_of(), options, log, config_changed_at=changed)
    assert len(found.notices) == notices
    bound = Recorded(Binding("b", "x"), "p1", None, last_event=5000)
    assert explain_recorded(dock_of(), options, bound, config_changed_at=changed).notices == ()


def test_a_missing_driver_is_a_conflict_with_its_name() -> None:
    found = explain_create(dock_of(Settings({"defaultDriver": "gone"})), {"sessionId": "x"})
    assert (found.driver, found.driver_source) == ("gone", "settings")
    assert found.conflict is not None
    assert found.conflict.code == "MISSING_DRIVER"


LOOPS = st.sampled_from([None, "standard", "a", "b", "full", "ghost"])
DRIVERS = st.sampled_from([None, "default", "x", "y", "ghost"])
OPTIONS = st.fixed_dictionaries(
    {
        "sessionId": st.sampled_from(["s1", "s2", "s3"]),
        "resumeSessionId": st.sampled_from(["s1", "s2", "s3"]),
        "loop": LOOPS,
        "driver": DRIVERS,
        "meta": st.fixed_dictionaries({"agentPreset": st.sampled_from(["p1", "p2", "p3", "p4"])}),
    }
)
BINDINGS = st.one_of(
    st.none(),
    st.builds(Binding, st.sampled_from(["a", "b", "full"]), st.sampled_from([None, "x", "y"])),
)


@given(OPTIONS, DRIVERS, BINDINGS, st.sampled_from([None, "p1", "p2", "p3"]), st.booleans())
def test_the_winner_is_always_what_would_run(
    options: dict[str, Any], setting: str | None, bound: Any, preset: str | None, create: bool
) -> None:
    dock = dock_of(Settings({"defaultDriver": setting}))
    log = Recorded(bound, preset)
    try:
        selection = dock.select_create(options) if create else dock.select_resume(options, log)
        resolved = dock.resolve(selection)
    except DshloopError as error:
        failure, wanted = error, None
    else:
        failure, wanted = None, (resolved.loop.id, resolved.driver)
    found = explain_create(dock, options) if create else explain_recorded(dock, options, log)
    if failure is not None:
        assert found.conflict is not None
        assert found.conflict.as_json() == failure.as_json()
        return
    assert found.conflict is None
    assert (found.loop, found.driver) == wanted
    won = {c.dimension: c for c in found.candidates if c.won}
    assert won["loop"].value == found.loop
    assert ("driver" in won) == (found.driver is not None)
    assert won.get("driver", Candidate("driver", "config", None, True, "")).value == found.driver
