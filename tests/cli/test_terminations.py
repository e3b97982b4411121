"""SIGTERM while `session run` is at work: the turn is aborted, and nothing goes on running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.running import dshloop

SCRIPT = """
turns:
- steps:
  - calls: [{name: shell, arguments: {command: "echo $$ > pid; sleep 60"}}]
  - text: done
"""


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "dshloop", "session", "run", "--session-id", "s", "--json"]
    return subprocess.Popen(
        [*command, *words], cwd=folder, text=True, encoding="utf-8",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def wait_for(running: subprocess.Popen[str], kind: str) -> None:
    assert running.stdout is not None
    for line in running.stdout:
        if json.loads(line).get("event", {}).get("type") == kind:
            return
    raise AssertionError(f"no {kind} came")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_turn_and_what_it_started(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "script.yml").write_text(SCRIPT)
    with start(tmp_path, "--script", "script.yml", "--allow", "shell", "go") as running:
        wait_for(running, "tool/call")
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
            time.sleep(0.01)
        running.send_signal(number)
        running.communicate(timeout=30)
    assert running.returncode == 128 + number
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    events = dshloop("session", "show", "s", "--json", cwd=tmp_path).json["events"]
    assert events[-1]["type"] == "turn/end"
    assert events[-1]["data"]["reason"]["kind"] == "aborted"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_run_that_waits_for_a_prompt_ends_at_once(tmp_path: Path) -> None:
    with start(tmp_path, "--driver", "fake", "--input-format", "lines") as running:
        assert running.stdin is not None
        running.stdin.write("one\n")
        running.stdin.flush()
        wait_for(running, "turn/end")
        running.send_signal(signal.SIGTERM)
        running.wait(timeout=30)
    assert running.returncode == 128 + signal.SIGTERM
    assert dshloop("session", "fsck", "s", cwd=tmp_path).code == 0
