"""The conversation, in process on a piped keyboard and in a real terminal."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from dshloop.cli.invocation import Invocation
from dshloop.cli.repl import converse
from dshloop.cli.repl.commands import action_of, said
from dshloop.cli.repl.talk import Left
from dshloop.drivers import fake
from dshloop.drivers.fake import FAKE_REPLY
from dshloop.environment import Environment
from dshloop.errors import LoopSwitchError
from dshloop.runs.conversation import RunOptions
from tests.host.scripted import Scripted, finish, text
from tests.running import dshloop
from tests.tmux import terminal


class Watched(io.StringIO):
    """An output that calls a function when a text has been written to it."""

    def __init__(self, wanted: str = "", act: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.wanted, self.act = wanted, act

    def write(self, text: str) -> int:
        count = super().write(text)
        if self.wanted and self.wanted in self.getvalue():
            self.wanted = ""
            self.act()
        return count


def talk(keys: str, out: io.StringIO | None = None, **more: str) -> tuple[Left, str]:
    out = out or io.StringIO()
    env = Environment(io.StringIO(), out, io.StringIO(), os.environ, Path("/home/dev"))
    options = RunOptions(Path("/home/dev"), "test", **{"driver": "fake", **more})
    with create_pipe_input() as piped:
        piped.send_text(keys)
        left = converse(Invocation(env), options, keys=piped, screen=DummyOutput())
    return left, out.getvalue()


def test_lines_are_answered_until_ctrl_d() -> None:
    left, out = talk("hello\ragain\r\x04")
    assert left.turns == 2
    assert out.count(FAKE_REPLY + "\n") == 2
    assert left.id in out
    shown = dshloop("session", "show", left.id, "--json").json
    assert shown["counts"]["turns"] == 2


def test_leaving_at_once_leaves_no_session() -> None:
    left, _ = talk("/exit\r")
    assert left.turns == 0
    assert dshloop("session", "list", "--all", "--json").json == []


def test_help_and_unknown_commands_are_answered_here() -> None:
    left, out = talk("/help\r/nonsense\r\r//slash\r\x04")
    assert "/exit" in out
    assert "there is no command /nonsense" in out
    assert left.turns == 1
    assert "you: /slash" in dshloop("session", "show", left.id).out


def test_ctrl_c_at_the_prompt_clears_the_line() -> None:
    left, _ = talk("wrong\x03right\r\x04")
    shown = dshloop("session", "show", left.id).out
    assert "you: right" in shown
    assert "wrong" not in shown


def test_a_session_is_resumed_and_another_driver_refused() -> None:
    first, _ = talk("one\r\x04")
    second, out = talk("two\r\x04", resume=first.id)
    assert second.id == first.id
    assert out.startswith("resumed session")
    with pytest.raises(LoopSwitchError):
        talk("", resume=first.id, driver="ping")


def test_lines_are_kept_in_a_private_history(isolated: Path) -> None:
    talk("remember me\r\x04")
    history = isolated / "data" / "history"
    assert "remember me" in history.read_text(encoding="utf-8")
    assert history.stat().st_mode & 0o077 == 0


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
def test_ctrl_c_in_an_answer_stops_it_and_keeps_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = Scripted([*text("the beginning"), 30.0, finish()], [*text("next"), finish()])
    monkeypatch.setattr(fake, "PingAdapter", lambda *_: adapter)
    before = signal.getsignal(signal.SIGINT)
    out = Watched("the beginning", lambda: _interrupt_soon())
    left, said_there = talk("one\rtwo\r\x04", out)
    assert "the beginning\n[aborted]\n" in said_there
    assert "next\n" in said_there
    assert left.turns == 2
    assert "the beginning [interrupted]" in dshloop("session", "show", left.id).out
    assert signal.getsignal(signal.SIGINT) is before


def _interrupt_soon() -> None:
    main = threading.main_thread().ident
    assert main is not None
    threading.Timer(0.1, signal.pthread_kill, (main, signal.SIGINT)).start()


def test_a_failed_answer_is_said_and_the_conversation_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failed = finish("error", failure={"message": "no key\x1b[2J", "code": "AUTH"})
    adapter = Scripted([failed], [*text("fine"), finish()])
    monkeypatch.setattr(fake, "PingAdapter", lambda *_: adapter)
    _, out = talk("one\rtwo\r\x04")
    assert "error: no key\\x1b[2J (AUTH)\nfine\n" in out


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("", "nothing"),
        ("  ", "nothing"),
        ("hi", "say"),
        ("//x", "say"),
        ("/help", "help"),
        (" /exit now", "leave"),
        ("/quit", "leave"),
        ("/helping", "unknown"),
    ],
)
def test_what_a_line_means(line: str, action: str) -> None:
    assert action_of(line) == action


def test_two_slashes_say_one() -> None:
    assert said("//etc/hosts is a file") == "/etc/hosts is a file"
    assert said("a // b") == "a // b"


@pytest.mark.slow
def test_a_conversation_in_a_real_terminal(tmp_path: Path) -> None:
    names = ("HOME", "DSH_HOME", "DSHLOOP_DATA", "DSHLOOP_CONFIG")
    variables = {name: os.environ[name] for name in names}
    command = [sys.executable, "-m", "dshloop", "session", "run", "--driver", "fake"]
    shell = ["sh", "-c", '"$@"; echo "left with $?"; sleep 60', "sh", *command]
    with terminal(shell, cwd=tmp_path, variables=variables) as screen:
        screen.wait("/help")
        screen.type("hello")
        screen.press("Enter")
        screen.wait(FAKE_REPLY)
        screen.type("not this")
        screen.press("C-c")
        screen.type("once more")
        screen.press("Enter")
        screen.wait(lambda shown: shown.count(FAKE_REPLY) == 2)
        time.sleep(0.2)
        screen.press("C-d")
        shown = screen.wait("left with 0")
    (row,) = dshloop("session", "list", "--all", "--json").json
    assert (row["turns"], row["state"]) == (2, "completed")
    assert f"session {row['id']}" in shown.split(FAKE_REPLY)[-1]


def test_compact_puts_a_summary_in_the_place_of_what_was_said() -> None:
    left, out = talk("/compact\rhello\ragain\r/compact\ronce more\r\x04", session_id="s")
    assert left.turns == 3
    assert "[there is nothing to compact yet]" in out
    assert "messages, about" in out
    assert dshloop("session", "fsck", "s").code == 0
    (log,) = Path(os.environ["DSHLOOP_DATA"]).rglob("session.jsonl")
    events = [json.loads(line) for line in log.read_text().splitlines()[1:]]
    named = ("command/run", "command/done", "compaction/start", "compaction/summary")
    kinds = [event["type"] for event in events if event["type"] in named]
    assert kinds == ["command/run", "command/done", "command/run", *named[2:], "command/done"]
    runs = [event["data"]["commandId"] for event in events if event["type"] == "command/run"]
    (end,) = (event["data"] for event in events if event["type"] == "compaction/end")
    assert (end["turn"], end["sourceCommandId"]) == (None, runs[-1])


def test_a_compaction_that_fails_is_told_and_the_conversation_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    adapter = Scripted([*text("One."), finish()], [*text("cut"), finish("max-tokens")])
    monkeypatch.setattr(fake, "PingAdapter", lambda *_: adapter)
    left, out = talk("hello\ragain\r/compact\r\x04", session_id="s")
    assert left.turns == 2
    assert "error: the history stays as it is: the summary was cut (COMPACTION_FAILED)" in out
    assert len(adapter.requests) == 3
