"""Checks of an answer."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from dshloop.host.abort import AbortSignal
from dshloop.runs.matrix.checks import Check, Verdict, verdict


def judged(check: Check, answer: str, cwd: Path | None = None) -> Verdict:
    return asyncio.run(
        verdict(check, answer, cwd or Path.cwd(), {**os.environ, "GIVEN": "7"}, AbortSignal())
    )


def python(code: str, **more: object) -> Check:
    return Check("command", "python", (sys.executable, "-c", code), **more)  # type: ignore


@pytest.mark.parametrize(
    ("check", "passes", "fails"),
    [
        (Check("contains", "one"), "one two", "One"),
        (Check("lacks", "one"), "One", "one two"),
        (Check("regex", "^b.d$"), "a\nbad\nc", "abad"),
        (python("import sys; sys.exit('4' not in sys.stdin.read())"), "it is 4", "five"),
        (python("import sys; sys.exit(len(sys.stdin.read()))", exit=2), "äb", "abc"),
    ],
)
def test_an_answer_passes_or_fails(check: Check, passes: str, fails: str) -> None:
    assert judged(check, passes) == Verdict(check.name, True)
    failed = judged(check, fails)
    assert not failed.passed
    assert failed.why


def test_a_command_runs_in_the_folder_with_the_variables(tmp_path: Path) -> None:
    code = "import os; assert os.environ['GIVEN'] == '7'; open('made', 'w').close()"
    assert judged(python(code), "", tmp_path).passed
    assert (tmp_path / "made").exists()


def test_why_a_command_failed_is_told() -> None:
    assert judged(python("print('so', 'bad'); raise SystemExit(3)"), "").why == (
        "exit code 3, not 0: so bad"
    )
    missing = judged(Check("command", "x", ("no-such-program-here",)), "")
    assert missing.why == "no-such-program-here can't be run: No such file or directory"
    gone = judged(python(""), "", Path("/no/such/folder"))
    assert gone.why == f"{sys.executable} can't be run: there is no folder /no/such/folder"
    late = judged(python("import time; time.sleep(60)", seconds=0.3), "")
    assert late.why == "it took more than 0.3 s"


def test_a_command_may_write_much() -> None:
    code = "import sys; sys.stdout.write('x' * 20_000_000 + ' the end'); sys.exit({})"
    assert judged(python(code.format(0)), "").passed
    why = judged(python(code.format(3)), "").why
    assert why is not None
    assert why.startswith("exit code 3, not 0: xxx")
    assert why.endswith("x the end")
