"""What changed between two runs, and the tables."""

from __future__ import annotations

from typing import Any

import pytest

from dshloop.errors import UsageError
from dshloop.runs.matrix.compare import compared, compared_table
from dshloop.runs.matrix.table import by_axes, cells_table, read_axes, reasons, summary

BLANK: dict[str, Any] = {
    "agent": None, "loop": "a", "driver": "fake", "model": None, "prompt": "p", "repeat": 1,
    "outcome": "completed", "passed": True, "checks": [], "turns": 1, "steps": 1,
    "tool_calls": 0, "tokens": {"input": 1, "output": 2}, "seconds": 0.5, "text": "hello",
    "failure": None, "notices": [],
}  # fmt: skip


def cell(number: int = 1, **more: Any) -> dict[str, Any]:
    return {**BLANK, "number": number, **more}


def check(passed: bool) -> dict[str, Any]:
    return {"check": "contains x", "passed": passed, "why": None if passed else "lacks it"}


def test_the_same_is_no_change_whatever_the_seconds() -> None:
    found = compared([cell()], [cell(5, seconds=9)])
    assert (found.changed, found.same) == ((), 1)
    assert compared_table(found, "a", "b").rows == []


def test_what_changed_is_told_for_each_cell() -> None:
    before = [cell(checks=[check(True)]), cell(2, prompt="q"), cell(3, loop="gone")]
    failed = {"code": "AUTH", "message": "no"}
    after = [
        cell(checks=[check(False)], passed=False, text="hello there", tokens={"output": 9}),
        cell(2, prompt="q", outcome="error", passed=False, failure=failed, text=""),
        cell(3, loop="new"),
    ]
    found = compared(before, after)
    first, second = found.changed
    assert first.changes == {
        "passed": (True, False),
        "check contains x": (True, False),
        "tokens": (3, 9),
        "text": ("hello", "hello there"),
    }
    assert second.changes["outcome"] == ("completed", "error AUTH")
    assert [key[1] for key in found.only_a + found.only_b] == ["gone", "new"]
    assert found.totals["passed"] == (3, 1)
    rows = compared_table(found, "A", "B").rows
    assert ("a fake p", "check contains x", "yes", "no") in rows
    assert ("gone fake p", "cell", "there", "-") in rows
    data = found.as_json()
    assert data["changed"][0]["changes"]["tokens"] == {"a": 3, "b": 9}
    assert data["changed"][0]["prompt"] == "p"


def test_long_texts_are_shown_where_they_differ() -> None:
    found = compared([cell(text="x" * 99 + "one")], [cell(text="x" * 99 + "two")])
    ((_, _, a, b),) = compared_table(found, "A", "B").rows
    assert (a, b) == ("…" + "x" * 12 + "one", "…" + "x" * 12 + "two")


def test_a_table_has_the_axes_that_tell_cells_apart() -> None:
    view = cells_table({1: cell(checks=[check(False), check(True)])})
    assert view.columns[:4] == ("#", "LOOP", "DRIVER", "PROMPT")
    assert view.rows[0][4:7] == ("completed", "1/2", "1")
    assert view.rows[0][-1] == "(lacks it) hello"
    assert "REPEAT" in cells_table({1: cell(), 2: cell(2, repeat=2)}).columns


def test_cells_are_summed_up_by_axes() -> None:
    records = [cell(), cell(2, driver="ping", passed=False, steps=3), cell(3, prompt="q", steps=2)]
    data, view = by_axes(records, read_axes("driver"))
    assert [(one["driver"], one["passed"], one["cells"]) for one in data] == [
        ("fake", 2, 2),
        ("ping", 0, 1),
    ]
    assert view.rows[0][:3] == ("fake", "2/2", "1.5")
    with pytest.raises(UsageError, match="--by takes"):
        read_axes("driver,nope")


def test_reasons_are_told_once() -> None:
    failure = {"code": "X", "message": "no key", "hint": "Set it."}
    unable = cell(outcome="unavailable", passed=False, failure=failure)
    assert reasons([unable, {**unable, "number": 2}]) == ["2 unavailable: no key. Set it."]
    assert summary([unable, cell()], 3) == "3 cells: 1 passed, 1 failed, 1 not run yet"
