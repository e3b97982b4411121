"""create_agent_team: an agent starts others from a conversation, within caps."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dshloop.loops.teaming import TOOL
from dshloop.runs.teams.tool import started
from dshloop.sessions.fsck import check_log
from dshloop.transcripts.dsh import Transcript, read_transcript
from tests.running import Ran, dshloop

Say = Callable[..., Ran]


@pytest.fixture
def say(tmp_path: Path) -> Say:
    """Run a session whose model calls the tool with these agents, once a list."""

    def run(*teams: list[dict[str, Any]], words: tuple[str, ...] = (), loop: str = "boss") -> Ran:
        script = tmp_path / "script.yml"
        script.write_text(json.dumps({"turns": [{"steps": steps(*teams)}], "after": "repeat"}))
        here = tmp_path / "here"
        here.mkdir(exist_ok=True)
        asked = () if "--resume" in words else ("--loop", loop)
        return dshloop(
            "session", "run", "hi", *asked, "--script", str(script), "--json", *words, cwd=here
        )

    return run


def steps(*teams: list[dict[str, Any]]) -> list[Any]:
    calls = [{"calls": [{"name": TOOL, "arguments": {"agents": team}}]} for team in teams]
    return [*calls, "done"]


def logs() -> dict[str, Transcript]:
    """Read all sessions, by id."""
    root = Path(os.environ["DSHLOOP_DATA"]) / "sessions"
    read = [read_transcript(path) for path in root.rglob("session.jsonl")]
    for one in read:
        assert not [each for each in check_log(one.path).findings if each.severity == "error"]
    return {one.header.id: one for one in read if one.header is not None}


def children() -> dict[str, Transcript]:
    """Give the children's logs by their names in the team."""
    found = {}
    for log in logs().values():
        for event in log.events:
            if event["type"] == "subagent/descriptor":
                found[event["data"]["label"]] = log
    return found


def results(ran: Ran) -> list[Any]:
    """Give what the model was told, result by result."""
    events = [line["event"] for line in ran.lines if line["type"] == "event"]
    texts = [
        event["data"]["message"]["content"][0]["content"][0]["text"]
        for event in events
        if event["type"] == "tool/result"
    ]
    return [json.loads(text) if text.startswith("[") else text for text in texts]


def binding(log: Transcript) -> dict[str, str]:
    bound = [event["data"].get("agentLoopDock") for event in log.events]
    return next(one for one in bound if one is not None)


def test_each_agent_works_in_a_session_of_its_own(say: Say) -> None:
    ran = say([{"name": "a", "prompt": "one", "loop": "own"}, {"name": "b", "prompt": "two"}])
    assert ran.code == 0
    (told,) = results(ran)
    by_name = {one["name"]: one for one in told}
    assert by_name["a"]["text"] == "you said one"
    assert by_name["a"]["outcome"] == by_name["b"]["outcome"] == "completed"
    parent = ran.lines[0]["id"]
    for name, log in children().items():
        header = log.header
        assert header is not None
        assert header.id == by_name[name]["session"]
        assert (header.parent_session, header.origin) == (parent, "subagent")
        assert header.delegation_depth == 1
        prompts = [event for event in log.events if event["type"] == "user/message"]
        assert prompts[0]["data"]["source"] == {"kind": "coordinator"}


def test_a_list_of_sessions_tells_whose_children_they_are(say: Say, tmp_path: Path) -> None:
    plain = dshloop("session", "list", cwd=tmp_path)
    assert "PARENT" not in plain.out
    parent = say([{"name": "a", "prompt": "Read it."}], words=("--session-id", "p")).lines[0]["id"]
    rows = dshloop("session", "list", "--json", cwd=tmp_path / "here").json
    assert {(row["title"], row["origin"], row["parent"], row["depth"]) for row in rows} == {
        ("hi", None, None, 0),
        ("Read it.", "subagent", parent, 1),
    }
    header, *lines = dshloop("session", "list", cwd=tmp_path / "here").out.splitlines()
    assert header.split()[-2:] == ["PARENT", "TITLE"]
    ends = sorted(line[header.index("PARENT") :].split(maxsplit=1) for line in lines)
    assert ends == [["-", "hi"], ["p", "Read it."]]
    child = next(row["id"] for row in rows if row["depth"])
    shown = dshloop("session", "show", child).out
    assert "\nparent  p (subagent)\n" in shown
    assert "\n\nparent: Read it.\n\n" in shown


def test_children_are_on_the_parents_loop_driver_and_preset_unless_told_otherwise(say: Say) -> None:
    say(
        [
            {"name": "same", "prompt": "x"},
            {"name": "own", "prompt": "x", "loop": "own"},
            {"name": "other", "prompt": "x", "loop": "standard", "preset": "minimal"},
        ],
        words=("--preset", "standard"),
    )
    found = children()
    assert binding(found["same"]) == {"loop": "boss", "driver": "fake-driver"}
    assert binding(found["own"]) == {"loop": "own", "driver": "saying"}  # it names one itself
    assert binding(found["other"]) == {"loop": "standard", "driver": "fake-driver"}
    presets = {name: log.header.agent_preset for name, log in found.items() if log.header}
    assert presets == {"same": "standard", "own": "standard", "other": "minimal"}


def test_a_preset_brings_the_loop_that_it_is_routed_to(say: Say) -> None:
    say([{"name": "a", "prompt": "x", "preset": "minimal"}])
    assert binding(children()["a"]) == {"loop": "standard", "driver": "fake-driver"}


def test_the_ping_driver_is_inherited_as_such(say: Say) -> None:
    ran = say([{"name": "a", "prompt": "x", "driver": "ping"}])
    assert results(ran)[0][0]["text"].startswith("loop-ping")


def test_one_that_fails_is_told_and_the_others_go_on(say: Say) -> None:
    ran = say(
        [
            {"name": "ghost", "prompt": "x", "loop": "ghost"},
            {"name": "odd", "prompt": "x", "driver": "nobody"},
            {"name": "good", "prompt": "x"},
        ]
    )
    (told,) = results(ran)
    by_name = {one["name"]: one for one in told}
    assert by_name["good"]["outcome"] == "completed"
    assert 'loop "ghost" is not registered' in by_name["ghost"]["why"]
    assert "(UNKNOWN_LOOP)" in by_name["ghost"]["why"]
    assert by_name["odd"]["outcome"] == "failed"
    assert len(logs()) == 2


def test_more_agents_than_the_conversation_may_start_are_refused(say: Say) -> None:
    two = [{"name": "a", "prompt": "x"}, {"name": "b", "prompt": "x"}]
    first, second, third = results(say(two, two, two[:1]))
    assert len(first) == 2
    assert "2 more agents are too many: this conversation may start 3, and has started 2" in second
    assert [one["outcome"] for one in third] == ["completed"]
    (fourth,) = results(say(two[:1], words=("--resume", "last")))
    assert "may start 3, and has started 3" in fourth  # counted by the log, not by the process


def test_agents_of_a_team_start_no_team_beyond_the_depth(say: Say) -> None:
    """Each child of the script's parent runs the same script, and calls the tool itself."""
    ran = say([{"name": "a", "prompt": "x"}])
    assert ran.code == 0
    (child,) = children().values()
    (refusal,) = [event for event in child.events if event["type"] == "tool/result"]
    assert refusal["data"]["error"]["code"] == "TEAM_TOO_DEEP"
    assert "1 deep in teams of teams" in str(refusal["data"]["message"])


def test_a_loop_may_allow_teams_of_teams(say: Say) -> None:
    ran = say([{"name": "a", "prompt": "x"}], loop="deep")
    assert ran.code == 0
    depths = sorted(log.header.delegation_depth for log in logs().values() if log.header)
    assert depths == [0, 1, 2]
    parents = {log.header.parent_session for log in logs().values() if log.header}
    assert len(parents) == 3


def test_all_teams_below_a_conversation_are_bounded_together(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dshloop.runs.teams.service.MOST_OF_A_FAMILY", 3)
    two = [{"name": "a", "prompt": "x"}, {"name": "b", "prompt": "x"}]
    assert say(two, loop="deep").code == 0
    assert len(logs()) == 3
    texts = [str(event["data"]) for log in children().values() for event in log.events]
    refused = "the teams below one conversation have 2 already, and 3 at most"
    assert any(refused in text for text in texts)


def test_two_of_one_name_and_unknown_fields_are_refused(say: Say) -> None:
    same = [{"name": "a", "prompt": "x"}] * 2
    odd = [{"name": "a", "prompt": "x", "speed": "fast"}]
    first, second = results(say(same, odd))
    assert 'two agents are called "a"' in first
    assert "the arguments don't fit" in second
    assert len(logs()) == 1


def test_only_a_strategy_that_opts_in_offers_the_tool(say: Say) -> None:
    ran = say([{"name": "a", "prompt": "x"}], loop="own", words=("--driver", "fake"))
    assert results(ran) == [f'Error: unknown tool "{TOOL}"']


def test_a_strategy_of_loops_yml_opts_in(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    assert dshloop("profile", "create", "p", "--template", "empty").code == 0
    file = Path(os.environ["DSH_HOME"]) / "profiles" / "p" / "loops.yml"
    file.write_text("loops:\n  leading: {team: {agents: 1}}\n  proud: {team: {agents: 99}}\n")
    monkeypatch.setenv("DSHLOOP_PROFILE", "p")
    bad = dshloop("loop", "show", "leading", "--json")
    assert (bad.code, bad.error["code"]) == (1, "LOOPS_FILE_INVALID")
    assert "loops.proud.team.agents must be a whole number from 1 to 32" in bad.error["message"]
    file.write_text("loops:\n  leading: {team: {agents: 1}}\n")
    two = [{"name": "a", "prompt": "x"}, {"name": "b", "prompt": "x"}]
    first, second = results(say(two, two[:1], loop="leading"))
    assert "may start 1, and has started 0" in first
    assert len(second) == 1


def test_the_newest_session_is_never_a_child(say: Say) -> None:
    ran = say([{"name": "a", "prompt": "x"}])
    shown = dshloop("session", "show", "last", "--json", cwd=Path(ran.lines[0]["cwd"]))
    assert shown.json["id"] == ran.lines[0]["id"]


def slow_run(tmp_path: Path, prompt: str = "begin wait end") -> subprocess.Popen[str]:
    """Start a session whose child waits for a minute; gives it when the child has begun."""
    here = tmp_path / "here"
    here.mkdir()
    script = tmp_path / "slow.yml"
    team = [{"name": "slow", "prompt": prompt, "loop": "own"}]
    script.write_text(json.dumps({"turns": [{"steps": steps(team)}]}))
    words = ["session", "run", "hi", "--loop", "boss", "--script", str(script), "--json"]
    run = subprocess.Popen(
        [sys.executable, "-m", "dshloop", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=here,
    )
    root = Path(os.environ["DSHLOOP_DATA"]) / "sessions"
    until = time.monotonic() + 30
    while not any(b"text-delta" in path.read_bytes() and b"subagent" in path.read_bytes()[:600]
                  for path in root.rglob("session.jsonl")):  # fmt: skip
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)
    return run


def test_an_interrupt_ends_parent_and_children(tmp_path: Path) -> None:
    run = slow_run(tmp_path)
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=30)
    assert run.returncode == 130
    assert json.loads(out.splitlines()[-1])["outcome"] == "aborted"
    (child,) = children().values()
    assert child.events[-1]["data"]["reason"] == {"kind": "aborted", "reason": {"kind": "parent"}}
    for log in logs().values():
        assert not log.closers()


def test_a_killed_run_leaves_logs_that_can_be_gone_on_with(tmp_path: Path) -> None:
    run = slow_run(tmp_path)
    run.kill()
    run.communicate()
    found = logs()
    assert len(found) == 2
    assert all(log.closers() for log in found.values())
    (child,) = children().values()
    assert child.header is not None
    words = ("--resume", child.header.id, "--json")
    again = dshloop("session", "run", "and on", *words, cwd=tmp_path / "here")
    assert again.code == 0, again.err
    assert again.lines[0]["resumed"]
    (resumed,) = children().values()
    assert resumed.header == child.header


def test_calls_are_counted_by_the_log() -> None:
    def call(number: int, agents: Any, error: str | None = None) -> list[dict[str, Any]]:
        asked = {"callId": f"c{number}", "name": TOOL, "arguments": json.dumps({"agents": agents})}
        source = {"kind": "tool", "callId": f"c{number}"}
        told: dict[str, Any] = {"message": {"source": source}}
        if error is not None:
            told["error"] = {"name": "x", "code": error}
        return [{"type": "tool/call", "data": asked}, {"type": "tool/result", "data": told}]

    events = [
        *call(1, [1, 2]),
        *call(2, [1], "TEAM_TOO_LARGE"),
        *call(3, [1], "TOOL_OUTCOME_UNKNOWN"),
        *call(4, "no list"),
        *call(5, [1, 2, 3])[:1],
        {"type": "tool/call", "data": {"callId": "o", "name": "other", "arguments": "{"}},
        {"type": "tool/call", "data": {"callId": "t", "name": TOOL, "arguments": "{torn"}},
    ]
    assert started(events) == 6
    assert started(events, but="c5") == 3
