"""`dshloop session tail` on the command line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dshloop.sessions.log import SessionLog
from dshloop.sessions.naming import LOCK_NAME
from tests.running import dshloop
from tests.sessions.logs import conversation
from tests.transcripts.logs import turn, write


def start(*words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "dshloop", "session", "tail", *words]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )


def test_the_last_turns_are_shown(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", conversation(3))
    ran = dshloop("session", "tail", str(path))
    assert ran.code == 0
    assert "== turn 3 ==" in ran.out
    assert "== turn 2 ==" not in ran.out
    assert "== turn 2 ==" in dshloop("session", "tail", str(path), "-n", "2").out
    records = dshloop("session", "tail", str(path), "--json").lines
    assert [record["type"] for record in records[:2]] == ["session", "event"]
    assert (records[-1]["type"], records[-1]["outcome"]) == ("end", "read")
    assert dshloop("session", "tail", "nope").code == 3


def test_damage_is_told_and_hides_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", conversation(3))
    lines = path.read_bytes().split(b"\n")
    lines[2] = b"{"
    path.write_bytes(b"\n".join(lines))
    ran = dshloop("session", "tail", str(path))
    assert (ran.code, "== turn 3 ==" in ran.out) == (0, True)
    assert "warning: line 3 is no event" in ran.err
    path.with_name(LOCK_NAME).touch()  # so it is known that nobody goes on with it
    followed = dshloop("session", "tail", str(path), "--until-end", "--json").lines
    assert any("line 3 is no event" in each.get("message", "") for each in followed)


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n and more")
    for verb in (("tail",), ("tail", "-f"), ("stats",)):
        ran = dshloop("session", *verb, str(path), "--json")
        assert (ran.code, ran.error["code"]) == (4, "SESSION_UNREADABLE")


def test_the_owner_is_shown(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", turn(1, 0))
    log = SessionLog.open(path, clock=time.time, command="somebody else")
    assert "(somebody else, since" in dshloop("session", "tail", str(path)).out
    first = dshloop("session", "tail", str(path), "--json").lines[0]
    assert first["owner"]["command"] == "somebody else"
    log.close()
    assert dshloop("session", "tail", str(path), "--json").lines[0]["owner"] is None


def test_a_session_is_followed_to_the_end_of_its_turn(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", turn(1, 0))
    log = SessionLog.open(path, clock=time.time, command="test")
    run = start(str(path), "--until-end", "--json", "-n", "0")
    with run:
        assert run.stdout is not None
        assert json.loads(run.stdout.readline())["type"] == "session"
        log.append("turn/start", {"turn": 2})
        assert json.loads(run.stdout.readline())["event"]["seq"] == 5
        log.append("turn/end", {"turn": 2, "reason": {"kind": "completed"}})
        records = [json.loads(each) for each in run.stdout]
        assert [record["type"] for record in records] == ["event", "end"]
        assert run.wait(30) == 0
    log.close()


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
def test_ctrl_c_ends_the_following_with_130(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", turn(1, 0))
    run = start(str(path), "-f")
    with run:
        assert run.stdout is not None
        assert run.stderr is not None
        assert run.stdout.readline() == "== turn 1 ==\n"
        time.sleep(0.2)
        run.send_signal(signal.SIGINT)
        assert run.wait(30) == 130
        assert "Traceback" not in run.stderr.read()
