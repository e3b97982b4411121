"""The conversation, in process on a piped keyboard."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from dshloop.drivers import fake
from dshloop.drivers.fake import FAKE_REPLY
from dshloop.errors import LoopSwitchError
from tests.cli.repl.talking import Watched, talk
from tests.host.scripted import Scripted, finish, text
from tests.running import dshloop


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
    greeting = f"resumed session {first.id} · 1 turn · standard on fake-driver · preset standard"
    assert out.startswith(f"{greeting} · /help\n")
    with pytest.raises(LoopSwitchError):
        talk("", resume=first.id, driver="ping")


def test_lines_are_kept_in_a_private_history(isolated: Path) -> None:
    talk("remember me\r\x04")
    (history,) = (isolated / "data" / "typed").iterdir()
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
    assert kinds == ["command/run", *named[2:], "command/done"]
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
