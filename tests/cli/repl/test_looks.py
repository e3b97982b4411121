"""Folded lines, recalled memory, texts from an editor, questions about calls."""

from __future__ import annotations

import os
import signal
import stat
import sys
from functools import partial
from pathlib import Path

import pytest

from dshloop.errors import ExitCode
from dshloop.runs.profile import ProfileRows
from dshloop.runs.talking.asked import asked_rows
from tests.cli.repl.talking import script, talk
from tests.running import dshloop

LOOKING = script(
    "{steps: [{reasoning: I should look first., text: One moment., "
    "calls: [{name: list, arguments: {path: .}}]}, That is all.]}",
    "Nothing to do.",
)


def test_thoughts_and_calls_are_folded_with_their_outcome(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    _, out = talk("look\r/show 2\r/show\r/show 3\r\x04", script=LOOKING, cwd=tmp_path)
    line = '· list {"path": "."} → '
    assert "· thought: I should look first. (4 words) [1]\nOne moment.\n" in out
    assert line in out
    assert "[2]\nThat is all.\n" in out
    assert out.count("[2] list") == 2
    assert '  list {\n    "path": "."\n  }\n  →\n' in out
    assert "  I should look first.\n" in out
    assert 'there is no folded line "3" (1 to 2) (USAGE)' in out


def test_ctrl_o_unfolds_the_last_turn_at_the_prompt(tmp_path: Path) -> None:
    _, out = talk("look\r\x0fmore\r\x0f\x04", script=LOOKING, cwd=tmp_path)
    assert out.count("  I should look first.\n") == 1
    assert out.count("[nothing is folded in the last turn]\n") == 1
    assert "Nothing to do.\n" in out


def test_retries_are_told() -> None:
    busy = script("{error: {message: busy, code: RATE_LIMIT, times: 1}, text: Here.}")
    _, out = talk("go\r\x04", script=busy)
    assert "[no answer (busy); it is asked for again in " in out
    assert ", try 1 of 5]\nHere.\n" in out


# --- questions -----------------------------------------------------------------------------------

SHELL = script(
    "{steps: [{calls: [{name: shell, arguments: {command: echo done > made.txt}}]}, Over.]}",
    "Next.",
)


@pytest.mark.parametrize(
    ("answer", "made"), [("y", True), ("Yes", True), ("n", False), ("", False)]
)
def test_a_call_runs_when_the_person_allows_it(tmp_path: Path, answer: str, made: bool) -> None:
    left, out = talk("go\r", script=SHELL, cwd=tmp_path, answer=f"{answer}\r\x04")
    assert (tmp_path / "made.txt").exists() is made
    assert left.turns == 1
    assert "Over.\n" in out
    events = dshloop("session", "show", left.id, "--json").json["events"]
    (decided,) = (e["data"]["outcome"] for e in events if e["type"] == "approval/decided")
    assert decided == ("allowed-once" if made else "rejected")


def test_what_was_typed_before_a_question_answers_nothing_and_is_kept(tmp_path: Path) -> None:
    left, _ = talk("go\ry\r", script=SHELL, cwd=tmp_path, answer="n\r\r\x04")
    assert not (tmp_path / "made.txt").exists()
    assert left.turns == 2
    assert "you: y" in dshloop("session", "show", left.id).out


def test_ctrl_c_at_a_question_stops_the_turn_and_swallows_no_line(tmp_path: Path) -> None:
    left, out = talk("go\r", script=SHELL, cwd=tmp_path, answer="\x03yes\r\x04")
    assert "[aborted]" in out
    assert not (tmp_path / "made.txt").exists()
    assert left.turns == 2
    assert "you: yes" in dshloop("session", "show", left.id).out
    events = dshloop("session", "show", left.id, "--json").json["events"]
    (decided,) = (e["data"]["outcome"] for e in events if e["type"] == "approval/decided")
    assert decided == "cancelled"


def test_ctrl_d_at_a_question_is_a_no(tmp_path: Path) -> None:
    left, out = talk("go\r", script=SHELL, cwd=tmp_path, answer="\x04\x04")
    assert "Over.\n" in out
    assert left.turns == 1
    assert not (tmp_path / "made.txt").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
def test_a_signal_at_a_question_ends_the_turn(tmp_path: Path) -> None:
    left, _ = talk(
        "go\r", script=SHELL, cwd=tmp_path, answer=partial(os.kill, os.getpid(), signal.SIGTERM)
    )
    assert left.exit_code == ExitCode.TERMINATED
    shown = dshloop("session", "show", left.id, "--json").json
    assert not shown["open"]
    assert not (tmp_path / "made.txt").exists()


# --- memory --------------------------------------------------------------------------------------


@pytest.fixture
def remembering() -> ProfileRows:
    return asked_rows(ProfileRows(), memory=True)


def test_memory_shows_what_was_recalled_and_why(tmp_path: Path, remembering: ProfileRows) -> None:
    told = "The harbour is painted blue, as the lighthouse keeper wished."
    assert dshloop("memory", "remember", told, cwd=tmp_path).code == 0
    keys = "What colour is the harbour?\r/memory\r\x04"
    left, out = talk(keys, cwd=tmp_path, rows=remembering)
    block = "[context added by plugin dshloop/memory recall] [1]\n  <recalled-memory"
    assert block in out
    shown = out.split("turn 1: plugin dshloop/memory recall\n")[1]
    assert f"asked in project {tmp_path.name}: What colour is the harbour?\n" in shown
    assert "words:" in shown
    assert "harbour" in shown
    assert "score:" in shown
    assert told in shown
    assert "[what fits a prompt is recalled before its turn]" in shown
    _, later = talk("/memory\r\x04", cwd=tmp_path, resume=left.id)
    assert "why: only who recalled it knows, and not any more" in later
    assert told in later


def test_what_is_undone_or_said_again_is_not_recalled(
    tmp_path: Path, remembering: ProfileRows
) -> None:
    keys = "The harbour is painted blue\r/retry\rAnd the harbour wall?\r/undo\r"
    _, out = talk(f"{keys}Which colour has the harbour?\r\x04", cwd=tmp_path, rows=remembering)
    assert "context added" not in out
    _, later = talk("Which colour has the harbour?\r\x04", cwd=tmp_path, rows=remembering)
    assert "context added by plugin dshloop/memory recall" in later


def test_memory_says_when_nothing_is_recalled_and_how_to_change_that() -> None:
    _, out = talk("hello\r/memory\r\x04")
    assert "[nothing was recalled in this session]" in out
    assert "[nothing is recalled before a turn: begin with dshloop session run --memory]" in out


# --- the editor ----------------------------------------------------------------------------------


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An editor that notes what it was given and puts ``written.txt`` in the place of it."""
    program = tmp_path / "editor"
    program.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, sys\n"
        f"here = pathlib.Path({str(tmp_path)!r})\n"
        "file = pathlib.Path(sys.argv[2])\n"
        "here.joinpath('given.txt').write_text(sys.argv[1] + ' ' + file.read_text())\n"
        "here.joinpath('place.txt').write_text(str(file))\n"
        "file.write_text(here.joinpath('written.txt').read_text())\n"
        "sys.exit(int(here.joinpath('status.txt').read_text()))\n",
        encoding="utf-8",
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "status.txt").write_text("0")
    monkeypatch.setenv("EDITOR", f"{program} --wait")
    return tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="the editor is a script with a shebang")
def test_a_text_of_the_editor_is_said_as_it_is(editor: Path) -> None:
    (editor / "written.txt").write_text("/first\nsecond\n\n", encoding="utf-8")
    left, out = talk("/edit begin with this\r\x04")
    assert (editor / "given.txt").read_text() == "--wait begin with this"
    assert not Path((editor / "place.txt").read_text()).exists()
    assert left.turns == 1
    assert "> /first\nsecond\n" in out
    assert "you: /first\nsecond\n" in dshloop("session", "show", left.id).out


@pytest.mark.skipif(sys.platform == "win32", reason="the editor is a script with a shebang")
def test_an_empty_text_or_an_editor_that_fails_says_nothing(
    editor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (editor / "written.txt").write_text(" \n")
    left, out = talk("/edit\r\x04")
    assert "[an empty text: nothing is said]" in out
    (editor / "status.txt").write_text("3")
    monkeypatch.setenv("VISUAL", os.environ["EDITOR"])
    _, failed = talk("/edit\r\x04")
    assert "ended with status 3 (EDITOR_FAILED)" in failed
    monkeypatch.setenv("VISUAL", "no-such-editor-here")
    _, missing = talk("/edit\r\x04")
    assert "no-such-editor-here could not be started" in missing
    assert left.turns == 0


@pytest.mark.skipif(sys.platform == "win32", reason="the editor is a script with a shebang")
def test_what_was_written_is_found_with_the_up_key(editor: Path) -> None:
    (editor / "written.txt").write_text("mended\n", encoding="utf-8")
    left, _ = talk("/edit words\r\x1b[A!\r\x04")
    assert "you: mended!" in dshloop("session", "show", left.id).out
    (editor / "written.txt").write_text("long thoughts\n", encoding="utf-8")
    (editor / "status.txt").write_text("1")  # as of an editor that crashed
    left, out = talk("/edit\r\x1b[A!\r\x04")
    assert "(EDITOR_FAILED)" in out
    assert "you: long thoughts!" in dshloop("session", "show", left.id).out


@pytest.mark.skipif(sys.platform == "win32", reason="the editor is a script with a shebang")
def test_ctrl_x_ctrl_e_tells_what_is_wrong_with_the_editor(
    editor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (editor / "written.txt").write_text("  mended\n", encoding="utf-8")
    left, _ = talk("some words\x18\x05\x04")
    assert (editor / "given.txt").read_text() == "--wait some words"
    assert "you:   mended" in dshloop("session", "show", left.id).out
    monkeypatch.setenv("EDITOR", "no-such-editor-here")
    left, out = talk("some words\x18\x05\x04")
    assert "no-such-editor-here could not be started" in out
    assert left.turns == 0


def test_a_call_that_fails_is_marked() -> None:
    _, out = talk("go\r\x04", script=script("{steps: [{calls: [{name: nothing}]}, Over.]}"))
    assert "✗ nothing {} → failed: " in out
