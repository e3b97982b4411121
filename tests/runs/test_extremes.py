"""Sessions when things go wrong around them: two at once, full disks, odd clocks, odd sizes."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from dshloop.sessions.fsck import check_log
from dshloop.sessions.log import SessionLog
from dshloop.transcripts.dsh import read_transcript
from tests.running import Ran, dshloop
from tests.sessions.logs import conversation
from tests.transcripts.logs import HEADER, event, line

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")


def stored(home: Path, name: str, events: Sequence[dict], parts: bytes = b"") -> Path:
    folder = home / "data" / "sessions" / "--home-dev--" / name
    folder.mkdir(parents=True)
    path = folder / "session.jsonl"
    path.write_bytes(b"".join([line({**HEADER, "id": name}), *map(line, events)]) + parts)
    return path


def with_room(size: int, *words: str, stdin: str = "") -> Ran:
    """Run a command in a process that can make no file longer than ``size``."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    done = subprocess.run(
        [sys.executable, "-m", "dshloop", *words],
        preexec_fn=limit,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def test_of_two_processes_one_works_and_the_other_is_told_who(isolated: Path) -> None:
    run = ("session", "run", "--driver", "fake")
    assert dshloop(*run, "--session-id", "s", "one").code == 0
    words = [sys.executable, "-m", "dshloop", "session", "run", "--json", "--resume", "s"]
    first = subprocess.Popen(
        [*words, "--input-format", "lines"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with first:
        assert first.stdin is not None
        assert first.stdout is not None
        first.stdin.write(b"two\n")
        first.stdin.flush()
        first.stdout.readline()
        for verb in (("run", "--resume", "s", "three"), ("rename", "s", "x"), ("delete", "s")):
            second = dshloop("session", *verb, "--json")
            assert (second.code, second.error["code"]) == (4, "LOCK_HELD")
            assert second.error["details"]["pid"] == first.pid
            assert "session run" in second.error["message"]
        assert dshloop("session", "show", "s").code == 0
        assert dshloop("session", "fork", "s").code == 0
        first.send_signal(signal.SIGKILL)
        first.wait(30)
    assert dshloop("session", "run", "--resume", "s", "three").code == 0
    assert dshloop("session", "fsck", "s").code == 0


def test_a_full_disk_costs_no_event_that_was_acknowledged(isolated: Path) -> None:
    words = ("session", "run", "--driver", "fake", "--session-id", "s", "--json")
    ran = with_room(40_000, *words, "--input-format", "lines", stdin="hello\n" * 50)
    assert ran.code == 1
    assert json.loads(ran.err.splitlines()[-1])["error"]["code"] == "WRITE_FAILED"
    said = [json.loads(each) for each in ran.out.splitlines()]
    (path,) = (isolated / "data" / "sessions").glob("*/s/session.jsonl")
    read = read_transcript(path)
    for record in said:
        if record["type"] == "event":
            assert read.events[record["event"]["seq"]] == record["event"]
    assert dshloop("session", "run", "--resume", "s", "go on").code == 0
    assert check_log(path, stored=True).findings == []


def test_a_full_disk_leaves_no_half_file(isolated: Path, tmp_path: Path) -> None:
    path = stored(isolated, "s", conversation(20))
    before = path.read_bytes()
    for words in (
        ("fork", "s", "--session-id", "t"),
        ("repair", "s", "--out", str(tmp_path / "r.jsonl")),
        ("export", "s", "--format", "html", "--out", str(tmp_path / "e.html")),
    ):
        ran = with_room(4000, "session", *words, "--json")
        assert ran.code == 1
        assert json.loads(ran.err)["error"]["code"] == "WRITE_FAILED"
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == []
    assert dshloop("session", "show", "t").code == 3


def test_a_read_only_folder_is_a_clear_error_and_reading_works(isolated: Path) -> None:
    path = stored(isolated, "s", conversation(1))
    path.parent.chmod(0o500)
    path.chmod(0o400)
    if os.access(path, os.W_OK):
        pytest.skip("root may write anywhere")
    ran = dshloop("session", "rename", "s", "x", "--json")
    assert (ran.code, ran.error["code"]) == (1, "WRITE_FAILED")
    for verb in (("show", "s"), ("fsck", "s"), ("export", "s"), ("tail", "s"), ("search", "hi")):
        assert dshloop("session", *verb).code == 0
    path.parent.chmod(0o700)


def test_a_clock_that_goes_back_changes_only_times(tmp_path: Path) -> None:
    times = iter(range(2_000_000_000, 0, -1000))
    log = SessionLog.create(
        tmp_path, "s", cwd="/home/dev", clock=lambda: float(next(times)), command="test"
    )
    for number in range(1, 5):
        log.append("turn/start", {"turn": number})
        log.append("turn/end", {"turn": number, "reason": {"kind": "completed"}})
    log.close()
    checked = check_log(log.path)
    assert (checked.findings, checked.events) == ([], 8)
    moments = [each["time"] for each in read_transcript(log.path).events]
    assert moments == sorted(moments, reverse=True)


@pytest.mark.slow
def test_one_event_of_64_megabytes(isolated: Path, tmp_path: Path) -> None:
    text = "0123456789abcdef" * (4 << 20)
    log = SessionLog.create(
        isolated / "data" / "sessions", "s", cwd="/x", clock=lambda: 5.0, command="test"
    )
    log.append("turn/start", {"turn": 1})
    source = {"kind": "user"}
    content = [{"type": "text", "text": text}]
    log.append("user/message", {"role": "user", "content": content, "source": source})
    log.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    log.close()
    assert dshloop("session", "fsck", "s").code == 0
    (row,) = dshloop("session", "list", "--all", "--json").json
    assert (row["turns"], row["fault"]) == (1, None)
    out = tmp_path / "it.jsonl"
    assert dshloop("session", "export", "s", "--format", "jsonl", "--out", str(out)).code == 0
    assert out.stat().st_size == log.path.stat().st_size
    assert dshloop("session", "search", "nothing", "--json").json == []
    assert dshloop("session", "fork", "s").code == 0


@pytest.mark.slow
def test_a_hundred_thousand_tiny_events(isolated: Path, tmp_path: Path) -> None:
    place = {"turn": 1, "step": 1}
    chunk = {"type": "text-delta", "index": 0, "text": "x"}
    events = [event("turn/start", 0, {"turn": 1}), event("step/start", 1, place)]
    events += [
        event("assistant/chunk", seq, {**place, "chunk": chunk}) for seq in range(2, 100_000)
    ]
    path = stored(isolated, "s", events, b'{"torn')
    checked = dshloop("session", "fsck", "s", "--json").json
    assert (checked["events"], checked["counts"]) == (100_000, {"TORN_TAIL": 1})
    out = str(tmp_path / "r.jsonl")
    assert dshloop("session", "repair", "s", "--out", out, "--json").json["events"] == 100_000
    assert dshloop("session", "rename", "s", "long one").code == 0
    assert check_log(path, stored=True).findings == []
    (row,) = dshloop("session", "list", "--all", "--json").json
    assert (row["title"], row["state"]) == ("long one", "interrupted")
    exported = tmp_path / "v4.jsonl"
    assert dshloop("session", "export", "s", "--to", "dsh", "--out", str(exported)).code == 0
    attempt = next(e for e in read_transcript(exported).events if e["type"] == "assistant/attempt")
    assert len(attempt["data"]["stream"]) == 99_998
