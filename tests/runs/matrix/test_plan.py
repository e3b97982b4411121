"""Cells: every combination, what isn't varied, what is skipped, and what a run goes by."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.errors import MatrixInvalidError
from dshloop.loops.config import AgentEntry
from dshloop.runs.matrix.file import parse_matrix
from dshloop.runs.matrix.plan import AXES, Cell, cells, fingerprint
from dshloop.runs.profile import ProfileRows
from dshloop.sessions.naming import encode_id

PATH = Path("/nowhere/matrix.yml")


def planned(text: str, *entries: AgentEntry, **variables: str) -> list[Cell]:
    return cells(parse_matrix(text, PATH), variables, entries)


@given(*[st.integers(1, 4)] * 5)
def test_every_combination_is_there_once(
    loops: int, drivers: int, models: int, prompts: int, repeats: int
) -> None:
    def names(kind: str, count: int) -> str:
        return f"[{', '.join(f'{kind}{number}' for number in range(count))}]"

    text = (
        f"loops: {names('l', loops)}\ndrivers: {names('d', drivers)}\n"
        f"models: {names('m', models)}\nprompts: {names('p', prompts)}\nrepeats: {repeats}\n"
    )
    found = planned(text)
    assert len(found) == loops * drivers * models * prompts * repeats
    assert len({tuple(cell.axes.values()) for cell in found}) == len(found)
    assert [cell.number for cell in found] == list(range(1, len(found) + 1))
    assert len({encode_id(cell.session("run")) for cell in found}) == len(found)


def test_what_an_agent_names_is_not_varied() -> None:
    text = """\
agents:
  - {id: free, loop: standard}
  - {id: bound, loop: standard, driver: fake, model: a/b}
drivers: [fake, ping]
models: [c/d, e/f]
prompts: [x]
"""
    found = [(cell.agent, cell.driver, cell.model) for cell in planned(text)]
    assert found == [
        ("free", "fake", "c/d"),
        ("free", "fake", "e/f"),
        ("free", "ping", "c/d"),
        ("free", "ping", "e/f"),
        ("bound", "fake", "a/b"),
    ]


def test_agents_of_the_profile_say_the_rest() -> None:
    entry = AgentEntry("one", loop="careful", provider="p", model="m", reasoning_effort="low")
    (cell,) = planned("agents: [one]\nprompts: [x]\n", entry)
    assert (cell.agent, cell.loop, cell.model) == ("one", "careful", "p/m")
    assert (cell.asked.provider, cell.asked.model, cell.asked.effort) == ("p", "m", "low")
    with pytest.raises(MatrixInvalidError, match='no agent "two"'):
        planned("agents: [two]\nprompts: [x]\n", entry)


def test_what_is_needed_and_lacking_is_said() -> None:
    text = """\
needs: [LIVE=1]
models: [plain, {model: "p/${NAME}", needs: KEY}]
prompts: [x]
"""
    both = "LIVE is not 1"
    assert [cell.skip for cell in planned(text)] == [
        both,
        f"{both}; KEY is not set; NAME is not set",
    ]
    filled = planned(text, LIVE="1", KEY="k", NAME="n")
    assert [(cell.skip, cell.model) for cell in filled] == [(None, "plain"), (None, "p/n")]


def test_sessions_begin_with_the_run_and_the_number() -> None:
    (cell,) = planned("loops: [a]\ndrivers: [fake]\nprompts: [{id: 'Ä b/c', text: x}]\n")
    assert cell.session("run-1") == "run-1-001-a-fake-b-c-1"


def test_a_run_goes_by_all_that_changes_its_cells(tmp_path: Path) -> None:
    script = tmp_path / "s.yml"
    script.write_text("turns: [a]\n")
    rows = ProfileRows()

    def mark(text: str = "", **variables: str) -> str:
        whole = f"script: s.yml\nmodels: ['${{M}}']\nprompts: [x]\n{text}"
        matrix = parse_matrix(whole, tmp_path / "m.yml")
        return fingerprint(matrix, cells(matrix, variables), rows)

    first = mark(M="1")
    assert mark(M="1") == first
    assert mark(M="2") != first
    assert mark("repeats: 2\n", M="1") != first
    script.write_text("turns: [b]\n")
    assert mark(M="1") != first
    other = ProfileRows(rows.rows[:-1])
    matrix = parse_matrix("prompts: [x]\n", PATH)
    found = {fingerprint(matrix, cells(matrix, {}), each) for each in (rows, other)}
    assert len(found) == 2


def test_a_script_is_said_by_the_fake_driver_where_no_other_is_named(tmp_path: Path) -> None:
    (tmp_path / "s.yml").write_text("turns: [a]\n")
    matrix = parse_matrix("script: s.yml\nprompts: [x]\n", tmp_path / "m.yml")
    (cell,) = cells(matrix, {})
    assert (cell.driver, cell.asked.driver) == ("fake", "fake")


def test_axes_are_fields_of_a_cell() -> None:
    (cell,) = planned("prompts: [x]\n")
    assert list(cell.axes) == list(AXES)


def test_too_many_cells_are_counted_and_not_made() -> None:
    with pytest.raises(MatrixInvalidError, match="makes over 100000 cells"):
        planned(f"prompts: [a]\nrepeats: {10**9}\n")
    with pytest.raises(MatrixInvalidError, match="makes over 100000 cells"):
        planned("agents: [{id: a}, {id: b}]\nprompts: [a]\nrepeats: 50001\n")
