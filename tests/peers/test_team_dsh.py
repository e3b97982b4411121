"""The real dsh on the sessions of a team: it loads those of children and of who started them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from dshloop.drivers.script import parse_script
from dshloop.loops.loops_file import parse_loops
from dshloop.loops.teaming import TOOL
from dshloop.paths import Places
from dshloop.runs.profile import ProfileRows
from dshloop.runs.talking.options import RunOptions
from dshloop.runs.talking.run import run_session
from dshloop.transcripts.dsh import read_transcript
from tests.peers.test_export_dsh import model, resume
from tests.peers.test_sessions_dsh import AGENTS, initialize, program, serve, store
from tests.running import dshloop

__all__ = ["model"]  # a fixture
pytestmark = pytest.mark.peer


def team_logs(root: Path) -> dict[str, list[str]]:
    """Have an agent start another one; gives the lines of both logs by ``parent`` and ``child``."""
    places = Places(root / "dsh", root / "data", root / "config")
    team = [{"name": "kid", "prompt": "hi", "driver": "ping"}]
    calls = [{"name": TOOL, "arguments": {"agents": team}}]
    script = parse_script(json.dumps({"turns": [{"steps": [{"calls": calls}, "done"]}]}))
    file = parse_loops("loops: {leading: {team: true}}", root / "loops.yml")
    rows = ProfileRows(file=file)
    options = RunOptions(
        root, "test", driver="fake", loop="leading", session_id="ours", script=script, rows=rows
    )
    list(run_session(places, options, ["hello"], time.time))
    paths = places.sessions.glob("*/*/session.jsonl")
    texts = [path.read_text(encoding="utf-8").split("\n")[:-1] for path in paths]
    return {"child" if '"origin"' in lines[0] else "parent": lines for lines in texts}


@pytest.mark.parametrize("which", ["parent", "child"])
def test_dsh_012_loads_the_sessions_of_a_team(which: str, tmp_path: Path) -> None:
    dsh = program("DSHLOOP_TEST_DSH_012", "0.1.2")
    home, cwd = tmp_path / "home", tmp_path / "work"
    cwd.mkdir()
    lines = team_logs(tmp_path)[which]
    header: dict[str, Any] = json.loads(lines[0])
    path = store(home, cwd, "session.jsonl", lines, header["id"])
    (home / "agents.yml").write_text(AGENTS.replace("ID", header["id"]), encoding="utf-8")
    before = read_transcript(path)
    words = [dsh, "--profile", "sdk", "--patch", str(home / "agents.yml")]

    def taken_up() -> bool:
        return len(read_transcript(path).events) > len(before.events)

    serve(words, home, cwd, [initialize(cwd)], taken_up)
    after = read_transcript(path)
    assert after.findings == []
    assert after.events[: len(before.events)] == before.events
    assert before.header is not None
    assert after.header == before.header


@pytest.mark.slow
@pytest.mark.parametrize("which", ["parent", "child"])
def test_dsh_021_goes_on_with_the_sessions_of_a_team(
    which: str, isolated: Path, tmp_path: Path, model: tuple[str, Path]
) -> None:
    program("DSHLOOP_TEST_DSH", "0.2.1")
    header = json.loads(team_logs(tmp_path)[which][0])
    words = ["--to", "dsh", "--install", "--json", "--data-dir", str(tmp_path / "data")]
    ran = dshloop("session", "export", header["id"], *words, cwd=tmp_path)
    assert ran.code == 0, ran.err
    path = Path(ran.json["out"])
    before = read_transcript(path)
    resume(isolated / "dsh", tmp_path, header["id"], model[0], path)
    after = read_transcript(path)
    assert after.findings == []
    assert after.events[: len(before.events)] == before.events
    assert after.header is not None
    kept = {key: header.get(key) for key in ("origin", "parentSession", "delegationDepth")}
    assert {key: after.header.raw.get(key) for key in kept} == kept
