"""agent start: what can start starts, what waits explains itself, sessions stay as recorded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from dshloop.sessions.log import SessionLog
from tests.running import dshloop


@pytest.fixture
def team(docked: Path) -> Path:
    """Give the patch file of a profile whose agents can, wait, and can't."""
    text = docked.read_text().replace(
        "standard # keep", "standard\n        defaultDriver: fake-driver"
    )
    agents = (
        "          - {id: planner, sessionId: plan, cwd: /w}\n"
        "          - {id: coder, loop: ghost}\n"
        "          - {id: back, resumeSessionId: nowhere}\n"
        "          - {id: mine, loop: theirs}\n"
        "    - {id: pack, name: their-pack, config: {loopId: theirs}}\n"
    )
    docked.write_text(text.replace("          - id: first # stays\n", agents))
    return docked


def logs() -> dict[str, bytes]:
    """Give the logs of all sessions by the names of their folders."""
    root = Path(os.environ["DSHLOOP_DATA"])
    return {path.parent.name: path.read_bytes() for path in root.rglob("session.jsonl")}


def by_id(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {one["id"]: one for one in found}


def test_each_agent_tells_what_became_of_it(team: Path) -> None:
    ran = dshloop("agent", "start", "--json")
    assert ran.code == 3
    found = by_id(ran.json)
    assert found["planner"] | {"since": ""} == {
        "id": "planner",
        "state": "started",
        "session": "plan",
        "loop": "standard",
        "driver": "fake-driver",
        "since": "",
        "waits_for": None,
        "fault": None,
    }
    waits = found["coder"]["waits_for"]
    assert found["coder"]["state"] == "waiting"
    assert waits["message"] == 'loop "ghost" is not registered (available: standard)'
    assert waits["command"] == "dshloop loop register ghost MODULE:OBJECT --profile p"
    assert "row pack (their-pack) registers it" in found["mine"]["waits_for"]["command"]
    assert (found["back"]["state"], found["back"]["fault"]["code"]) == (
        "failed",
        "SESSION_NOT_FOUND",
    )
    assert list(logs()) == ["plan"]
    assert b'"agentLoopDock":{"loop":"standard","driver":"fake-driver"}' in logs()["plan"]
    assert b'"cwd":"/w"' in logs()["plan"]


def test_people_see_a_table_and_why_some_wait(team: Path) -> None:
    ran = dshloop("agent", "start", "planner", "coder")
    assert ran.code == 3
    assert [line.split() for line in ran.out.splitlines()] == [
        ["ID", "LOOP", "DRIVER", "SESSION", "STATE"],
        ["planner", "standard", "fake-driver", "plan", "started"],
        ["coder", "ghost", "-", "-", "waiting"],
    ]
    assert 'agent "coder" waits since 2' in ran.err
    assert "  dshloop loop register ghost MODULE:OBJECT --profile p\n" in ran.err


def test_a_started_session_is_resumed_by_the_next_start_and_by_runs(team: Path) -> None:
    assert dshloop("agent", "start", "planner").code == 0
    before = logs()
    (again,) = dshloop("agent", "start", "planner", "--json").json
    assert (again["state"], again["session"], again["driver"]) == ("resumed", "plan", "fake-driver")
    assert logs() == before
    assert "[FAKE-DRIVER]" in dshloop("session", "run", "hi", "--resume", "plan").out


def test_the_exit_code_is_that_of_those_that_did_not_start(team: Path) -> None:
    assert dshloop("agent", "start", "back", "coder").code == 3
    assert dshloop("agent", "start", "nobody", "--json").error["code"] == "AGENT_NOT_FOUND"
    assert dshloop("agent", "start", "planner", "--timeout", "-1").code == 2
    assert dshloop("agent", "start", "planner").code == 0
    root = Path(os.environ["DSHLOOP_DATA"])
    (path,) = root.rglob("session.jsonl")
    log = SessionLog.open(path, clock=lambda: 1.0, command="another")
    try:
        ran = dshloop("agent", "start", "planner", "--json")
    finally:
        log.close()
    assert (ran.code, ran.json[0]["fault"]["code"]) == (4, "LOCK_HELD")


def test_with_a_timeout_the_settings_are_looked_at_again(
    docked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Path(os.environ["DSH_HOME"]) / "settings.yaml"
    settings.write_text("agent-loops: {defaultDriver: nobody}\n")
    waiting = dshloop("agent", "start", "--timeout", "0.01", "--json")
    assert waiting.code == 3
    assert waiting.json[0]["waits_for"]["command"] == "dshloop driver use default"
    from dshloop.loops.waiting import WaitingAgents

    look = WaitingAgents.settle

    async def change(self: WaitingAgents) -> None:
        await look(self)
        settings.write_text("agent-loops: {defaultDriver: fake-driver}\n")

    monkeypatch.setattr(WaitingAgents, "settle", change)
    (started,) = dshloop("agent", "start", "--timeout", "30", "--json").json
    assert (started["state"], started["driver"]) == ("started", "fake-driver")


def test_loops_of_loops_yml_and_of_packages_are_found_and_their_faults_told(
    team: Path, tmp_path: Path
) -> None:
    info = tmp_path / "site" / "pack-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pack\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[dshloop.loops]\nghost = cli_loops:critic\n")
    (team.parent / "loops.yml").write_text("loops: {theirs: cli_broken:x}\n")
    found = by_id(dshloop("agent", "start", "coder", "mine", "--json").json)
    assert (found["coder"]["state"], found["coder"]["driver"]) == ("started", "default")
    assert found["mine"]["fault"]["code"] == "LOOP_IMPORT_FAILED"


@pytest.mark.parametrize(
    ("target", "code"), [("own_engine", "DRIVER_CONTRACT"), ("raising", "AGENT_FAILED")]
)
def test_a_loop_whose_engine_is_none_fails_and_leaves_nothing(
    docked: Path, tmp_path: Path, target: str, code: str
) -> None:
    module = tmp_path / "site" / "cli_loops.py"
    module.write_text(
        module.read_text() + "async def fail(owner, options): raise ValueError('no key')\n"
        'raising = {"kind": "driver", "createAgent": fail, "resume": fail}\n'
    )
    (docked.parent / "loops.yml").write_text(f"loops: {{ghost: cli_loops:{target}}}\n")
    docked.write_text(docked.read_text().replace("id: first", "{id: first, loop: ghost}"))
    ran = dshloop("agent", "start", "--json")
    assert (ran.code, ran.json[0]["fault"]["code"]) == (1, code)
    run = dshloop("session", "run", "hi", "--loop", "ghost", "--json")
    assert run.code == 1
    assert run.error["code"] == ("DRIVER_CONTRACT" if target == "own_engine" else "AGENT_FAILED")
    assert logs() == {}


def test_an_agent_of_another_session_is_refused(docked: Path, tmp_path: Path) -> None:
    module = tmp_path / "site" / "cli_loops.py"
    module.write_text(
        module.read_text() + "from dshloop.host.engine import CreateOptions, Engine\n"
        "async def lie(owner, options):\n"
        "    return await Engine().create_agent(owner, CreateOptions('elsewhere'))\n"
        'lying = {"kind": "driver", "createAgent": lie, "resume": lie}\n'
    )
    (docked.parent / "loops.yml").write_text("loops: {liar: cli_loops:lying}\n")
    run = dshloop("session", "run", "hi", "--loop", "liar", "--session-id", "s1", "--json")
    assert (run.code, run.error["code"]) == (1, "DRIVER_CONTRACT")
    assert '"elsewhere", not of "s1"' in run.error["message"]
    assert logs() == {}


def test_the_list_tells_readiness_by_the_same_selection(team: Path) -> None:
    assert dshloop("agent", "start", "planner").code == 0
    settings = Path(os.environ["DSH_HOME"]) / "settings.yaml"
    settings.write_text("agent-loops: {defaultDriver: nobody}\n")
    found = by_id(dshloop("agent", "list", "--json").json)
    assert found["planner"]["waits_for"] is None  # its session records a driver
    assert found["back"]["waits_for"] == 'there is no session "nowhere"'
    assert found["coder"]["waits_for"] == 'loop "ghost" is not registered (available: standard)'


def test_a_driver_that_the_row_has_off_is_mended_there(docked: Path) -> None:
    text = docked.read_text().replace("fakeDriver: true", "fakeDriver: 'true'")
    docked.write_text(text.replace("id: first", "{id: first, driver: fake-driver}"))
    ran = dshloop("agent", "start", "--json")
    assert ran.code == 3
    fix = "dshloop profile set engine.fakeDriver true"
    assert fix in ran.json[0]["waits_for"]["command"]
    run = dshloop("session", "run", "hi", "--driver", "fake", "--json")
    assert (run.code, run.error["code"]) == (3, "MISSING_DRIVER")
    assert fix in run.error["hint"]


def test_without_agents_there_is_nothing_to_start() -> None:
    ran = dshloop("agent", "start")
    assert (ran.code, ran.out, ran.err) == (0, "", "the dock row asks for no agents\n")


def test_a_run_of_a_session_looks_at_no_configured_agent(team: Path) -> None:
    assert dshloop("agent", "start", "planner").code == 0
    (path,) = Path(os.environ["DSHLOOP_DATA"]).rglob("session.jsonl")
    log = SessionLog.open(path, clock=lambda: 1.0, command="another")
    try:
        ran = dshloop("session", "run", "hi", "--driver", "fake", "--session-id", "other")
    finally:
        log.close()
    assert ran.code == 0
    assert "planner" not in ran.err
