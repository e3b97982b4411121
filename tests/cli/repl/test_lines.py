"""The keyboard: several lines, pastes, history and its search, leaving."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory

from dshloop.cli.repl import ending, past
from dshloop.cli.repl.keys import goes_on
from dshloop.cli.repl.past import history_of
from dshloop.cli.repl.talk import Left
from dshloop.drivers import fake
from dshloop.errors import ExitCode
from dshloop.paths import Places
from tests.cli.repl.talking import Watched, talk
from tests.host.scripted import Scripted, finish, text
from tests.running import dshloop


def said(keys: str, **more: Any) -> list[str]:
    """Give what a person said by these keys, turn for turn."""
    left, _ = talk(keys, **more)
    events = dshloop("session", "show", left.id, "--json").json["events"]
    messages = (event["data"] for event in events if event["type"] == "user/message")
    return [one["content"][0]["text"] for one in messages if one["source"]["kind"] == "user"]


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("one\\\rtwo\\\rthree\r", "one\ntwo\nthree"),
        ("one\x1b\rtwo\r", "one\ntwo"),
        ("C:\\\\\r", "C:\\\\"),
        ("a\\b\r", "a\\b"),
        ("\x1b[200~one\n  two\r\n/three\\\n\x1b[201~\r", "one\n  two\n/three\\\n"),
        ("one\\\r  two\r", "one\n  two"),
        ("日本語\\\r語\r", "日本語\n語"),
    ],
)
def test_a_text_may_have_several_lines(keys: str, text: str) -> None:
    assert said(f"{keys}\x04") == [text]


def test_a_backslash_within_a_line_or_a_doubled_one_is_meant() -> None:
    assert goes_on(Document("a\\", 2))
    assert goes_on(Document("a\\\\\\", 4))
    assert not goes_on(Document("a\\\\", 3))
    assert not goes_on(Document("a\\b", 2))
    assert goes_on(Document("a\\\nb", 2))
    assert not goes_on(Document("", 0))


# --- history -------------------------------------------------------------------------------------


def test_what_was_said_comes_back_in_the_same_project_only(tmp_path: Path) -> None:
    project, other = tmp_path / "project", tmp_path / "other"
    for folder in (project / ".git", project / "src", other):
        folder.mkdir(parents=True)
    up = "\x1b[A"
    assert said("remember\r\x04", cwd=project) == ["remember"]
    assert said(f"{up}\r\x04", cwd=project / "src") == ["remember"]
    assert said(f"{up}\rnew\r\x04", cwd=other) == ["new"]


def test_the_history_is_searched() -> None:
    talk("deploy the harbour\rpaint the fence\r/exit\r")
    assert said("\x12harb\r\r\x04") == ["deploy the harbour"]
    assert said("\x12fence\r\x05!\r\x04") == ["paint the fence!"]


def test_a_history_that_grew_large_keeps_its_newer_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")
    history = history_of(places, tmp_path)
    for number in range(100):
        history.append_string(f"line {number}\nand more")
    monkeypatch.setattr(past, "_LARGEST", 2000)
    kept = list(history_of(places, tmp_path).load_history_strings())
    assert kept[0] == "line 99\nand more"
    assert 5 < len(kept) < 50
    assert all(text.startswith("line ") and text.endswith("more") for text in kept)
    (file,) = (tmp_path / "data" / "typed").iterdir()
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("damaged", [False, True])
def test_a_history_that_fails_is_told_and_keeps_nobody_from_talking(
    isolated: Path, tmp_path: Path, damaged: bool
) -> None:
    typed = isolated / "data" / "typed"
    if damaged:  # a folder in the place of the file
        history_of(Places(tmp_path, isolated / "data", tmp_path), tmp_path)
        (file,) = typed.iterdir()
        file.unlink()
        file.mkdir()
    else:
        typed.parent.mkdir()
        typed.touch()
    left, out = talk("hello\r\x1b[A\x1b[A!\r\x04", cwd=tmp_path)
    assert out.count("what you type is remembered for this conversation only: ") == 1
    assert str(typed) in out
    assert left.turns == 2
    assert "you: hello!" in dshloop("session", "show", left.id).out


def test_a_full_disk_ends_no_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_self: FileHistory, _text: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(FileHistory, "store_string", full)
    left, out = talk("hello\r\x1b[A\r\x04", cwd=tmp_path)
    assert left.turns == 2
    assert "for this conversation only: " in out
    assert "no space is left on the disk" in out


# --- leaving -------------------------------------------------------------------------------------


def test_ctrl_c_twice_leaves_and_once_only_says_so() -> None:
    left, out = talk("\x03\x03")
    assert left == Left(left.id, 0, ExitCode.INTERRUPTED)
    assert "[once more leaves, and so does Ctrl-D]" in out
    left, out = talk("a line\x03\x04")
    assert left.exit_code == ExitCode.DONE
    assert "once more" not in out


def test_ctrl_c_twice_with_time_between_clears_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "_TWICE", -1.0)
    left, _ = talk("one\x03two\x03three\r\x04")
    assert (left.turns, left.exit_code) == (1, ExitCode.DONE)


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
def test_ctrl_c_in_an_answer_and_at_the_prompt_behind_it_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    adapter = Scripted([*text("the beginning"), 30.0, finish()])
    monkeypatch.setattr(fake, "PingAdapter", lambda *_: adapter)
    monkeypatch.setattr(ending, "_TWICE", 60.0)
    out = Watched("the beginning", _interrupt_soon)
    left, said_there = talk("one\r\x03", out)
    assert "[aborted]\n" in said_there
    assert left == Left(left.id, 1, ExitCode.INTERRUPTED)


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_that_ends_the_process_keeps_the_answer_so_far(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    adapter = Scripted([*text("the beginning"), 30.0, finish()])
    monkeypatch.setattr(fake, "PingAdapter", lambda *_: adapter)
    number = getattr(signal, name)
    before = signal.getsignal(number)
    out = Watched("the beginning", lambda: _soon(number))
    left, _ = talk("one\rnever said\r", out)
    assert left == Left(left.id, 1, ExitCode(128 + number))
    shown = dshloop("session", "show", left.id, "--json").json
    assert not shown["open"]
    (end,) = (e["data"] for e in shown["events"] if e["type"] == "turn/end")
    assert end["reason"] == {"kind": "aborted", "reason": {"kind": "disposed"}}
    assert "the beginning [interrupted]" in dshloop("session", "show", left.id).out
    assert signal.getsignal(number) is before


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
def test_a_signal_at_the_prompt_keeps_the_line_that_was_not_sent() -> None:
    out = Watched("/help", lambda: threading.Timer(0.7, _soon, (signal.SIGHUP,)).start())
    left, _ = talk("not sent yet", out)
    assert left == Left(left.id, 0, ExitCode.HUNG_UP)
    assert said("\x1b[A\r\x04") == ["not sent yet"]


def _interrupt_soon() -> None:
    _soon(signal.SIGINT)


def _soon(number: int) -> None:
    threading.Timer(0.1, os.kill, (os.getpid(), number)).start()
