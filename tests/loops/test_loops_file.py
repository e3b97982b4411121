"""loops.yml: what it may say, and what is said of everything else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.errors import (
    DshloopError,
    DuplicateDriverError,
    DuplicateLoopError,
    LoopsFileInvalidError,
)
from dshloop.loops.loops_file import LoopsFile, Registered, parse_loops, read_loops_file
from dshloop.loops.strategy import Budget, PromptSection, Strategy

FILE = Path("/profile/loops.yml")
WHOLE = """\
# ours
loops:
  critic: my_package.loops:critic
  careful:
    label: Careful
    description: Looks twice.
    prompt:
      - Look twice.
      - {name: style, order: 20, text: Be short.}
    tools: {allow: [read, bash], deny: web}
    provider: acme
    model: large
    effort: high
    driver: fake-driver
    presets: [minimal]
    hooks:
      agent/pre-step: my_package.hooks:on_step
      agent/request: [my_package.hooks:one, my_package.hooks:two.three]
    budget: {steps: 8, tokens: 20000, seconds: 1.5}
drivers:
  mine: my_package.engine:Driver
"""


def test_a_file_that_is_not_there_registers_nothing(tmp_path: Path) -> None:
    path = tmp_path / "loops.yml"
    assert read_loops_file(path) == LoopsFile(path)
    path.write_text("# nothing yet\n")
    assert read_loops_file(path) == LoopsFile(path)


def test_everything_it_may_say_is_read() -> None:
    file = parse_loops(WHOLE, FILE)
    critic, careful = file.loops
    assert critic == Registered("critic", "loop", str(FILE), 3, "my_package.loops:critic")
    assert critic.where == "/profile/loops.yml:3"
    assert careful.line == 4
    assert careful.strategy == Strategy(
        id="careful",
        label="Careful",
        description="Looks twice.",
        prompt=(
            PromptSection("careful-1", "Look twice."),
            PromptSection("style", "Be short.", 20),
        ),
        allow=("read", "bash"),
        deny=("web",),
        provider="acme",
        model="large",
        effort="high",
        driver="fake-driver",
        presets=("minimal",),
        hooks=(
            ("agent/pre-step", "my_package.hooks:on_step"),
            ("agent/request", "my_package.hooks:one"),
            ("agent/request", "my_package.hooks:two.three"),
        ),
        budget=Budget(8, 20000, 1.5),
    )
    assert [(one.id, one.target, one.line) for one in file.drivers] == [
        ("mine", "my_package.engine:Driver", 21)
    ]


@pytest.mark.parametrize(
    ("text", "at", "said", "hint"),
    [
        ("lops: {}", "1:1", "lops is no key", 'Did you mean "loops"?'),
        ("[]", "1:1", "the file must be a mapping", None),
        ("loops: [a]", "1:1", "loops must be a mapping", None),
        ("loops:\n  A: m:o", "2:3", "'A' is no loop id", None),
        ("loops:\n  a: module", "2:3", "must be an import path MODULE:OBJECT", None),
        ("loops:\n  a: m:o:p", "2:3", "must be an import path MODULE:OBJECT", None),
        ("drivers:\n  a: {}", "2:3", "must be an import path MODULE:OBJECT", None),
        ("loops:\n  a: {promt: x}", "2:7", "loops.a.promt is no key", 'Did you mean "prompt"?'),
        ("loops:\n  a: {prompt: 5}", "2:7", "prompt must be a non-empty string, or a list", None),
        ("loops:\n  a:\n    prompt: [{order: 1}]", "3:14", "prompt[0] needs a text", None),
        ("loops:\n  a: {driver: A b}", "2:7", "loops.a.driver must be a driver name", None),
        ("loops:\n  a: {provider: ''}", "2:7", "provider must be a non-empty string", None),
        ("loops:\n  a:\n    tools: {alow: x}", "3:13", "tools.alow is no key", "allow"),
        ("loops:\n  a: {tools: {allow: [x], deny: [x]}}", "2:27", "allows and denies x", None),
        ("loops:\n  a: {budget: {steps: 0}}", "2:16", "must be a whole number >= 1", None),
        ("loops:\n  a: {budget: {seconds: .inf}}", "2:16", "must be a number >= 0", None),
        ("loops:\n  a: {budget: {seconds: .nan}}", "2:16", "must be a number >= 0", None),
        ("loops:\n  a: {presets: 5}", "2:7", "a non-empty string, or a list of them", None),
        ("loops:\n  a:\n    prompt: [{order: .nan, text: x}]", "3:15", "must be a number", None),
        ("loops:\n  a: {budget: {seconds: 0}}", "2:16", "must be more than 0", None),
        ("loops:\n  a: {hooks: {agent/request: here}}", "2:15", "an import path", None),
        ("loops: {a: ]", "1:12", "", None),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    text: str, at: str, said: str, hint: str | None
) -> None:
    with pytest.raises(LoopsFileInvalidError) as caught:
        parse_loops(text, FILE)
    details = caught.value.details
    assert f"{details['line']}:{details['column']}" == at
    assert str(FILE) in caught.value.message
    assert said in caught.value.message
    assert hint is None or hint in str(caught.value.hint)


def test_twice_in_one_file_is_a_duplicate_with_its_line() -> None:
    with pytest.raises(DuplicateLoopError) as caught:
        parse_loops("loops:\n  a: m:o\n  # again\n  a: m:p\n", FILE)
    assert caught.value.details["line"] == 4
    with pytest.raises(DuplicateDriverError):
        parse_loops("drivers:\n  a: m:o\n  a: m:p\n", FILE)
    with pytest.raises(LoopsFileInvalidError):
        parse_loops("loops:\n  a:\n    model: x\n    model: y\n", FILE)


@pytest.mark.parametrize(
    ("text", "error", "line"),
    [
        ("loops: {a: m:o, a: m:p}\n", DuplicateLoopError, 1),
        ("loops: {a: m:o,\r\n  b: m:o, 'b': m:p, b: m:q}\n", DuplicateLoopError, 2),
        ('{drivers: {a: m:o, "a": m:p}}', DuplicateDriverError, 1),
        ("loops: {a: {model: x, model: y}}\n", LoopsFileInvalidError, 1),
        ("loops: {a: m:o, a: m:p}\nloops: {}\n", DuplicateLoopError, 1),
        ("loops: {a: m:o}\nloops: {a: m:o}\n", LoopsFileInvalidError, 2),
        ("loops: [{a: m:o, a: m:p}]\n", LoopsFileInvalidError, 1),
    ],
)
def test_twice_in_flow_style_is_the_same(text: str, error: type[Exception], line: int) -> None:
    with pytest.raises(error) as caught:
        parse_loops(text, FILE)
    assert isinstance(caught.value, DshloopError)
    assert caught.value.details["line"] == line


@given(st.text(max_size=60) | st.from_regex(r"(loops|drivers):\n( {1,3}\w+: ?[\w:{}\[\]]*\n){1,4}"))
def test_any_text_is_read_or_refused_in_one_error(text: str) -> None:
    fault = fault_of(text)
    assert fault is None or fault.details["line"] >= 1


def fault_of(text: str) -> DshloopError | None:
    try:
        parse_loops(text, FILE)
    except DshloopError as fault:
        return fault
    return None
