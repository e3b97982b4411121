"""The surroundings of a run."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from dshloop.environment import Environment
from tests.running import Terminal


def environment(**variables: str) -> Environment:
    return Environment(Terminal("y\n"), Terminal(), Terminal(), variables, Path("/"))


def test_width_is_columns_then_80() -> None:
    assert environment(COLUMNS="123").width == 123
    assert environment(COLUMNS="nonsense").width == 80
    assert environment(COLUMNS="0").width == 80
    assert environment(COLUMNS="9" * 5000).width == 80


@pytest.mark.parametrize(
    ("variables", "color"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_color_is_for_terminals_that_want_it(variables: dict[str, str], color: bool) -> None:
    assert environment(**variables).color is color


def test_ask_is_no_without_a_terminal() -> None:
    assert environment().ask("sure?") is True
    piped = Environment(io.StringIO("y\n"), Terminal(), Terminal(), {}, Path("/"))
    assert piped.ask("sure?") is False


def test_a_closed_stream_is_no_terminal() -> None:
    closed = io.StringIO()
    closed.close()
    assert not Environment(closed, closed, closed, {}, Path("/")).interactive
