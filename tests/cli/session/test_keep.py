"""`dshloop session fork | rename | delete | restore` on the command line."""

from __future__ import annotations

from pathlib import Path

from tests.running import dshloop
from tests.sessions.logs import conversation
from tests.transcripts.logs import HEADER, write


def run(name: str, *prompts: str) -> None:
    for prompt in prompts:
        known = dshloop("session", "show", name).code == 0
        which = "--resume" if known else "--session-id"
        words = ("--driver", "fake") if not known else ()
        assert dshloop("session", "run", *words, which, name, prompt).code == 0


def test_a_fork_goes_on_by_itself() -> None:
    run("first", "one", "two")
    ran = dshloop("session", "fork", "first", "--at", "1", "--session-id", "second", "--json")
    assert (ran.code, ran.json["id"], ran.json["turns"]) == (0, "second", 1)
    run("second", "another way")
    shown = dshloop("session", "show", "second").out
    assert "you: one" in shown
    assert "you: another way" in shown
    assert "you: two" not in shown
    assert "you: another way" not in dshloop("session", "show", "first").out
    text = dshloop("session", "fork", "first")
    assert len(text.out.strip()) == 36
    assert "forked from first behind turn 2" in text.err


def test_a_fork_at_no_turn_is_not_found() -> None:
    run("first", "one")
    ran = dshloop("session", "fork", "first", "--at", "turn:7", "--json")
    assert (ran.code, ran.error["code"]) == (3, "FORK_POINT_NOT_FOUND")
    assert dshloop("session", "fork", "first", "--at", "x").code == 2


def test_a_title_is_listed() -> None:
    run("mine", "hello")
    assert dshloop("session", "rename", "mine", "The plan").code == 0
    (row,) = dshloop("session", "list", "--json").json
    assert row["title"] == "The plan"


def test_delete_and_restore(isolated: Path) -> None:
    run("one", "a")
    run("two", "b")
    ran = dshloop("session", "delete", "one", "two", "one", "--json")
    assert [each["id"] for each in ran.json] == ["one", "two"]
    assert dshloop("session", "list", "--json").json == []
    gone = dshloop("session", "show", "one", "--json")
    assert (gone.code, gone.error["code"]) == (3, "SESSION_NOT_FOUND")
    assert dshloop("session", "restore", "one").out == "restored one\n"
    assert [row["id"] for row in dshloop("session", "list", "--json").json] == ["one"]
    again = dshloop("session", "restore", "one", "--json")
    assert (again.code, again.error["code"]) == (3, "TRASH_NOT_FOUND")


def test_an_unknown_session_among_several_deletes_none() -> None:
    run("one", "a")
    assert dshloop("session", "delete", "one", "nope").code == 3
    assert len(dshloop("session", "list", "--json").json) == 1


def test_sessions_of_dsh_are_refused_with_a_fork_offered(isolated: Path) -> None:
    folder = isolated / "dsh" / "sessions" / "--home-dev--" / "session-d"
    folder.mkdir(parents=True)
    write(folder / "session.jsonl", conversation(1), {**HEADER, "id": "session-d"})
    for words in (("rename", "session-d", "x"), ("delete", "session-d")):
        ran = dshloop("session", *words, "--json")
        assert (ran.code, ran.error["code"]) == (4, "SESSION_READ_ONLY")
        assert "session fork" in ran.error["hint"]
    assert dshloop("session", "fork", "session-d").code == 0
