"""kill -9 at random points of a running session: nothing acknowledged is lost."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dshloop.sessions.naming import LOG_NAME
from dshloop.transcripts.dsh import read_transcript
from tests.running import dshloop, process

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal"),
]

ROUNDS = int(os.environ.get("DSHLOOP_TEST_CRASHES", "12"))
RUN = [sys.executable, "-m", "dshloop", "session", "run", "--json", "--input-format", "lines"]


def run_and_kill(words: list[str], delay: float) -> list[dict[str, Any]]:
    """Start a run with more prompts than it can answer, kill it; give the events it reported."""
    run = subprocess.Popen([*RUN, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert run.stdin is not None
    assert run.stdout is not None
    run.stdin.write("".join(f"prompt {number}\n" for number in range(5000)).encode())
    run.stdin.flush()
    first = run.stdout.readline()
    killer = threading.Timer(delay, run.send_signal, (signal.SIGKILL,))
    killer.start()
    lines = [first, *run.stdout]
    killer.join()
    run.stdin.close()
    run.stdout.close()
    run.wait(30)
    records = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return [record["event"] for record in records if record["type"] == "event"]


def log_of(home: Path, session_id: str) -> Path | None:
    return next((home / "data" / "sessions").glob(f"*/{session_id}/{LOG_NAME}"), None)


def test_acknowledged_events_survive_a_kill(isolated: Path) -> None:
    dice = random.Random(7)
    words = ["--driver", "fake", "--session-id", "s"]
    for _ in range(ROUNDS):
        acknowledged = run_and_kill(words, dice.uniform(0, 0.3))
        path = log_of(isolated, "s")
        if path is None:
            assert acknowledged == []
            continue
        words = ["--resume", "s"]
        stored = {event["seq"]: event for event in read_transcript(path).events}
        assert [stored.get(event["seq"]) for event in acknowledged] == acknowledged
        assert {finding.code for finding in read_transcript(path).findings} <= {"TORN_TAIL"}
    assert dshloop("session", "run", "--resume", "s", "the last one").code == 0
    path = log_of(isolated, "s")
    assert path is not None
    read = read_transcript(path)
    kinds = Counter(event["type"] for event in read.events)
    assert read.findings == []
    assert read.closers() == []
    assert kinds["turn/start"] == kinds["turn/end"]
    assert kinds["step/start"] == kinds["step/end"]
    turns = [event["data"]["turn"] for event in read.events if event["type"] == "turn/start"]
    assert turns == list(range(1, len(turns) + 1))
    names = sorted(each.name for each in path.parent.iterdir())
    assert names == [LOG_NAME, "session.lock"]


def test_a_terminated_run_is_resumed_and_an_interrupted_one_is_closed(isolated: Path) -> None:
    for number, (kill, code) in enumerate(((signal.SIGTERM, 143), (signal.SIGINT, 130))):
        words = ["--driver", "fake", "--session-id", f"s{number}"]
        run = subprocess.Popen([*RUN, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert run.stdin is not None
        assert run.stdout is not None
        run.stdin.write(b"one\n" * 5000)
        run.stdin.flush()
        run.stdout.readline()
        time.sleep(0.1)
        run.send_signal(kill)
        run.stdin.close()
        run.stdout.read()
        run.stdout.close()
        assert run.wait(30) == code
        assert process("session", "run", "--resume", f"s{number}", "two").returncode == 0
        path = log_of(isolated, f"s{number}")
        assert path is not None
        assert read_transcript(path).findings == []


def test_an_interrupt_at_any_moment_ends_a_run_at_once(isolated: Path) -> None:
    moments = random.Random(3)
    for number in range(16):
        words = ["--driver", "fake", "--session-id", f"s{number}"]
        run = subprocess.Popen([*RUN, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert run.stdin is not None
        assert run.stdout is not None
        run.stdin.write(b"one\n" * 2000)
        run.stdin.flush()
        run.stdout.readline()
        reader = threading.Thread(target=run.stdout.read)
        reader.start()
        time.sleep(moments.random() * 0.2)
        run.send_signal(signal.SIGINT)
        assert run.wait(30) == 130
        reader.join()
        run.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            run.stdin.close()
        path = log_of(isolated, f"s{number}")
        read = read_transcript(path) if path is not None else None
        assert read is None or (read.findings, read.closers()) == ([], [])
