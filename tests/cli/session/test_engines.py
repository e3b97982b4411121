"""`--driver dsh` and `--driver acp` on the command line: exit codes, refusals, what is shown."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from dshloop.paths import Places
from dshloop.runs.talking.conversation import RunOptions
from dshloop.runs.talking.run import Ended, Happened, run_session
from tests.drivers.engines import Stage
from tests.running import dshloop

COMMAND = ("--command", "dsh --profile acp")


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    from dshloop.drivers.dsh import Dsh

    made = Stage(tmp_path, Dsh)
    made.plan()
    for name in ("PATH", "ENGINE_PLAN", "ENGINE_ASKED"):
        monkeypatch.setenv(name, made.settings.variables[name])
    return made


@pytest.mark.parametrize("words", [("--driver", "dsh"), ("--driver", "acp", *COMMAND)])
def test_a_session_is_talked_to_and_resumed(stage: Stage, words: tuple[str, ...]) -> None:
    first = dshloop("session", "run", "hi", *words)
    assert (first.code, first.out) == (0, "heard hi\n")
    again = dshloop("session", "run", "again", "--resume", "last", *words[2:], "--json")
    assert again.code == 0
    assert again.lines[0]["driver"] == words[1]
    assert stage.methods().count("session/resume") == 1
    assert dshloop("session", "fsck", "--all").code == 0


def test_a_command_alone_chooses_the_driver(stage: Stage) -> None:
    ran = dshloop("session", "run", "hi", *COMMAND, "--json")
    assert (ran.code, ran.lines[0]["driver"]) == (0, "acp")
    ran = dshloop("session", "run", "hi", "--driver", "dsh", *COMMAND, "--json")
    assert (ran.code, ran.error["code"]) == (2, "USAGE")


def test_the_command_may_be_set_once_and_for_all(stage: Stage) -> None:
    assert dshloop("config", "set", "acp.command", "dsh --profile acp").code == 0
    assert dshloop("session", "run", "hi", "--driver", "acp").code == 0
    ran = dshloop("session", "run", "hi", "--driver", "acp", "--command", "it's", "--json")
    assert (ran.code, ran.error["code"]) == (2, "USAGE")


@pytest.mark.parametrize(("word", "code"), [("crash", "ENGINE_DIED"), ("broken", "ENGINE_ANSWER")])
def test_an_engine_that_breaks_is_exit_code_5(stage: Stage, word: str, code: str) -> None:
    stage.plan(word)
    ran = dshloop("session", "run", "hi", "--driver", "dsh", "--json")
    assert ran.code == 5
    assert ran.lines[-1]["failure"]["code"] == code


def test_silence_is_bounded_by_the_configuration(stage: Stage) -> None:
    assert dshloop("config", "set", "engines.patience", "0").code != 0
    assert dshloop("config", "set", "engines.patience", "soon").code != 0
    assert dshloop("config", "set", "engines.patience", "1").code == 0
    stage.plan("hang")
    ran = dshloop("session", "run", "hi", "--driver", "dsh")
    assert ran.code == 5
    assert "ENGINE_SILENT" in ran.err


def test_what_a_driver_does_not_carry_is_refused_or_told(stage: Stage) -> None:
    profile = Path(os.environ["DSH_HOME"]) / "profiles" / "p"
    profile.mkdir(parents=True)
    (profile / "package.json").write_text('{"dsh": {"profile": {"bundles": []}}}')
    (profile / "loops.yml").write_text("loops: {brief: {prompt: Be brief.}}\n")
    words = ("session", "run", "hi", "--driver", "dsh", "--loop", "brief", "--profile", "p")
    ran = dshloop(*words, "--json")
    assert (ran.code, ran.error["code"]) == (4, "DRIVER_LACKS")
    assert ran.error["details"]["lacking"] == ["prompt sections (brief)"]
    assert dshloop("session", "list", "--json").json == []
    ran = dshloop(*words, "--allow-partial")
    assert (ran.code, ran.out) == (0, "heard hi\n")
    assert 'leaves out of loop "brief": prompt sections (brief)' in ran.err
    ran = dshloop("session", "run", "hi", *COMMAND, "--model", "m", "--json")
    assert (ran.code, ran.error["details"]["lacking"]) == (4, ["model (m)"])


def test_missing_programs_are_exit_code_5_and_listed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = {one["name"]: one for one in dshloop("driver", "list", "--json").json}
    assert listed["dsh"]["program"] == str(stage.folder / "bin" / "dsh")
    assert listed["acp"]["engine_fault"]["code"] == "ENGINE_MISSING"
    shown = dshloop("driver", "show", "dsh", "--json").json
    assert (shown["version"], shown["engine_fault"]) == ("0.2.1", None)
    assert (shown["carries"]["model"], shown["carries"]["tools"]) == (True, False)
    monkeypatch.setenv("PATH", str(stage.folder))
    ran = dshloop("session", "run", "hi", "--driver", "dsh", "--json")
    assert (ran.code, ran.error["code"]) == (5, "ENGINE_MISSING")
    assert "ENGINE_MISSING" in dshloop("driver", "list").out
    checked = dshloop("driver", "check")
    assert "driver dsh can't run here" in checked.err
    assert "pip install" in checked.err


def test_a_person_at_the_terminal_allows_a_call(stage: Stage) -> None:
    questions: list[str] = []

    def ask(question: str) -> bool:
        questions.append(question)
        return True

    stage.plan("ask")
    places = Places(stage.folder / "home", stage.folder / "data", stage.folder / "config")
    options = RunOptions(
        cwd=stage.folder, command="test", driver="acp", engines=stage.settings, ask=ask
    )
    *records, last = run_session(places, options, ["hi"], time.time)
    assert isinstance(last, Ended)
    assert last.outcome == "completed"
    assert questions == ['Allow look {"at": 1}?']
    events = [one.event for one in records if isinstance(one, Happened)]
    (decided,) = [one for one in events if one["type"] == "approval/decided"]
    assert decided["data"]["outcome"] == "allowed-once"
