"""The real dsh goes on with a session of ours that was exported to it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dshloop.sessions.naming import folder_of
from dshloop.transcripts.dsh import read_transcript
from tests.conformance.cases import DATA
from tests.peers.test_sessions_dsh import PATCH, initialize, program, serve
from tests.running import dshloop
from tests.sessions.logs import conversation, message
from tests.transcripts.logs import HEADER, event, turn, write

pytestmark = [pytest.mark.peer, pytest.mark.slow]

SCRIPT = """\
turns:
  - steps:
      - {text: I look it up., calls: [{name: look, arguments: {at: 1}}]}
      - {reasoning: hm, text: The answer is seven.}
  - {error: {message: gone, code: AUTH}}
"""

LOST = (
    b"agent/inbox/spliced",
    b"turn/start",
    b"step/start",
    b"system/message",
    b"user/message",
    b"request/header",
    b"request/context",
    b"session/title",
    b"assistant/message",
    b"tool/call",
    b"tool/result",
    b"step/end",
    b"turn/end",
)


@pytest.fixture
def model(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A model server on loopback; gives its address and the file of its requests."""
    ready, log = tmp_path / "ready.json", tmp_path / "requests.jsonl"
    server = Path(__file__).with_name("fake_llm.py")
    words = [sys.executable, str(server), "--ready", str(ready), "--log", str(log)]
    with subprocess.Popen([*words, "--max-seconds", "120"], stdout=subprocess.DEVNULL) as running:
        deadline = time.monotonic() + 20
        while not (ready.exists() and ready.read_text().endswith("\n")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield json.loads(ready.read_text())["base_url"], log
        running.terminate()


def resume(home: Path, cwd: Path, session_id: str, address: str, path: Path) -> None:
    """Have dsh take the session up over its SDK, and say one thing more."""
    dsh = program("DSHLOOP_TEST_DSH", "0.2.1")
    said = {"sessionId": session_id, "contentBlocks": [{"type": "text", "text": "and now?"}]}
    calls = [
        initialize(cwd),
        {"method": "session/resume", "params": {"sessionId": session_id}},
        {"method": "session/prompt", "params": said},
    ]
    before = read_transcript(path).counts["turns"]

    def ended() -> bool:
        read = read_transcript(path)
        return read.counts["turns"] > before and not read.closers()

    serve([dsh, "--profile", "sdk"], home, cwd, calls, ended, address)


def requests(log: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return [each["body"] for each in found if not each["side"]]


def test_dsh_resumes_a_session_of_ours_with_its_binding(
    isolated: Path, tmp_path: Path, model: tuple[str, Path]
) -> None:
    program("DSHLOOP_TEST_DSH", "0.2.1")
    address, log = model
    cwd, script = tmp_path / "work", tmp_path / "script.yml"
    cwd.mkdir()
    script.write_text(SCRIPT, encoding="utf-8")
    for prompt in ("what is it?", "and then?"):
        known = dshloop("session", "show", "ours", cwd=cwd).code == 0
        which = "--resume" if known else "--session-id"
        dshloop("session", "run", "--script", str(script), which, "ours", prompt, cwd=cwd)
    ran = dshloop("session", "export", "ours", "--to", "dsh", "--install", "--json", cwd=cwd)
    assert ran.code == 0, ran.err
    path = Path(ran.json["out"])
    before = read_transcript(path)
    resume(isolated / "dsh", cwd, "ours", address, path)
    after = read_transcript(path)
    assert after.findings == []
    assert after.events[: len(before.events)] == before.events
    turns = [each["data"]["turn"] for each in after.events if each["type"] == "turn/start"]
    assert turns == [1, 2, 3]
    (body,) = requests(log)
    sent = json.dumps(body["messages"])
    for text in ("what is it?", "I look it up.", "The answer is seven.", "and then?", "and now?"):
        assert text in sent
    bound = [e["data"] for e in after.events if e["type"] == "agent-preset/selected"]
    assert bound[0]["agentLoopDock"] == {"loop": "standard", "driver": "fake-driver"}


def test_dsh_resumes_whatever_a_log_of_ours_holds(
    isolated: Path, tmp_path: Path, model: tuple[str, Path]
) -> None:
    program("DSHLOOP_TEST_DSH", "0.2.1")
    address, log = model
    events = [*conversation(2, calls=2), *turn(3, 0, "cut")]
    added = []
    for form in ("recall", "semantic"):
        injected = message(f"{form} of old", kind="plugin", plugin="agentmemory", form=form)
        injected["id"] = form
        added.append(event("user/message", 0, injected, surfaceOp="append"))
    chunk = {"type": "text-delta", "index": 0, "text": "half an answer"}
    begun = {"type": "block-start", "index": 0, "blockType": "text"}
    place = {"turn": 3, "step": 1}
    added += [event("assistant/chunk", 0, {**place, "chunk": each}) for each in (begun, chunk)]
    events[-2:-2] = added
    error = {"kind": "error", "error": {"message": "gone", "code": "AUTH"}}
    events[-1]["data"]["reason"] = error
    source = write(
        tmp_path / "session.jsonl",
        [{**each, "seq": seq} for seq, each in enumerate(events)],
        {**HEADER, "cwd": str(tmp_path)},
    )
    ran = dshloop("session", "export", str(source), "--to", "dsh", "--install", "--json")
    assert ran.code == 0, ran.err
    resume(isolated / "dsh", tmp_path, "s-1", address, Path(ran.json["out"]))
    sent = json.dumps(requests(log)[0])
    for text in ("result of c2-1", "recall of old", "semantic of old"):
        assert text in sent


@pytest.mark.parametrize("lost", LOST)
def test_dsh_resumes_a_log_of_its_own_that_was_damaged_and_mended(
    isolated: Path, tmp_path: Path, model: tuple[str, Path], lost: bytes
) -> None:
    program("DSHLOOP_TEST_DSH", "0.2.1")
    data = (DATA / "sessions" / "v4-tools.session.v4.jsonl").read_bytes()
    first, *lines = data.replace(b'"/home/dev/demo"', json.dumps(str(tmp_path)).encode()).split(
        b"\n"
    )
    at = next(at for at, each in enumerate(lines) if each.startswith(b'{"type":"' + lost))
    damaged = tmp_path / "session.v4.jsonl"
    damaged.write_bytes(b"\n".join([first, *lines[:at], b"\0" * 50, *lines[at + 1 :]]))
    session_id = json.loads(first)["id"]
    mended = tmp_path / "mended.v4.jsonl"
    ran = dshloop("session", "repair", str(damaged), "--out", str(mended), "--json")
    assert (ran.code, ran.json["lost"]) == (0, 1)
    folder = isolated / "dsh" / "sessions" / folder_of(str(tmp_path)) / session_id
    folder.mkdir(parents=True)
    path = folder / "session.v4.jsonl"
    mended.rename(path)
    (isolated / "dsh" / "cordis.patch.yml").write_text(PATCH, encoding="utf-8")
    address, log = model
    resume(isolated / "dsh", tmp_path, session_id, address, path)
    assert read_transcript(path).findings == []
    sent = requests(log)[0]["messages"]
    assert "The file hello.txt has two lines" in json.dumps(sent)
    calls = [block for each in sent for block in each["content"] if isinstance(block, dict)]
    asked = {block["id"] for block in calls if block.get("type") == "tool_use"}
    answered = {block["tool_use_id"] for block in calls if block.get("type") == "tool_result"}
    assert asked <= answered
