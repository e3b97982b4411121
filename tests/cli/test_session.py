"""`dshloop session run | list | show` on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dshloop.drivers.fake import FAKE_REPLY
from tests.running import dshloop, process
from tests.transcripts.logs import HEADER, turn, write


def session_id(err: str) -> str:
    return err.removeprefix("session ").strip()


def test_a_prompt_prints_the_reply_and_the_id_on_stderr() -> None:
    ran = dshloop("session", "run", "--driver", "fake", "hello")
    assert (ran.code, ran.out) == (0, FAKE_REPLY + "\n")
    assert len(session_id(ran.err)) == 36


def test_the_stream_has_a_session_events_and_an_end() -> None:
    ran = dshloop("session", "run", "--driver", "fake", "--json", "hello")
    assert (ran.code, ran.err) == (0, "")
    first, *events, last = ran.lines
    assert (first["schema"], first["seq"], first["type"]) == (1, 0, "session")
    assert [record["seq"] for record in ran.lines] == list(range(len(ran.lines)))
    assert {record["type"] for record in events} == {"event"}
    assert [record["event"]["seq"] for record in events] == list(range(len(events)))
    assert (last["type"], last["outcome"], last["id"]) == ("end", "completed", first["id"])


def test_piped_text_is_one_turn() -> None:
    ran = dshloop("session", "run", "--driver", "fake", stdin="one\ntwo\n")
    assert (ran.code, ran.out) == (0, FAKE_REPLY + "\n")
    shown = dshloop("session", "show", "last")
    assert "you: one\ntwo\n" in shown.out


def test_stdin_is_not_read_beside_a_prompt_unless_asked() -> None:
    dshloop("session", "run", "--driver", "fake", "hello", stdin="unread")
    assert "unread" not in dshloop("session", "show", "last").out
    dshloop("session", "run", "--driver", "fake", "hello", "--stdin", stdin="read")
    assert "you: hello\n\nread\n" in dshloop("session", "show", "last").out
    dshloop("session", "run", "--driver", "fake", "-", stdin="dash")
    assert "you: dash\n" in dshloop("session", "show", "last").out


@pytest.mark.parametrize("kind", ["text", "lines", "jsonl"])
def test_no_prompt_without_a_terminal_is_a_usage_error(kind: str) -> None:
    ran = dshloop("session", "run", "--driver", "fake", "--input-format", kind)
    assert (ran.code, ran.out) == (2, "")
    assert 'dshloop session run --driver fake "hello"' in ran.err


def test_each_line_is_a_turn() -> None:
    data = '"one"\n{"prompt": "two"}\n'
    ran = dshloop("session", "run", "--driver", "fake", "--input-format", "jsonl", stdin=data)
    assert (ran.code, ran.out) == (0, (FAKE_REPLY + "\n") * 2)
    assert dshloop("session", "show", "last", "--json").json["counts"]["turns"] == 2


def test_a_bad_line_is_named_and_the_turns_before_it_stay() -> None:
    command = ("session", "run", "--driver", "fake", "--input-format", "jsonl", "--json")
    ran = dshloop(*command, stdin='"one"\n{bad\n"three"\n')
    assert ran.code == 1
    assert ran.error["code"] == "PROMPT_LINE_INVALID"
    assert ran.error["details"]["line"] == 2
    shown = dshloop("session", "show", ran.error["details"]["session"], "--json")
    assert shown.json["counts"]["turns"] == 1
    assert shown.json["open"] is False


def test_a_session_is_named_resumed_and_refused_when_taken() -> None:
    run = ("session", "run", "--json")
    assert dshloop(*run, "--driver", "fake", "--session-id", "mine", "a").code == 0
    taken = dshloop(*run, "--driver", "fake", "--session-id", "mine", "b")
    assert (taken.code, taken.out, taken.error["code"]) == (4, "", "SESSION_EXISTS")
    again = dshloop(*run, "--resume", "mine", "b")
    assert again.lines[0]["id"] == "mine"
    assert again.lines[0]["resumed"] is True
    assert dshloop(*run, "--resume", "last", "c").lines[0]["id"] == "mine"
    other = dshloop(*run, "--resume", "mine", "--driver", "ping", "b")
    assert (other.code, other.out, other.error["code"]) == (4, "", "LOOP_SWITCH")
    assert other.error["details"]["stored"] == "fake-driver"
    assert dshloop("session", "show", "mine", "--json").json["counts"]["turns"] == 3


@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (["hello"], 3, "DRIVER_UNAVAILABLE"),
        (["hello", "--driver", "dsh"], 5, "ENGINE_MISSING"),
        (["hello", "--resume", "nope"], 3, "SESSION_NOT_FOUND"),
        (["hello", "--resume", "last"], 3, "SESSION_NOT_FOUND"),
        (["hello", "--driver", "fake", "--session-id", "last"], 2, "SESSION_ID_INVALID"),
        (["hello", "--driver", "fake", "--session-id", ""], 2, "SESSION_ID_INVALID"),
        (["hello", "--driver", "fake", "--session-id", "x" * 300], 2, "SESSION_ID_INVALID"),
        (["hello", "--resume", "a", "--session-id", "b"], 2, "USAGE"),
        (["hello", "--driver", "fake", "--input-format", "xml"], 2, "USAGE"),
        (["hello", "--driver", "fake", "--cwd", "nowhere"], 2, "USAGE"),
        (["", "--driver", "fake"], 2, "PROMPT_MISSING"),
    ],
)
def test_refusals_leave_nothing(words: list[str], code: int, name: str, isolated: Path) -> None:
    ran = dshloop("session", "run", "--json", *words)
    assert (ran.code, ran.out, ran.error["code"]) == (code, "", name)
    assert not (isolated / "data").exists()


def test_the_folder_of_a_session(tmp_path: Path) -> None:
    folder = tmp_path / "work here"
    folder.mkdir()
    ran = dshloop("session", "run", "--driver", "fake", "--cwd", "work here", "a", cwd=tmp_path)
    assert ran.code == 0
    assert dshloop("session", "list", "--json", cwd=tmp_path).json == []
    (row,) = dshloop("session", "list", "--json", cwd=folder).json
    assert row["cwd"] == str(folder)


def test_the_list_is_of_this_folder_newest_first_and_says_what_it_left_out(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    for name, cwd in (("one", here), ("two", here), ("three", there)):
        dshloop("session", "run", "--driver", "fake", "--session-id", name, name, cwd=cwd)
    listed = dshloop("session", "list", "--json", cwd=here)
    assert [row["id"] for row in listed.json] == ["two", "one"]
    row = listed.json[0]
    assert (row["loop"], row["driver"], row["binding"]) == ("standard", "fake-driver", "recorded")
    table = dshloop("session", "list", "--limit", "1", cwd=here)
    assert table.out.splitlines()[0].split()[:3] == ["ID", "UPDATED", "TURNS"]
    assert table.out.splitlines()[1].startswith("two ")
    assert "1 more: --limit 0" in table.err
    assert "1 more in other folders: --all" in table.err
    assert len(dshloop("session", "list", "--all", "--json", cwd=here).json) == 3


def test_an_empty_list_is_fine() -> None:
    assert dshloop("session", "list", "--json").json == []
    ran = dshloop("session", "list")
    assert (ran.code, ran.out) == (0, "")


def test_sessions_of_dsh_are_listed_and_shown_never_resumed(isolated: Path, tmp_path: Path) -> None:
    folder = isolated / "dsh" / "sessions" / "--home-dev--" / "session-abc"
    folder.mkdir(parents=True)
    path = write(folder / "session.jsonl", turn(1, 0, "hi"), {**HEADER, "id": "session-abc"})
    (row,) = dshloop("session", "list", "--all", "--json").json
    assert (row["home"], row["binding"]) == ("dsh", "inferred")
    assert "you: hi" in dshloop("session", "show", "abc").out
    assert dshloop("session", "show", str(path), "--json").json["id"] == "session-abc"
    ran = dshloop("session", "run", "--resume", "abc", "--driver", "fake", "x", "--json")
    assert (ran.code, ran.error["code"]) == (4, "SESSION_READ_ONLY")


def test_stored_control_characters_never_reach_the_terminal(tmp_path: Path) -> None:
    evil = "a\x1b]0;owned\x07b\x9b31mc\u202ed\re"
    header = {**HEADER, "id": "bad\x1b[2J"}
    path = write(tmp_path / "session.jsonl", turn(1, 0, evil), header)
    out = dshloop("session", "show", str(path)).out
    assert not set(out) & set("\x1b\x07\x9b\u202e\r")
    assert "a\\x1b]0;owned\\x07b" in out
    dshloop("session", "run", "--driver", "fake", evil)
    listed = dshloop("session", "list").out
    assert not set(listed) & set("\x1b\x07\x9b\u202e\r")


def test_a_damaged_session_is_shown_with_a_warning_and_exit_0(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", [*turn(1, 0, "before"), *turn(2, 7, "after")])
    ran = dshloop("session", "show", str(path))
    assert ran.code == 0
    assert "before" in ran.out
    assert "after" in ran.out
    assert "warning: seq gap at line 7 (expected 5, got 7)" in ran.err


def test_lone_surrogates_survive_a_run() -> None:
    ran = dshloop(
        "session", "run", "--driver", "fake", "--input-format", "jsonl", stdin='"x\\ud800y"\n'
    )
    assert ran.code == 0
    shown = dshloop("session", "show", "last", "--json")
    assert "\\ud800" in shown.out
    assert "x\\ud800y" in dshloop("session", "show", "last").out


def test_a_reader_that_closes_the_pipe_ends_the_run_quietly() -> None:
    command = [sys.executable, "-m", "dshloop", "session", "run", "--driver", "fake", "--json", "x"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.stdout is not None
    assert run.stderr is not None
    run.stdout.readline()
    run.stdout.close()
    err = run.stderr.read()
    run.stderr.close()
    assert (run.wait(30), err) == (0, b"")
    shown = dshloop("session", "list", "--all", "--json").json
    assert [row["state"] in ("completed", "aborted") for row in shown] == [True]


def test_another_locale_changes_no_byte_of_json() -> None:
    ran = process("session", "run", "--driver", "fake", "--json", "é", env={"LC_ALL": "C"})
    assert ran.returncode == 0
    records = [json.loads(line) for line in ran.stdout.splitlines()]
    said = [r["event"]["data"] for r in records[1:-1] if r["event"]["type"] == "user/message"]
    assert said[0]["content"][0]["text"] == "é"


def test_completion_offers_drivers_and_sessions() -> None:
    from dshloop.cli.complete import completions
    from dshloop.cli.invocation import Invocation
    from dshloop.environment import Environment

    dshloop("session", "run", "--driver", "fake", "--session-id", "mine", "hello there")
    invoked = Invocation(Environment.real())
    offered = dict(completions(["session", "run", "--driver", ""], invoked))
    assert {"fake", "ping"} <= offered.keys()
    assert dict(completions(["session", "show", "m"], invoked)) == {"mine": "hello there"}
    assert "last" in dict(completions(["session", "run", "--resume", ""], invoked))
