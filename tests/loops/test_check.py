"""The check of a dock row's config finds what building the dock lets pass."""

from __future__ import annotations

from typing import Any

import pytest

from dshloop.loops.binding import Binding
from dshloop.loops.check import Surroundings, check_config

KNOWN = Surroundings(
    loops={"standard": "strategy", "full": "driver"},
    drivers=["default", "fake-driver"],
    presets=["standard", "minimal"],
    bindings={"bound": Binding("standard", "default")},
)


def found(config: Any, around: Surroundings = KNOWN) -> list[tuple[str, str]]:
    return [(finding.code, finding.path) for finding in check_config(config, around)]


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ({}, []),
        ({"defaultDriver": "fake-driver", "presetLoops": {"minimal": "standard"}}, []),
        ({"defaultLop": "x"}, [("UNKNOWN_KEY", "defaultLop")]),
        (
            {"presetLoops": {"standard": {"loop": "standard", "drivr": "x"}}},
            [("UNKNOWN_KEY", "presetLoops.standard.drivr")],
        ),
        ({"agents": [{"id": "x", "modle": "m"}]}, [("UNKNOWN_KEY", "agents[0].modle")]),
        ({"agents": [{"id": "x"}, {"id": "x"}]}, [("AGENT_ID_REPEATED", "agents[1].id")]),
        ({"defaultLoop": "ghost"}, [("UNKNOWN_LOOP", "defaultLoop")]),
        ({"defaultDriver": "ghost"}, [("UNKNOWN_DRIVER", "defaultDriver")]),
        ({"sessionLoops": {"s": "ghost"}}, [("UNKNOWN_LOOP", "sessionLoops.s.loop")]),
        (
            {"sessionLoops": {"s": {"loop": "full", "driver": "default"}}},
            [("DRIVER_ON_DRIVER_LOOP", "sessionLoops.s.driver")],
        ),
        (
            {"agents": [{"id": "x", "loop": "full", "driver": "default"}]},
            [("DRIVER_ON_DRIVER_LOOP", "agents[0].driver")],
        ),
        (
            {"agents": [{"id": "x", "loop": "ghost", "driver": "gone"}]},
            [("UNKNOWN_LOOP", "agents[0].loop"), ("UNKNOWN_DRIVER", "agents[0].driver")],
        ),
        ({"presetLoops": {"code": "standard"}}, [("UNREACHABLE_ROUTE", "presetLoops.code")]),
        ({"sessionLoops": {"bound": "full"}}, [("UNREACHABLE_ROUTE", "sessionLoops.bound")]),
        ({"sessionLoops": {"bound": "standard"}}, []),
        ({"defaultLoop": "NO"}, [("INVALID_CONFIG", "defaultLoop")]),
        (None, [("INVALID_CONFIG", "")]),
    ],
)
def test_what_is_wrong_is_found_where_it_stands(config: Any, wanted: Any) -> None:
    assert found(config) == wanted


def test_an_agent_that_names_both_itself_never_takes_its_route() -> None:
    agent = {"id": "x", "sessionId": "s", "loop": "standard", "driver": "default"}
    config = {"agents": [agent], "sessionLoops": {"s": "standard"}}
    assert found(config) == [("UNREACHABLE_ROUTE", "sessionLoops.s")]


@pytest.mark.parametrize(
    ("setting", "wanted"),
    [(None, []), ("default", []), ("", ["SETTING_EMPTY"]), ("gone", ["UNKNOWN_DRIVER"])],
)
def test_the_users_setting_is_looked_at_too(setting: Any, wanted: list[str]) -> None:
    around = Surroundings(drivers=["default"], setting=setting)
    assert [code for code, _ in found({}, around)] == wanted


def test_a_mistyped_key_or_name_gets_the_near_one() -> None:
    [key] = check_config({"sessionloops": {}}, KNOWN)
    assert key.hint == 'Did you mean "sessionLoops"?'
    [name] = check_config({"defaultDriver": "fake-drivr"}, KNOWN)
    assert name.hint.startswith('Did you mean "fake-driver"?')


def test_nothing_is_claimed_of_what_is_not_known() -> None:
    config = {"defaultLoop": "ghost", "presetLoops": {"q": {"loop": "g", "driver": "d"}}}
    assert check_config(config) == []
