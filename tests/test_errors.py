"""The error tree."""

from __future__ import annotations

import re

from dshloop.errors import DshloopError, ExitCode, every_error

LEAVES = [kind for kind in every_error() if not kind.__subclasses__()]


def test_every_leaf_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in LEAVES]
    assert sorted(set(codes)) == sorted(codes)
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]+", code) for code in codes)


def test_every_error_says_when_it_is_raised() -> None:
    for kind in every_error():
        assert kind.__doc__, kind


def test_every_leaf_exits_with_the_code_of_its_branch() -> None:
    for kind in LEAVES:
        assert kind.exit_code in ExitCode
        assert kind.exit_code != ExitCode.DONE


def test_details_and_hint_reach_json() -> None:
    error = DshloopError("what happened", hint="do this", file="x", line=3)
    assert error.as_json() == {
        "code": "ERROR",
        "message": "what happened",
        "hint": "do this",
        "details": {"file": "x", "line": 3},
    }
