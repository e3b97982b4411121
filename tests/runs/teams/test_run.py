"""agent team run: declared agents at work together, one transcript, one exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dshloop.loops.teaming import TOOL
from dshloop.runs.teams.transcript import AgentOpened
from dshloop.transcripts.dsh import Transcript, read_transcript
from tests.running import Ran, dshloop

Run = Callable[..., Ran]


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


@pytest.fixture
def run(here: Path) -> Run:
    def run_team(team: Any, *words: str) -> Ran:
        file = here / "team.yml"
        file.write_text(team if isinstance(team, str) else json.dumps(team))
        return dshloop("agent", "team", "run", "team.yml", *words, cwd=here)

    return run_team


@pytest.fixture
def docked(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A profile whose dock row asks for two agents; gives its patch file."""
    assert dshloop("profile", "create", "p", "--template", "empty").code == 0
    monkeypatch.setenv("DSHLOOP_PROFILE", "p")
    patch = Path(os.environ["DSH_HOME"]) / "profiles" / "p" / "cordis.patch.yml"
    patch.write_text(
        "- insert:\n"
        "    - id: dock\n"
        "      name: dsh-loop-dock\n"
        "      config:\n"
        "        agents:\n"
        "          - {id: planner, sessionId: plan, loop: own}\n"
        "          - {id: coder, driver: fake-driver}\n"
        "    - {id: engine, name: dsh-loop-dock/headless-driver, config: {fakeDriver: true}}\n"
    )
    return patch


def logs() -> dict[str, Transcript]:
    root = Path(os.environ["DSHLOOP_DATA"]) / "sessions"
    read = [read_transcript(path) for path in root.rglob("session.jsonl")]
    return {one.header.id: one for one in read if one.header is not None}


def ends(ran: Ran) -> dict[str, Any]:
    return {line["agent"]: line for line in ran.lines if line["type"] == "agent-end"}


TWO = {
    "prompt": "Say hello.",
    "agents": [{"id": "a", "loop": "own", "prompt": "Be a."}, {"id": "bee", "driver": "ping"}],
}


def test_each_runs_on_its_own_loop_and_driver_with_its_own_prompt(run: Run) -> None:
    ran = run(TWO, "--json")
    assert ran.code == 0
    assert ran.lines[0]["agents"] == ["a", "bee"]
    assert ran.lines[-1]["outcome"] == "completed"
    found = ends(ran)
    assert (found["a"]["loop"], found["a"]["driver"]) == ("own", "saying")
    assert (found["bee"]["loop"], found["bee"]["driver"]) == ("standard", "default")
    assert found["a"]["text"] == "you said Be a."
    assert found["bee"]["text"].startswith("loop-ping")
    headers = {log.header.id: log.header for log in logs().values() if log.header}
    assert {header.delegation_depth for header in headers.values()} == {0}
    assert {header.origin for header in headers.values()} == {None}
    assert found["a"]["session"] in headers
    assert found["a"]["session"].startswith("a-session-")


def test_the_transcript_has_every_event_of_every_log_in_order(run: Run) -> None:
    ran = run(TWO, "--json")
    for session, log in logs().items():
        told = [
            line["event"]
            for line in ran.lines
            if line["type"] == "event" and line["session"] == session
        ]
        assert told == log.events
    labels = {(line["agent"], line["session"]) for line in ran.lines if line["type"] == "event"}
    assert len(labels) == 2
    assert [line["seq"] for line in ran.lines] == list(range(len(ran.lines)))


def test_people_see_whole_lines_behind_names(run: Run, here: Path) -> None:
    script = {"turns": [{"steps": [{"calls": [{"name": "nothing"}]}, "one\ntwo\n\nthree"]}]}
    (here / "s.yml").write_text(json.dumps(script))
    agents = [
        {"id": "a", "prompt": "x\ny", "script": "s.yml"},
        {"id": "long", "driver": "ping", "prompt": "z"},
    ]
    ran = run({"agents": agents})
    assert ran.code == 0
    assert [line for line in ran.out.splitlines() if line.startswith("a ")] == [
        "a    | > x",
        "a    | > y",
        "a    | tool nothing {}",
        'a    |   result failed: Error: unknown tool "nothing"',
        "a    | one",
        "a    | two",
        "a    | ",
        "a    | three",
    ]
    assert "long | loop-ping: local no-model reply" in ran.out
    assert all(" | " in line for line in ran.out.splitlines())
    assert [line.split()[-1] for line in ran.err.splitlines()] == ["(a)", "(long)"]


def test_a_script_that_is_not_there_is_told(run: Run) -> None:
    ran = run({"agents": [{"id": "a", "prompt": "x", "script": "s.yml"}]}, "--json")
    assert (ran.code, ran.error["code"]) == (1, "UNREADABLE_FILE")


def test_the_agents_of_the_profile_run_too_and_the_file_goes_before(run: Run, docked: Path) -> None:
    ran = run({"prompt": "go", "agents": [{"id": "coder", "loop": "own"}, {"id": "new"}]},
              "--driver", "fake", "--json")  # fmt: skip
    assert ran.code == 0
    found = ends(ran)
    assert list(ran.lines[0]["agents"]) == ["planner", "coder", "new"]
    assert {name: one["loop"] for name, one in found.items()} == {
        "planner": "own",
        "coder": "own",
        "new": "standard",
    }
    assert {one["driver"] for one in found.values()} == {"fake-driver"}
    assert found["planner"]["session"] == "plan"
    before = docked.read_text()
    again = run({"agents": []}, "--agent", "planner", "--prompt", "and on", "--json")
    assert again.code == 0
    opened = next(line for line in again.lines if line["type"] == "agent")
    assert (opened["id"], opened["resumed"]) == ("plan", True)
    assert docked.read_text() == before


def test_a_profile_alone_is_enough(here: Path, docked: Path) -> None:
    ran = dshloop("agent", "team", "run", "--prompt", "go", "--agent", "coder", cwd=here)
    assert (ran.code, "coder | [FAKE-DRIVER]" in ran.out) == (0, True)


def test_one_that_fails_stops_nobody_and_gives_the_exit_code(run: Run) -> None:
    team = {
        "prompt": "x",
        "agents": [{"id": "ghost", "loop": "ghost"}, {"id": "good", "driver": "fake-driver"}],
    }
    ran = run(team, "--json")
    assert ran.code == 3
    assert ran.lines[-1]["outcome"] == "failed"
    found = ends(ran)
    assert found["ghost"]["failure"]["code"] == "UNKNOWN_LOOP"
    assert found["good"]["outcome"] == "completed"
    people = run(team)
    error, hint, *_ = people.err.splitlines()
    assert 'error: agent "ghost": loop "ghost" is not registered' in error
    assert hint == f"  {found['ghost']['failure']['hint']}"
    assert "`dshloop loop list` lists the loops" in hint
    assert "ghost | (failed: loop" in people.out


def test_a_cancellation_in_a_setup_is_that_agents_fault_alone(run: Run) -> None:
    odd = {"id": "odd", "loop": "cancelled", "driver": "fake"}
    ran = run({"prompt": "x", "agents": [odd, {"id": "b", "driver": "ping"}]}, "--json")
    found = ends(ran)
    assert (ran.code, found["b"]["outcome"]) == (1, "completed")
    assert found["odd"]["failure"]["code"] == "AGENT_FAILED"
    assert "CancelledError" in found["odd"]["failure"]["message"]
    alone = dshloop("session", "run", "x", "--loop", "cancelled", "--driver", "fake", "--json")
    assert (alone.code, alone.error["code"]) == (1, "AGENT_FAILED")


def test_a_pipe_of_a_listener_is_not_the_readers(run: Run) -> None:
    ran = run({"prompt": "x", "agents": [{"id": "a", "loop": "torn", "driver": "fake"}]}, "--json")
    assert (ran.code, ends(ran)["a"]["failure"]["code"]) == (1, "AGENT_FAILED")
    alone = dshloop("session", "run", "x", "--loop", "torn", "--driver", "fake", "--json")
    assert (alone.code, alone.error["code"]) == (1, "AGENT_FAILED")
    assert "BrokenPipeError: the collector has gone" in alone.error["message"]


def test_different_failures_are_a_failure(run: Run) -> None:
    (Path(os.environ["HOME"]) / "cut.yml").write_text("turns: [{text: no, end: max-tokens}]")
    script = f"{os.environ['HOME']}/cut.yml"
    team = {"prompt": "x", "agents": [{"id": "g", "loop": "ghost"}, {"id": "c", "script": script}]}
    ran = run(team, "--json")
    assert ran.code == 1
    assert ends(ran)["c"]["outcome"] == "max-tokens"


def test_the_fake_driver_takes_an_entry_with_a_model(run: Run) -> None:
    team = {"agents": [{"id": "a", "model": "m", "provider": "p", "prompt": "x"}]}
    assert run(team, "--driver", "fake").code == 0
    settings = Path(os.environ["DSH_HOME"]) / "settings.yaml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text("agent-loops: {defaultDriver: fake-driver}\n")
    assert run(team).code == 0


def test_agents_that_an_agent_starts_are_in_the_transcript(run: Run) -> None:
    child = {"name": "kid", "prompt": "hi", "loop": "own"}
    calls = [{"name": TOOL, "arguments": {"agents": [child]}}]
    script = Path(os.environ["HOME"]) / "boss.yml"
    script.write_text(json.dumps({"turns": [{"steps": [{"calls": calls}, "done"]}]}))
    team = {"agents": [{"id": "lead", "loop": "boss", "prompt": "x", "script": str(script)}]}
    ran = run(team, "--json")
    assert ran.code == 0
    opened = {line["agent"]: line for line in ran.lines if line["type"] == "agent"}
    assert set(opened) == {"lead", "lead/kid"}
    assert opened["lead/kid"]["parent"] == opened["lead"]["id"]
    assert opened["lead/kid"]["depth"] == 1
    assert "lead/kid | hi \n" in run(team).out


@pytest.mark.parametrize(
    ("team", "words", "code", "name"),
    [
        ({"agents": [{"id": "a"}]}, (), 2, "PROMPT_MISSING"),
        ({"agents": []}, (), 2, "USAGE"),
        ({"agents": [{"id": "a"}]}, ("--agent", "b", "--prompt", "x"), 3, "AGENT_NOT_FOUND"),
        ({"agents": [{"id": "a"}, {"id": "a"}]}, ("--prompt", "x"), 1, "INVALID_CONFIG"),
        ({"agents": [{"id": f"a{n}"} for n in range(33)]}, ("--prompt", "x"), 4, "TEAM_TOO_LARGE"),
        ({"agents": [{"id": "a", "promt": "x"}]}, (), 1, "INVALID_CONFIG"),
        ({"agents": [{"id": "a", "prompt": 7}]}, (), 1, "INVALID_CONFIG"),
        ({"agents": [{"id": "a", "prompt": "x", "cwd": "nowhere"}]}, (), 2, "USAGE"),
        ({"agents": [{"id": "a", "prompt": "x"}]}, ("--cwd", "nowhere"), 2, "USAGE"),
        ({"agents": [{"id": "a", "prompt": "x"}]}, ("--parallel", "0"), 2, "USAGE"),
        ({"agents": [{"id": "a", "prompt": "x"}]}, ("--driver", "ping", "--script", "s"), 2,
         "USAGE"),
    ],
)  # fmt: skip
def test_bad_input_starts_nothing(
    run: Run, team: Any, words: tuple[str, ...], code: int, name: str
) -> None:
    ran = run(team, *words, "--json")
    assert (ran.code, ran.error["code"]) == (code, name)
    assert (ran.out, logs()) == ("", {})


def test_what_is_wrong_in_the_file_has_its_line(run: Run) -> None:
    ran = run("prompt: go\nagents:\n  - id: a\n    prompt: [1]\n", "--json")
    assert ran.error["details"]["line"] == 4
    assert "agents[0].prompt must be a non-empty string" in ran.error["message"]


def test_a_misspelt_list_of_agents_is_told(run: Run) -> None:
    ran = run("prompt: go\nagent:\n  - id: a\n", "--json")
    assert (ran.error["code"], ran.error["details"]["line"]) == ("INVALID_CONFIG", 2)
    assert ran.error["hint"] == 'Did you mean "agents" by "agent"?'


def test_whatever_an_agent_is_called_its_session_is_on_one_line(run: Run) -> None:
    ran = run({"agents": [{"id": "\x1b[1m\na", "driver": "ping", "prompt": "x"}]})
    (line,) = ran.err.splitlines()
    assert line.startswith("session \\x1b[1m a-session-")
    assert line.endswith("(\\x1b[1m a)")


def test_so_many_at_once_as_asked_for(run: Run) -> None:
    team = {"prompt": "x", "agents": [{"id": f"a{n}", "driver": "ping"} for n in range(5)]}
    ran = run(team, "--parallel", "1", "--json")
    assert ran.code == 0
    running: set[str] = set()
    for line in ran.lines:
        if line["type"] == "agent":
            running.add(line["agent"])
        elif line["type"] == "agent-end":
            running.discard(line["agent"])
        assert len(running) <= 1


def begun(here: Path, *, agents: int = 2, wait: str = "wait") -> subprocess.Popen[str]:
    """Start a team whose agents wait for a minute; gives it when all have begun to answer."""
    team = [{"id": f"a{n}", "loop": "own", "prompt": f"begin {wait} end"} for n in range(agents)]
    (here / "team.yml").write_text(json.dumps({"agents": team}))
    run = subprocess.Popen(
        [sys.executable, "-m", "dshloop", "agent", "team", "run", "team.yml", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=here,
    )
    root = Path(os.environ["DSHLOOP_DATA"]) / "sessions"
    until = time.monotonic() + 30
    while sum(b"text-delta" in path.read_bytes() for path in root.rglob("session.jsonl")) < agents:
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)
    return run


def test_an_interrupt_aborts_all_and_keeps_what_was_said(here: Path) -> None:
    run = begun(here)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=30)
    assert (run.returncode, err) == (130, "")
    end = json.loads(out.splitlines()[-1])
    assert (end["type"], end["outcome"]) == ("end", "aborted")
    assert [one["outcome"] for one in end["agents"]] == ["aborted", "aborted"]
    for log in logs().values():
        assert not log.closers()
        said = [event for event in log.events if event["type"] == "assistant/message"]
        assert said[0]["data"]["interrupted"]


def test_an_interrupt_while_records_are_written_is_none_of_another_kind(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, tells = [], AgentOpened._asdict

    def interrupted(opened: AgentOpened) -> dict[str, Any]:
        if not told:
            os.kill(os.getpid(), signal.SIGINT)
        told.append(opened)
        return tells(opened)

    monkeypatch.setattr(AgentOpened, "_asdict", interrupted)
    ran = run({"prompt": "wait", "agents": [{"id": "a", "driver": "saying"}]}, "--json")
    assert (ran.code, ran.lines[-1]["type"], ran.lines[-1]["outcome"]) == (130, "end", "aborted")
    assert ends(ran)["a"]["outcome"] == "aborted"


def test_an_agent_that_comes_late_and_cant_be_ended_breaks_nothing(run: Run) -> None:
    team = {
        "prompt": "wait",
        "agents": [{"id": "a", "driver": "late"}, {"id": "b", "driver": "saying"}],
    }
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    ran = run(team, "--json")
    timer.join()
    assert (ran.code, ran.lines[-1]["outcome"]) == (130, "aborted")
    assert {name: end["outcome"] for name, end in ends(ran).items()} == {
        "a": "aborted",
        "b": "aborted",
    }


def test_a_killed_team_leaves_sessions_that_go_on(here: Path) -> None:
    run = begun(here)
    run.kill()
    run.communicate()
    found = logs()
    assert len(found) == 2
    assert all(log.closers() for log in found.values())
    for session in found:
        ran = dshloop("session", "run", "and on", "--resume", session, cwd=here)
        assert (ran.code, ran.out) == (0, "and on \n"), ran.err


def test_a_second_interrupt_waits_for_nobody(here: Path) -> None:
    run = begun(here, wait="insist")
    run.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        run.communicate(timeout=0.5)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=30)
    assert run.returncode == 130
    assert json.loads(err)["error"]["code"] == "INTERRUPTED"
    assert all(log.closers() for log in logs().values())
    session = next(iter(logs()))
    assert dshloop("session", "run", "on", "--resume", session, cwd=here).code == 0


def test_a_log_that_cant_be_written_is_its_own_agents_fault(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dshloop.errors import WriteFailedError
    from dshloop.sessions.log import SessionLog

    write = SessionLog.append

    def append(self: SessionLog, kind: str, *args: Any, **more: Any) -> Any:
        if self.header.id.startswith("a-") and kind == "step/start":
            raise WriteFailedError("no space is left on the disk")
        return write(self, kind, *args, **more)

    monkeypatch.setattr(SessionLog, "append", append)
    ran = run(TWO, "--json")
    assert ran.code == 1
    found = ends(ran)
    assert found["a"]["failure"]["code"] == "WRITE_FAILED"
    assert found["bee"]["outcome"] == "completed"


def test_a_reader_that_goes_away_ends_the_team(here: Path) -> None:
    (here / "team.yml").write_text(json.dumps(TWO))
    words = f"{sys.executable} -m dshloop agent team run team.yml | head -n 1"
    ran = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {words}"],
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert len(ran.stdout.splitlines()) == 1
    assert not [log for log in logs().values() if log.closers()]


def test_a_session_may_be_named_by_the_beginning_of_its_id(run: Run) -> None:
    first = {"agents": [{"id": "a", "driver": "fake-driver", "sessionId": "my-long-name"}]}
    assert run(first, "--prompt", "x").code == 0
    again = run({"agents": [{"id": "b", "resumeSessionId": "my-lo"}]}, "--prompt", "y", "--json")
    assert again.code == 0
    opened = next(line for line in again.lines if line["type"] == "agent")
    assert (opened["agent"], opened["id"]) == ("b", "my-long-name")


def test_two_agents_on_one_session_are_refused_however_it_is_named(run: Run) -> None:
    first = {"id": "a", "prompt": "x", "driver": "fake", "sessionId": "shared-1"}
    assert run({"agents": [first]}).code == 0
    for named in ("shared", "last"):
        second = {"id": "b", "prompt": "y", "driver": "fake", "resumeSessionId": named}
        ran = run({"agents": [first, second]}, "--json")
        assert (ran.code, ran.error["code"], ran.out) == (1, "INVALID_CONFIG", "")
        assert 'agents "a" and "b" are to go on with one session, "shared-1"' in str(ran.error)


@pytest.mark.parametrize(
    "text",
    [
        "prompt: go\nagents: [{id: a}]",
        "prompt: go\nagent-loop-dock: {agents: [{id: a}]}",
        "agent-loop-dock: {prompt: go, defaultLoop: own, agents: [{id: a}]}",
        "- {id: a, prompt: go}",
    ],
)
def test_a_file_may_have_every_shape_of_a_dock_row(run: Run, text: str) -> None:
    ran = run(text, "--driver", "fake")
    assert (ran.code, ran.out.startswith("a | > go\n")) == (0, True)
    assert ("defaultLoop is for a dock row, and not used" in ran.err) == ("defaultLoop" in text)
