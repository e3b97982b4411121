"""The file of a matrix: what it may say, and how what is wrong is named."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.errors import MatrixInvalidError
from dshloop.loops.fields import Fields, Page
from dshloop.runs.matrix.checks import Check
from dshloop.runs.matrix.design import DriverChoice, ModelChoice, Prompt, Subject
from dshloop.runs.matrix.entries import require_distinct
from dshloop.runs.matrix.file import parse_matrix, read_matrix

PATH = Path("/nowhere/matrix.yml")


def fields() -> Fields:
    page = Page.read("prompts: []\n", "m.yml", MatrixInvalidError)
    return page.fields(page.document.value, None, "")


def fault(text: str) -> MatrixInvalidError:
    with pytest.raises(MatrixInvalidError) as raised:
        parse_matrix(text, PATH)
    return raised.value


def test_the_least_a_file_says_is_a_prompt() -> None:
    matrix = parse_matrix("prompts: [hello]\n", PATH)
    assert matrix.prompts == (Prompt("1", ("hello",)),)
    assert (matrix.subjects, matrix.drivers) == ((Subject(),), (DriverChoice(),))
    assert (matrix.models, matrix.repeats, matrix.timeout) == ((ModelChoice(),), 1, 300.0)


def test_every_key_is_read(tmp_path: Path) -> None:
    (tmp_path / "said.yml").write_text("turns: [hi]\n")
    (tmp_path / "long.md").write_text("a long\nprompt\n")
    (tmp_path / "work").mkdir()
    file = tmp_path / "matrix.yml"
    file.write_text(
        """\
loops:
  standard:
  mine: my.module:loop
  careful: {prompt: Look twice.}
drivers:
  fake:
  other: my.module:driver
  dsh-acp: {driver: acp, command: "dsh --profile 'my acp'", needs: TOKEN}
models:
  - a/b
  - {id: hard, model: a/b, effort: high, max_tokens: 100, needs: [KEY, MODE=1]}
prompts:
  - {id: sum, text: two and two?, checks: [{regex: "4|four"}], script: said.yml}
  - {turns: [one, two]}
  - {file: long.md}
checks:
  - contains: yes
  - lacks: "no"
  - {command: [python, -c, a b], exit: 3, timeout: 1.5}
repeats: 3
timeout: 2
needs: [LIVE=1]
workspace: work
allow: [edit, shell]
allow_partial: true
"""
    )
    matrix = read_matrix(file)
    assert [one.id for one in matrix.subjects] == ["standard", "mine", "careful"]
    assert [(one.id, one.target) for one in matrix.defined.loops] == [
        ("mine", "my.module:loop"),
        ("careful", None),
    ]
    assert [(one.id, one.target) for one in matrix.defined.drivers] == [
        ("other", "my.module:driver")
    ]
    acp = ("dsh", "--profile", "my acp")
    assert matrix.drivers[2] == DriverChoice("dsh-acp", "acp", acp, ("TOKEN",))
    assert matrix.models[1] == ModelChoice("hard", "a/b", "high", 100, ("KEY", "MODE=1"))
    common = (
        Check("contains", "yes"),
        Check("lacks", "no"),
        Check("command", "python -c 'a b'", ("python", "-c", "a b"), 3, 1.5),
    )
    sums = (*common, Check("regex", "4|four"))
    script = tmp_path / "said.yml"
    assert matrix.prompts[0] == Prompt("sum", ("two and two?",), sums, script)
    assert matrix.prompts[1] == Prompt("2", ("one", "two"), common)
    assert matrix.prompts[2].turns == ("a long\nprompt\n",)
    assert (matrix.repeats, matrix.timeout, matrix.needs) == (3, 2.0, ("LIVE=1",))
    assert (matrix.workspace, matrix.allow) == (tmp_path / "work", ("edit", "shell"))
    assert matrix.allow_partial


def test_agents_are_those_of_the_profile_or_described() -> None:
    text = "prompts: [x]\nagents:\n  - reviewer\n  - {id: fast, loop: standard, model: a/b}\n"
    matrix = parse_matrix(text, PATH)
    assert matrix.of_agents
    named = parse_matrix("prompts: {p: x}\nagents: {reviewer: , fast: {loop: a}}\n", PATH)
    assert named.subjects == (Subject("reviewer", entry=True), Subject("fast", "a"))
    assert named.prompts == (Prompt("p", ("x",)),)
    assert matrix.subjects[0] == Subject("reviewer", entry=True)
    assert matrix.subjects[1] == Subject("fast", "standard", model="a/b")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("loops: [a]\n", 1, "there must be prompts"),
        ("prompts: []\n", 1, "prompts must be a list with something in it"),
        ("prompts: [7]\n", 1, "prompts[0] must be a text that says something, or"),
        ("prompts: [' ']\n", 1, "must be a text that says something, or"),
        ("prompts: [{turns: [a, ' ']}]\n", 1, "turns says nothing"),
        ("prompts: [x]\nlops: [a]\n", 2, "lops is no key"),
        ("prompts: [x]\nloops: [a, A]\n", 2, "loops[1] must be a loop id"),
        ("prompts: [x]\nloops: [a, a]\n", 2, 'two of the id "a"'),
        ("prompts: [x]\nloops: [a]\nagents: [b]\n", 2, "exclude each other"),
        ("prompts: [x]\nagents:\n  - {loop: a}\n", 3, "needs an id"),
        ("prompts: [x]\nagents:\n  - {id: a, lop: b}\n", 3, "lop is no key"),
        ("prompts: [x]\ndrivers:\n  - {id: a}\n  - 7\n", 4, "must be a mapping"),
        ("prompts: [x]\nmodels: [{effort: high}]\n", 2, "needs a model"),
        ("prompts: [x]\nrepeats: 0\n", 2, "repeats must be a whole number >= 1"),
        ("prompts: [x]\ntimeout: 0\n", 2, "more than 0 seconds"),
        ("prompts: [x]\nneeds: [a b]\n", 2, "NAME or NAME=VALUE"),
        ("prompts: [x]\nallow_partial: 1\n", 2, "must be true or false"),
        ("prompts: [x]\nallow: [all]\n", 2, "allow takes edit and shell"),
        ("prompts: [x]\nscript: none.yml\n", 2, "there is no file /nowhere/none.yml"),
        ("prompts: [x]\ncwd: none\n", 2, "there is no folder /nowhere/none"),
        ("prompts:\n  - {id: a}\n", 2, "must have one of text, turns, file"),
        ("prompts:\n  - {text: a, turns: [b]}\n", 2, "must have one of text, turns, file"),
        ("prompts: [x]\nchecks:\n  - {regex: '('}\n", 3, "no regular expression"),
        ("prompts: [x]\nchecks:\n  - {regex: a, contains: b}\n", 3, "must have one of"),
        ("prompts: [x]\nchecks:\n  - {contains: a, exit: 1}\n", 3, "is for a command"),
        ('prompts: [x]\nchecks:\n  - {command: "a \'b"}\n', 3, "can't be read"),
        ("prompts: [x]\nchecks:\n  - {command: ' '}\n", 3, "must be a command"),
        ('prompts: [x]\nchecks:\n  - {command: [a, "b\\0"]}\n', 3, "has a NUL or a lone"),
        ('prompts: [x]\ndrivers:\n  - {driver: acp, command: "\\ud800"}\n', 3, "has a NUL or a"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, line: int, words: str) -> None:
    found = fault(text)
    assert words in found.message
    assert found.details["line"] == line
    assert f"/nowhere/matrix.yml:{line}:" in found.message


def test_twenty_thousand_ids_are_told_apart_by_their_hashes() -> None:
    class Id(str):
        asked = 0
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            Id.asked += 1
            return str(self) == other

    require_distinct(fields(), "prompts", [Id(number) for number in range(20_000)])
    assert Id.asked < 20_000


def test_what_is_no_yaml_is_named_with_its_line() -> None:
    found = fault("prompts: [x\n")
    assert found.details["line"] == 2
    assert found.message.startswith("/nowhere/matrix.yml: unexpected end")


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(MatrixInvalidError):
        parse_matrix(text, PATH)


def test_a_file_that_says_nothing_is_no_prompt(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text(" \n")
    with pytest.raises(MatrixInvalidError, match=r"prompts\[0\]\.file says nothing"):
        parse_matrix("prompts: [{file: empty}]\n", tmp_path / "matrix.yml")
