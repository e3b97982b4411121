"""Members of a team whose engines are programs of their own, beside those of ours."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dshloop.loops.teaming import TOOL
from dshloop.transcripts.dsh import read_transcript
from tests.drivers.engines import Stage
from tests.running import dshloop


@pytest.fixture(autouse=True)
def engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for dsh on PATH, which is an ACP agent too."""
    from dshloop.drivers.dsh import Dsh

    folder = tmp_path / "engine"
    folder.mkdir()
    stage = Stage(folder, Dsh)
    stage.plan()
    for name in ("PATH", "ENGINE_PLAN", "ENGINE_ASKED"):
        monkeypatch.setenv(name, stage.settings.variables[name])


def test_every_driver_has_a_place_in_one_team(tmp_path: Path) -> None:
    assert dshloop("config", "set", "acp.command", "dsh --profile acp").code == 0
    agents = [{"id": f"on-{name}", "driver": name} for name in ("dsh", "acp", "fake", "ping")]
    file = tmp_path / "team.yml"
    file.write_text(json.dumps({"prompt": "hi", "agents": agents}))
    ran = dshloop("agent", "team", "run", str(file), "--json")
    assert ran.code == 0, ran.err
    found = {line["agent"]: line for line in ran.lines if line["type"] == "agent-end"}
    assert found["on-dsh"]["text"] == found["on-acp"]["text"] == "heard hi"
    drivers = {name: line["driver"] for name, line in found.items()}
    assert drivers == {
        "on-dsh": "dsh",
        "on-acp": "acp",
        "on-fake": "fake-driver",
        "on-ping": "default",
    }


def test_a_child_on_another_program_is_a_child_too(tmp_path: Path) -> None:
    team = [{"name": "kid", "prompt": "hi", "driver": "dsh", "loop": "standard"}]
    calls = [{"name": TOOL, "arguments": {"agents": team}}]
    script = tmp_path / "script.yml"
    script.write_text(json.dumps({"turns": [{"steps": [{"calls": calls}, "done"]}]}))
    ran = dshloop("session", "run", "go", "--loop", "boss", "--script", str(script), "--json")
    assert ran.code == 0, ran.err
    root = Path(os.environ["DSHLOOP_DATA"]) / "sessions"
    logs = [read_transcript(path) for path in root.rglob("session.jsonl")]
    (child,) = [log for log in logs if log.header is not None and log.header.origin]
    assert child.header is not None
    assert child.header.parent_session == ran.lines[0]["id"]
    assert child.header.delegation_depth == 1


def test_a_loop_with_teams_is_refused_by_a_driver_that_carries_no_tools() -> None:
    ran = dshloop("session", "run", "go", "--loop", "boss", "--driver", "dsh", "--json")
    assert (ran.code, ran.error["code"]) == (4, "DRIVER_LACKS")
    assert f"tools ({TOOL})" in ran.error["message"]
