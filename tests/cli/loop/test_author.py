"""loop new and loop test as commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running import dshloop, process, run_script

FILES = [
    ".gitignore",
    "README.md",
    "careful_loop.py",
    "pyproject.toml",
    "script.yml",
    "tests/test_careful_loop.py",
]


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


def written(folder: Path) -> list[str]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path.relative_to(folder).as_posix() for path in found)


def test_a_dry_run_lists_the_files_and_writes_none(here: Path) -> None:
    ran = dshloop("loop", "new", "careful", "--dry-run", "--json", cwd=here)
    assert ran.code == 0
    assert ran.json["files"] == FILES
    assert ran.json["kind"] == "strategy"
    assert written(here) == []


def test_a_package_is_written_once_and_can_be_taken_back(here: Path) -> None:
    ran = dshloop("loop", "new", "careful", cwd=here)
    assert (ran.code, written(here / "careful")) == (0, FILES)
    assert "try it: dshloop loop test ./careful" in ran.err
    again = dshloop("loop", "new", "careful", "--json", cwd=here)
    assert (again.code, again.error["code"]) == (4, "OUTPUT_EXISTS")
    assert dshloop("undo", cwd=here).code == 0
    assert not (here / "careful").exists()


def test_another_folder_and_an_engine_of_its_own(here: Path) -> None:
    ran = dshloop("loop", "new", "parrot", "--driver", "--into", "deep/er", "--json", cwd=here)
    assert (ran.code, ran.json["kind"]) == (0, "driver")
    assert "parrot_loop.py" in written(here / "deep" / "er")


@pytest.mark.parametrize(
    ("into", "typed"),
    [("mine", "./mine"), ("two words", "./'two words'"), ("../beside", "{}/beside")],
)
def test_what_to_type_next_works_as_it_stands(here: Path, into: str, typed: str) -> None:
    ran = dshloop("loop", "new", "careful", "--into", into, cwd=here)
    typed = typed.format(here.parent)
    assert ran.err.splitlines() == [
        f"try it: dshloop loop test {typed}",
        f"install it: pip install {typed}",
    ]


def test_no_folder_is_no_folder_of_the_loops_name(here: Path) -> None:
    ran = dshloop("loop", "new", "careful", "--into", "", "--json", cwd=here)
    assert ran.error["code"] == "OUTPUT_EXISTS"


@pytest.mark.parametrize(("name", "code"), [("Careful", "INVALID_LOOP_ID"), ("9", "LOOP_NAME")])
def test_a_bad_name_is_refused(here: Path, name: str, code: str) -> None:
    ran = dshloop("loop", "new", name, "--json", cwd=here)
    assert (ran.code, ran.error["code"]) == (2, code)
    assert written(here) == []


@pytest.mark.parametrize("kind", [[], ["--driver"]])
def test_what_is_written_passes_every_check(here: Path, kind: list[str]) -> None:
    assert dshloop("loop", "new", "careful", *kind, cwd=here).code == 0
    ran = process("loop", "test", "./careful", "--json", cwd=here)
    assert ran.returncode == 0, ran.stdout
    assert '"outcome": "passed"' in ran.stdout or '"outcome":"passed"' in ran.stdout
    data = Path(os.environ["DSHLOOP_DATA"])
    assert not (data / "sessions").exists()  # nothing of the person's is written


def test_a_failed_check_says_what_to_do_and_exits_with_1(here: Path) -> None:
    assert dshloop("loop", "new", "careful", cwd=here).code == 0
    module = here / "careful" / "careful_loop.py"
    broken = "        agent.hooks.on('agent/prestep', few_steps)\n"
    module.write_text(
        module.read_text().replace("\n\n\ndef count_words", f"\n{broken}\n\ndef count_words")
    )
    ran = process("loop", "test", "./careful", "--check", "hooks", cwd=here)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert ran.stdout == (
        "careful (strategy, careful_loop:Careful)\n"
        "  FAIL  hooks          its listeners hear, pass on and answer what they must\n"
        '        it listens to "agent/prestep", which nobody dispatches\n'
        '        Did you mean "agent/pre-step"? docs/loop-provider-spec.md has all events.\n'
        "\n"
        "1 failed\n"
    )


def test_a_loop_that_never_comes_is_no_reason_to_wait(here: Path) -> None:
    package = here / "endless"
    package.mkdir()
    (package / "endless.py").write_text("while True: pass\n")
    (package / "pyproject.toml").write_text(
        '[project]\nname = "e"\n[project.entry-points."dshloop.loops"]\nendless = "endless:Loop"\n'
    )
    ran = process("loop", "test", "./endless", "--timeout", "0.3", cwd=here)
    assert ran.returncode == 1
    assert "FAIL  registers" in ran.stdout
    assert "holds the whole program up" in ran.stdout


def test_nothing_that_a_loop_or_its_programs_print_is_in_the_answer(here: Path) -> None:
    (here / "loud.py").write_text(
        "import os\n"
        "class Loud:\n"
        "    kind = 'strategy'\n"
        "    async def setup(self, agent):\n"
        "        print('printed')\n"
        "        os.system('echo by a program')\n"
    )
    ran = process("loop", "test", "./loud.py", "--check", "session", "--json", cwd=here)
    assert json.loads(ran.stdout)["outcome"] == "passed"
    assert sorted(ran.stderr.split("\n")) == ["", "by a program", "printed"]


def test_an_interrupt_leaves_no_folder(here: Path, tmp_path: Path) -> None:
    (here / "waits.py").write_text(
        "import asyncio\n"
        "class Waits:\n"
        "    kind = 'strategy'\n"
        "    async def setup(self, agent):\n"
        "        print('waits', flush=True)\n"
        "        await asyncio.sleep(60)\n"
    )
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    words = [sys.executable, "-m", "dshloop", "loop", "test", "./waits.py", "--check", "session"]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with subprocess.Popen(words, cwd=here, env=environment, stderr=subprocess.PIPE) as running:
        assert running.stderr is not None
        assert running.stderr.readline() == b"waits\n"
        assert len(list(scratch.iterdir())) == 1
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
    assert list(scratch.iterdir()) == []


def test_bad_words_are_told(here: Path) -> None:
    ran = dshloop("loop", "test", "nobody", "--json", cwd=here)
    assert (ran.code, ran.error["code"]) == (3, "LOOP_TARGET_NOT_FOUND")
    ran = dshloop("loop", "test", "x", "--check", "speed", "--json", cwd=here)
    assert (ran.code, ran.error["code"]) == (2, "USAGE")


@pytest.mark.parametrize("time", ["nan", "inf", "1e300", "0", "soon"])
def test_a_time_that_nobody_can_wait_for_is_refused(time: str) -> None:
    for words in (["loop", "test", "cli_loops"], ["agent", "start", "--profile", "p"]):
        ran = dshloop(*words, "--timeout", "-1" if time == "0" else time, "--json")
        assert (ran.code, ran.error["code"]) == (2, "USAGE")


def test_several_loops_are_reported_one_after_the_other() -> None:
    ran = dshloop("loop", "test", "cli_loops", "--json")
    assert ran.code == 1
    found = {one["loop"]: one["outcome"] for one in ran.json["loops"]}
    assert found == {"critic": "passed", "own_engine": "failed"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind"), [("my.own-loop", []), ("tool", []), ("none", []), ("echo", ["--driver"])]
)
def test_the_tests_of_a_new_package_pass_at_once(here: Path, name: str, kind: list[str]) -> None:
    assert dshloop("loop", "new", name, *kind, "--into", "new", cwd=here).code == 0
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"]
    ran = run_script([sys.executable, *words], cwd=here / "new")
    assert ran.returncode == 0, ran.stdout
    assert "passed" in ran.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", [[], ["--driver"]])
def test_a_new_package_is_clean_for_ruff(here: Path, kind: list[str]) -> None:
    assert dshloop("loop", "new", "careful", *kind, cwd=here).code == 0
    ruff = Path(sys.executable).parent / "ruff"
    for words in (["check"], ["format", "--diff"]):
        ran = run_script([str(ruff), *words, "--isolated", "--no-cache", "careful"], cwd=here)
        assert ran.returncode == 0, ran.stdout
