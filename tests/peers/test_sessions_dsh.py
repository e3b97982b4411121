"""The real dsh on session logs: it loads what we write, and closes open turns as we say.

No model is asked: dsh closes an open turn when it resumes a session.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dshloop.paths import Places
from dshloop.runs.talking.conversation import RunOptions
from dshloop.runs.talking.run import run_session
from dshloop.sessions.fork import fork_log
from dshloop.sessions.naming import encode_id, folder_of
from dshloop.transcripts.dsh import Transcript, read_transcript
from tests.conformance.cases import DATA

pytestmark = pytest.mark.peer

PATCH = """\
- id: session-persistence-jsonl
  config: {root: !!js dshHomePath('sessions'), compression: none}
- id: session-title-llm
  disabled: true
"""
AGENTS = """\
- id: agent-loop
  config:
    agents:
      - {id: main, resumeSessionId: ID, provider: deepseek-official, model: deepseek-v4-flash}
"""


def program(variable: str, version: str) -> str:
    found = os.environ.get(variable)
    if not found:
        pytest.skip(f"set {variable} to a dsh {version} (tests/peers/dsh-setup.sh installs one)")
    if not Path(found).is_file():
        pytest.skip(f"{variable} names no program: {found}")
    return found


def store(home: Path, cwd: Path, name: str, lines: list[str], session_id: str) -> Path:
    """Put a log under another working directory, so that dsh finds it there."""
    header = {**json.loads(lines[0]), "cwd": str(cwd)}
    folder = home / "sessions" / folder_of(str(cwd)) / encode_id(session_id)
    folder.mkdir(parents=True)
    path = folder / name
    path.write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n", encoding="utf-8")
    (home / "cordis.patch.yml").write_text(PATCH, encoding="utf-8")
    return path


def serve(
    words: list[str],
    home: Path,
    cwd: Path,
    calls: list[dict[str, Any]],
    done: Callable[[], bool],
    model: str = "http://127.0.0.1:9",
) -> None:
    """Run dsh on a list of JSON-RPC calls until `done` holds."""
    environment = {
        **os.environ,
        "DSH_HOME": str(home),
        "DSH_TELEMETRY_DISABLED": "1",
        "DEEPSEEK_API_KEY": "dummy",
        "DEEPSEEK_BASE_URL": model,
    }
    output = home / "output.txt"
    log = output.open("wb")
    with (
        log,
        subprocess.Popen(
            words, cwd=cwd, env=environment, stdin=subprocess.PIPE, stdout=log, stderr=log
        ) as dsh,
    ):
        assert dsh.stdin is not None
        for number, call in enumerate(calls):
            frame = {"jsonrpc": "2.0", "id": number, **call}
            dsh.stdin.write(json.dumps(frame).encode() + b"\n")
            dsh.stdin.flush()
            wait_until(
                lambda number=number: f'"id":{number},' in output.read_text(errors="replace")
            )
        wait_until(done)
        dsh.kill()
    assert done(), output.read_text(errors="replace")


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not done() and time.monotonic() < deadline:
        time.sleep(0.1)


def initialize(cwd: Path) -> dict[str, Any]:
    params = {"cwd": str(cwd), "provider": "deepseek-official", "model": "deepseek-v4-flash"}
    return {"method": "initialize", "params": params}


def seed_ended(path: Path) -> bool:
    return any(e["type"] == "session/end-seed" for e in read_transcript(path).events)


def our_lines(root: Path) -> tuple[str, list[str]]:
    places = Places(root / "dsh", root / "data", root / "config")
    options = RunOptions(root, "test", driver="fake", session_id="ours")
    list(run_session(places, options, ["hello"], time.time))
    (path,) = places.sessions.glob("*/*/session.jsonl")
    return "ours", path.read_text(encoding="utf-8").split("\n")[:-1]


def closing_part(before: Transcript, after: Transcript) -> list[dict[str, Any]]:
    """Give the events that dsh added before it ended the seed."""
    added = iter(after.events[len(before.events) :])
    return list(_until_seed(added))


def _until_seed(events: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for event in events:
        if event["type"] == "session/end-seed":
            return
        yield event


@pytest.mark.parametrize("kept", [None, 30, 5])
def test_dsh_012_loads_our_session_and_closes_it_as_we_do(kept: int | None, tmp_path: Path) -> None:
    dsh = program("DSHLOOP_TEST_DSH_012", "0.1.2")
    home, cwd = tmp_path / "home", tmp_path / "work"
    cwd.mkdir()
    session_id, lines = our_lines(tmp_path)
    path = store(home, cwd, "session.jsonl", lines[:kept], session_id)
    (home / "agents.yml").write_text(AGENTS.replace("ID", session_id), encoding="utf-8")
    before = read_transcript(path)
    words = [dsh, "--profile", "sdk", "--patch", str(home / "agents.yml")]
    serve(words, home, cwd, [initialize(cwd)], lambda: seed_ended(path))
    after = read_transcript(path)
    assert after.findings == []
    assert closing_part(before, after) == before.closers()


def test_dsh_012_loads_a_fork_of_ours(tmp_path: Path) -> None:
    dsh = program("DSHLOOP_TEST_DSH_012", "0.1.2")
    home, cwd = tmp_path / "home", tmp_path / "work"
    cwd.mkdir()
    our_lines(tmp_path)
    (source,) = (tmp_path / "data").glob("sessions/*/ours/session.jsonl")
    forked = fork_log(source, tmp_path / "forks", "fork", at=None, now=int(time.time() * 1000))
    lines = forked.path.read_text(encoding="utf-8").split("\n")[:-1]
    path = store(home, cwd, "session.jsonl", lines, "fork")
    (home / "agents.yml").write_text(AGENTS.replace("ID", "fork"), encoding="utf-8")
    before = read_transcript(path)
    words = [dsh, "--profile", "sdk", "--patch", str(home / "agents.yml")]

    def taken_up() -> bool:
        return len(read_transcript(path).events) > len(before.events)

    serve(words, home, cwd, [initialize(cwd)], taken_up)
    after = read_transcript(path)
    assert after.findings == []
    assert after.events[: len(before.events)] == before.events


@pytest.mark.parametrize("kept", [19, 22, 27])
def test_dsh_021_closes_open_turns_as_we_do(kept: int, tmp_path: Path) -> None:
    dsh = program("DSHLOOP_TEST_DSH", "0.2.1")
    home, cwd = tmp_path / "home", tmp_path / "work"
    cwd.mkdir()
    text = (DATA / "sessions" / "v4-tools.session.v4.jsonl").read_text(encoding="utf-8")
    lines = text.split("\n")[:kept]
    session_id = json.loads(lines[0])["id"]
    path = store(home, cwd, "session.v4.jsonl", lines, session_id)
    before = read_transcript(path)
    resume = {"method": "session/resume", "params": {"sessionId": session_id}}
    words = [dsh, "--profile", "sdk"]
    serve(words, home, cwd, [initialize(cwd), resume], lambda: seed_ended(path))
    after = read_transcript(path)
    assert after.findings == []
    assert closing_part(before, after) == before.closers()
