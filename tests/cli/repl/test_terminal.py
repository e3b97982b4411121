"""The conversation in a real terminal."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dshloop.drivers.fake import FAKE_REPLY
from tests.running import dshloop
from tests.tmux import Screen, terminal

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no tmux"),
]

_NAMES = ("HOME", "DSH_HOME", "DSHLOOP_DATA", "DSHLOOP_CONFIG")


@contextmanager
def conversation(
    cwd: Path,
    *words: str,
    script: str | None = None,
    variables: Mapping[str, str] | None = None,
    columns: int = 100,
    term: str = "",
) -> Iterator[Screen]:
    """Hold a conversation in a terminal, up to its first prompt and for the block."""
    driver = ["--driver", "fake"]
    if script is not None:
        path = cwd / "script.yml"
        path.write_text(script, encoding="utf-8")
        driver = ["--script", str(path)]
    run = [sys.executable, "-m", "dshloop", "session", "run", *driver, *words]
    named_term = f"TERM={term}; " if term else ""
    shell = ["sh", "-c", f'trap : INT; {named_term}"$@"; echo "left with $?"; sleep 60', "sh", *run]
    named = {name: os.environ[name] for name in _NAMES} | dict(variables or {})
    with terminal(shell, cwd=cwd, variables=named, columns=columns) as screen:
        screen.wait("/help")
        yield screen


def say(screen: Screen, text: str) -> None:
    screen.type(text)
    screen.press("Enter")


def stored() -> Any:
    (row,) = dshloop("session", "list", "--all", "--json").json
    return dshloop("session", "show", row["id"], "--json").json


def said() -> list[str]:
    messages = (one["data"] for one in stored()["events"] if one["type"] == "user/message")
    return [one["content"][0]["text"] for one in messages if one["source"]["kind"] == "user"]


def program_of(screen: Screen) -> int:
    """Find the process that holds the conversation: the child of the shell in the terminal."""
    if not Path("/proc").is_dir():
        pytest.skip("finding the process of a terminal needs /proc")
    shell = int(screen.call("display-message", "-p", "-t", "0", "#{pane_pid}"))
    children = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
    return int(children[0])


def test_lines_are_answered_and_the_status_is_below(tmp_path: Path) -> None:
    with conversation(tmp_path) as screen:
        screen.wait("standard on fake-driver · driver-ping/fake · no tokens yet")
        say(screen, "hello")
        screen.wait(FAKE_REPLY)
        screen.wait("· context ")
        screen.type("not this")
        screen.press("C-c")
        say(screen, "once more")
        screen.wait(lambda shown: shown.count(FAKE_REPLY) == 2)
        screen.wait(lambda shown: shown.rstrip().endswith("preset standard"))
        screen.press("C-d")
        shown = screen.wait("left with 0")
    assert said() == ["hello", "once more"]
    assert f"session {stored()['id']}" in shown.split(FAKE_REPLY)[-1]


def test_several_lines_pastes_completion_and_search(tmp_path: Path) -> None:
    with conversation(tmp_path) as screen:
        screen.type("one")
        screen.press("M-Enter")
        say(screen, "two\\")
        say(screen, "three")
        screen.wait(FAKE_REPLY)
        screen.call("set-buffer", "pasted one\npasted two\n/exit\n")
        screen.call("paste-buffer", "-p", "-t", "0")
        screen.wait("pasted two")
        screen.press("Enter")
        screen.wait(lambda shown: shown.count(FAKE_REPLY) == 2)
        screen.type("/hel")
        screen.wait("show this")
        screen.press("Tab")
        screen.wait("> /help")
        screen.press("Enter")
        screen.wait("go through what was said in this project")
        screen.press("C-r")
        screen.type("three")
        screen.wait("I-search backward: three")
        screen.press("Enter", "Enter")
        screen.wait(lambda shown: shown.count(FAKE_REPLY) == 3)
        screen.wait(lambda shown: shown.rstrip().endswith("preset standard"))
        screen.press("C-d")
        screen.wait("left with 0")
    assert said() == ["one\ntwo\nthree", "pasted one\npasted two\n/exit\n", "one\ntwo\nthree"]


SLOW = """\
turns:
  - {reasoning: "Let me see what this is about before I say anything.", pace: 0.1, text: Well.}
  - {text: "A long answer that goes on and on.", pace: 0.2}
  - {delay: 30, text: Never.}
"""
ANSWERING = """\
turns:
  - {text: "A long answer that goes on and on.", pace: 0.2}
  - {delay: 30, text: Never.}
"""


def test_thinking_spins_and_what_is_typed_meanwhile_waits(tmp_path: Path) -> None:
    with conversation(tmp_path, script=SLOW) as screen:
        say(screen, "hello")
        screen.wait("thinking: Let me")
        say(screen, "typed meanwhile")
        shown = screen.wait("· thought: Let me see what this is about")
        assert "typed meanwhile" not in shown
        screen.wait("> typed meanwhile")
        screen.press("C-o")
        screen.wait("A long answer that goes on and on.")
        screen.wait(lambda shown: shown.rstrip().endswith("preset standard"))
        screen.press("C-o")
        say(screen, "/show 1")
        screen.wait("before I say anything.")
    assert said() == ["hello", "typed meanwhile"]


def test_ctrl_c_keeps_the_text_and_twice_leaves(tmp_path: Path) -> None:
    with conversation(tmp_path, script=ANSWERING) as screen:
        say(screen, "hello")
        screen.wait("A long")
        screen.press("C-c")
        screen.wait("[aborted]")
        screen.wait(lambda shown: shown.rstrip().endswith("preset standard"))
        time.sleep(1.2)  # a person who doesn't mean to leave
        say(screen, "again")
        screen.wait("waiting for fake 1 s")
        screen.press("C-c")
        time.sleep(0.2)  # two signals that a busy process has not seen yet are one
        screen.press("C-c")
        screen.wait("left with 130")
    shown = stored()
    assert not shown["open"]
    ends = [one["data"]["reason"]["kind"] for one in shown["events"] if one["type"] == "turn/end"]
    assert ends == ["aborted", "aborted"]
    answers = [one["data"] for one in shown["events"] if one["type"] == "assistant/message"]
    assert answers[0]["interrupted"] is True
    assert answers[0]["message"]["content"][0]["text"].startswith("A long")


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_drains_the_turn(tmp_path: Path, name: str, code: int) -> None:
    with conversation(tmp_path, script=ANSWERING) as screen:
        say(screen, "hello")
        screen.wait("A long")
        os.kill(program_of(screen), getattr(signal, name))
        shown = screen.wait(f"left with {code}")
    assert "session 01" in shown.split("A long")[-1]
    (end,) = (one["data"] for one in stored()["events"] if one["type"] == "turn/end")
    assert end["reason"]["kind"] == "aborted"
    assert not stored()["open"]


def test_a_terminal_that_is_closed_loses_no_word(tmp_path: Path) -> None:
    with conversation(tmp_path, script=ANSWERING) as screen:
        say(screen, "hello")
        screen.wait("A long")
        process = program_of(screen)
    deadline = time.monotonic() + 20
    while Path(f"/proc/{process}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    shown = stored()
    assert not shown["open"]
    answers = [one["data"] for one in shown["events"] if one["type"] == "assistant/message"]
    assert answers[0]["message"]["content"][0]["text"].startswith("A long")


ASKING = """\
turns:
  - steps:
      - {delay: 1, calls: [{name: shell, arguments: {command: echo made > made.txt}}]}
      - Over.
  - Next.
"""


def test_a_question_is_asked_and_typed_ahead_answers_nothing(tmp_path: Path) -> None:
    with conversation(tmp_path, script=ASKING) as screen:
        say(screen, "go")
        screen.wait("waiting")
        say(screen, "y")  # before anything is asked
        screen.wait("[y/N]")
        time.sleep(0.3)
        assert not (tmp_path / "made.txt").exists()
        say(screen, "y")
        screen.wait("Over.")
        assert (tmp_path / "made.txt").exists()
        screen.wait("> y\n")
        say(screen, "es")
        screen.wait("Next.")
    assert said() == ["go", "yes"]


def test_ctrl_c_at_a_question_swallows_no_line(tmp_path: Path) -> None:
    with conversation(tmp_path, script=ASKING) as screen:
        say(screen, "go")
        screen.wait("[y/N]")
        screen.press("C-c")
        screen.wait("[aborted]")
        screen.wait(lambda shown: shown.rstrip().endswith("preset standard"))
        say(screen, "a whole line")
        screen.wait("Over.")
    assert said() == ["go", "a whole line"]
    assert not (tmp_path / "made.txt").exists()


def test_a_terminal_may_change_its_size(tmp_path: Path) -> None:
    script = SLOW.replace("pace: 0.2", "delay: 2")
    with conversation(tmp_path, script=script, columns=120) as screen:
        screen.call("resize-window", "-t", "0", "-x", "40", "-y", "12")
        screen.wait("standard on fake-driver · driver-ping/f…")
        say(screen, "hello")
        screen.wait("Well.")
        screen.wait(lambda shown: shown.rstrip().endswith("…"))
        say(screen, "more")
        screen.wait("waiting")
        screen.call("resize-window", "-t", "0", "-x", "90", "-y", "20")
        shown = screen.wait("A long answer that goes on and on.")
        screen.wait(lambda shown: shown.rstrip().endswith("preset standard"))
    assert shown.count("waiting") <= 1


def test_the_editor_writes_what_is_said(tmp_path: Path) -> None:
    editor = tmp_path / "editor.py"
    editor.write_text("import sys; open(sys.argv[1], 'a').write(' in the editor\\nand more')")
    named = {"EDITOR": f"{sys.executable} {editor}"}
    with conversation(tmp_path, variables=named) as screen:
        say(screen, "/edit written")
        screen.wait(FAKE_REPLY)
        screen.wait(lambda shown: shown.rstrip().endswith("preset standard"))
        screen.type("typed")
        screen.press("C-x", "C-e")
        screen.wait(lambda shown: shown.count(FAKE_REPLY) == 2)
    assert said() == ["written in the editor\nand more", "typed in the editor\nand more"]


# --- what an editor and a shell do with the terminal ---------------------------------------------


@contextmanager
def editing(cwd: Path, how: str) -> Iterator[Screen]:
    """Begin to edit a text, by the command or by the keys, in an editor that takes its time."""
    editor = cwd / "my editor.sh"
    editor.write_text(
        '#!/bin/sh\ntrap "echo held on" INT\necho editing\n'
        f'while [ ! -e "{cwd}/done" ]; do sleep 0.1; done\necho ", edited" >> "$1"\n'
    )
    editor.chmod(0o755)
    with conversation(cwd, variables={"EDITOR": f"'{editor}'"}) as screen:
        if how == "/edit":
            say(screen, "/edit words")
        else:
            screen.type("words")
            screen.press("C-x", "C-e")
        screen.wait("editing\n")
        yield screen


@pytest.mark.parametrize("how", ["/edit", "keys"])
def test_ctrl_c_is_the_editors(tmp_path: Path, how: str) -> None:
    with editing(tmp_path, how) as screen:
        screen.press("C-c")
        screen.wait("held on")
        screen.press("C-c")
        screen.wait(lambda shown: shown.count("held on") == 2)
        (tmp_path / "done").touch()
        screen.wait(FAKE_REPLY)
    assert said() == ["words, edited"]


@pytest.mark.parametrize("how", ["/edit", "keys"])
def test_a_signal_ends_the_editor_and_keeps_the_text(tmp_path: Path, how: str) -> None:
    with editing(tmp_path, how) as screen:
        os.kill(program_of(screen), signal.SIGTERM)
        screen.wait("left with 143", seconds=4)
    with conversation(tmp_path) as screen:
        screen.press("Up")
        screen.wait("> words")


@contextmanager
def in_a_shell(cwd: Path, script: str) -> Iterator[Screen]:
    """Hold a conversation within a shell that has job control."""
    (cwd / "script.yml").write_text(script, encoding="utf-8")
    named = {name: os.environ[name] for name in _NAMES} | {"PS1": "shell% "}
    shell = ["bash", "--norc", "--noprofile"]
    with terminal(shell, cwd=cwd, variables=named) as screen:
        screen.wait("shell%")
        say(screen, f"{sys.executable} -m dshloop session run --script script.yml")
        screen.wait("/help")
        yield screen


def test_ctrl_z_at_the_prompt_gives_the_shell(tmp_path: Path) -> None:
    with in_a_shell(tmp_path, "turns: [Well.]") as screen:
        screen.type("half a line")
        screen.wait("> half a line")
        screen.press("C-z")
        screen.wait("Stopped")
        say(screen, "fg")
        screen.wait("> half a line")
        say(screen, " and more")
        screen.wait("Well.")
    assert said() == ["half a line and more"]


def test_ctrl_z_in_an_answer_gives_the_shell_and_fg_shows_no_typed_key(tmp_path: Path) -> None:
    with in_a_shell(tmp_path, ANSWERING.replace("pace: 0.2", "pace: 0.4")) as screen:
        say(screen, "hello")
        screen.wait("A long")
        screen.press("C-z")
        screen.wait("Stopped")
        say(screen, "fg")
        screen.wait("answer that")
        screen.type("typed meanwhile")
        shown = screen.wait("on and on.")
        assert "typed" not in shown
        screen.wait("> typed meanwhile")


# --- what is typed while an answer comes ---------------------------------------------------------


def paste(screen: Screen, file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    screen.call("load-buffer", str(file))
    screen.call("paste-buffer", "-p", "-t", "0")


def test_a_long_paste_in_an_answer_is_one_text_and_whole(tmp_path: Path) -> None:
    long = "x" * 9000  # a terminal's own line has 4095 at most
    with conversation(tmp_path, script=SLOW) as screen:
        say(screen, "hello")
        screen.wait("thinking: Let me")
        paste(screen, tmp_path / "pasted.txt", f"first\n{long}\nlast")
        screen.wait("Well.")
        screen.wait("last\n")
        screen.press("Enter")
        screen.wait("A long answer that goes on and on.")
    assert said() == ["hello", f"first\n{long}\nlast"]


def test_what_reorders_a_line_is_shown_and_said(tmp_path: Path) -> None:
    text = "a\u202eb\u2066c\u200fd"
    with conversation(tmp_path) as screen:
        paste(screen, tmp_path / "pasted.txt", text)
        screen.wait("> a\\u202eb\\u2066c\\u200fd")
        screen.press("Enter")
        screen.wait(FAKE_REPLY)
    assert said() == [text]


def test_keys_in_an_answer_do_what_they_do_at_the_prompt(tmp_path: Path) -> None:
    with conversation(tmp_path, script=SLOW) as screen:
        say(screen, "hello")
        screen.wait("thinking: Let me")
        screen.type("twi")
        screen.press("BSpace", "BSpace", "M-Enter")
        say(screen, "lines")
        screen.press("C-d")
        shown = screen.wait("left with 0")
    assert "A long answer that goes on and on." in shown
    assert said() == ["hello", "t\nlines"]


COMPACTED = "turns: [One., Two., {delay: 2, text: A summary.}, Three.]"


def test_what_is_typed_in_a_compaction_waits_too(tmp_path: Path) -> None:
    with conversation(tmp_path, script=COMPACTED) as screen:
        say(screen, "hello")
        screen.wait("One.")
        say(screen, "again")
        screen.wait("Two.")
        screen.wait(lambda shown: shown.rstrip().endswith("preset standard"))
        say(screen, "/compact")
        screen.wait(" waiting")
        screen.press("C-d")
        shown = screen.wait("left with 0")
    assert "became a summary" in shown


def test_a_terminal_that_is_closed_keeps_the_line_that_was_not_sent(tmp_path: Path) -> None:
    with conversation(tmp_path) as screen:
        screen.type("not sent yet")
        screen.wait("> not sent yet")
        process = program_of(screen)
        screen.call("new-window", "-d", "sleep 60")  # so that the server stays
        screen.call("kill-pane", "-t", ":0.0")
        time.sleep(1)
    deadline = time.monotonic() + 20
    while Path(f"/proc/{process}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    with conversation(tmp_path) as screen:
        screen.press("Up")
        screen.wait("> not sent yet")


def test_a_dumb_terminal_gets_no_escape_sequence(tmp_path: Path) -> None:
    with conversation(tmp_path, term="dumb") as screen:
        screen.call("pipe-pane", "-t", "0", f"cat > {tmp_path}/written")
        say(screen, "hello")
        screen.wait(lambda shown: shown.count("> ") == 2)
        os.kill(program_of(screen), signal.SIGTERM)
        screen.wait("left with 143", seconds=4)
    written = (tmp_path / "written").read_text(encoding="utf-8")
    assert FAKE_REPLY in written
    assert "\x1b" not in written
