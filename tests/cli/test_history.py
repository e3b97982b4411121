"""`dshloop history`, `undo` and `redo` as a user runs them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dshloop.journal import Change, Entry, Journal
from tests.running import dshloop

NOW = 1_700_000_000.0


@pytest.fixture
def journal() -> Journal:
    return Journal(Path(os.environ["DSHLOOP_DATA"]) / "journal", clock=lambda: NOW)


@pytest.fixture
def web() -> Path:
    folder = Path(os.environ["DSH_HOME"]) / "profiles" / "web"
    folder.mkdir(parents=True)
    return folder


def record(journal: Journal, command: str, *changes: Change, **more: object) -> Entry:
    entry = journal.record(command, changes, **more)
    assert entry is not None
    return entry


def test_history_of_nothing_is_an_empty_list(journal: Journal) -> None:
    assert dshloop("history", "--json").json == []
    ran = dshloop("history")
    assert (ran.code, ran.out) == (0, "")
    assert "Nothing was changed yet." in ran.err
    assert not journal.root.parent.exists()


def test_history_lists_the_newest_first(journal: Journal, web: Path) -> None:
    one = record(journal, "dshloop one", Change(web / "a", None, b"1"))
    two = record(
        journal, "dshloop two", Change(web / "b", None, b"1"), Change(web / "c", None, b"1")
    )
    journal.undo(one.id)
    ran = dshloop("history")
    lines = ran.out.splitlines()
    assert lines[0].split() == ["ID", "WHEN", "COMMAND", "FILES", "STATE"]
    assert lines[1].startswith(two.id)
    assert "profiles/web/b +1" in lines[1]
    assert lines[1].split()[-1] == "done"
    assert lines[2].startswith(one.id)
    assert lines[2].split()[-1] == "undone"
    listed = dshloop("history", "--json").json
    assert [(row["id"], row["command"], row["state"]) for row in listed] == [
        (two.id, "dshloop two", "done"),
        (one.id, "dshloop one", "undone"),
    ]
    assert listed[1]["time"] == "2023-11-14T22:13:20.000Z"
    assert listed[1]["changes"][0]["path"] == str(web / "a")


def test_history_is_limited_and_says_so(journal: Journal, web: Path) -> None:
    for number in range(3):
        record(journal, f"dshloop {number}", Change(web / f"{number}", None, b""))
    ran = dshloop("history", "--limit", "2")
    assert len(ran.out.splitlines()) == 3
    assert "1 older: --limit 3 lists all." in ran.err
    assert len(dshloop("history", "--json", "--limit", "1").json) == 1
    assert dshloop("history", "--limit", "0").code == 2


def test_history_of_one_profile(journal: Journal, web: Path) -> None:
    record(journal, "dshloop one", Change(web / "a", None, b""))
    record(journal, "dshloop two", Change(web.parent / "other" / "a", None, b""))
    assert [row["command"] for row in dshloop("history", "--profile", "web", "--json").json] == [
        "dshloop one"
    ]
    assert dshloop("history", "--profile", "none", "--json").json == []


def test_history_warns_of_a_damaged_entry(journal: Journal, web: Path) -> None:
    entry = record(journal, "dshloop one", Change(web / "a", None, b""))
    journal.entry_file(entry.id).write_text("{")
    ran = dshloop("history")
    assert ran.code == 0
    assert f"{entry.id}.json is damaged" in " ".join(ran.err.split())


def test_undo_and_redo_the_newest(journal: Journal, web: Path) -> None:
    (web / "a").write_bytes(b"old")
    entry = record(journal, "dshloop x", Change(web / "a", b"old", b"new"))
    undone = dshloop("undo", "--json").json
    assert (undone["id"], undone["state"], undone["dry_run"]) == (entry.id, "undone", False)
    assert (web / "a").read_bytes() == b"old"
    ran = dshloop("redo")
    assert (ran.code, ran.out) == (0, "")
    assert f"made again {entry.id}: dshloop x" in ran.err
    assert "profiles/web/a" in ran.err
    assert (web / "a").read_bytes() == b"new"


def test_undo_by_the_beginning_of_an_id(journal: Journal, web: Path) -> None:
    one = record(journal, "dshloop one", Change(web / "a", None, b"1"))
    record(journal, "dshloop two", Change(web / "b", None, b"1"))
    assert dshloop("undo", one.id[:7]).code == 0
    assert not (web / "a").exists()
    assert (web / "b").exists()


def test_dry_run_shows_the_diff_and_changes_nothing(journal: Journal, web: Path) -> None:
    (web / "a").write_bytes(b"old\n")
    entry = record(journal, "dshloop x", Change(web / "a", b"old\n", b"new\n"))
    ran = dshloop("undo", "--dry-run")
    assert (ran.code, ran.out) == (
        0,
        f"--- {web}/a\n+++ {web}/a\n@@ -1 +1 @@\n-new\n+old\n",
    )
    assert journal.entries() == [entry]
    dshloop("undo")
    planned = dshloop("redo", "--dry-run", "--json").json
    assert planned["dry_run"] is True
    assert planned["diff"].endswith("-old\n+new\n")
    assert (web / "a").read_bytes() == b"old\n"


def test_nothing_to_undo_or_redo_is_not_found() -> None:
    for verb in ("undo", "redo"):
        ran = dshloop(verb, "--json")
        assert (ran.code, ran.out) == (3, "")
        assert ran.error["code"] == "ENTRY_NOT_FOUND"
        assert dshloop(verb, "abc").code == 3


def test_undo_refuses_what_changed_since(journal: Journal, web: Path) -> None:
    record(journal, "dshloop x", Change(web / "a", None, b"1"))
    (web / "a").write_bytes(b"mine")
    for options in ([], ["--dry-run"]):
        ran = dshloop("undo", "--json", *options)
        assert ran.code == 4
        assert ran.error["code"] == "CHANGED_SINCE_READ"
        assert ran.error["details"]["files"] == [str(web / "a")]
    assert (web / "a").read_bytes() == b"mine"


def test_undo_twice_is_refused(journal: Journal, web: Path) -> None:
    entry = record(journal, "dshloop x", Change(web / "a", None, b"1"))
    dshloop("undo", entry.id)
    ran = dshloop("undo", entry.id, "--json")
    assert (ran.code, ran.error["code"]) == (4, "ENTRY_STATE")


def test_advice_of_an_entry_is_given(journal: Journal, web: Path) -> None:
    record(
        journal,
        "dshloop plugin add ./x",
        Change(web / "a", None, b"1"),
        note={"advice": "Run pnpm install in the profile."},
    )
    assert "Run pnpm install in the profile." in dshloop("undo").err


def test_unfinished_work_of_a_killed_command_is_told(journal: Journal, web: Path) -> None:
    record(journal, "dshloop x", Change(web / "a", None, b"1"))
    child = os.fork()
    if child == 0:
        with journal.transaction("dshloop y") as tx:
            tx.write(web / "b", b"2")
            os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    ran = dshloop("undo")
    assert ran.code == 0
    said = " ".join(ran.err.split())
    assert "`dshloop y` had ended halfway and was rolled back: restored" in said
    assert list(web.iterdir()) == []


def test_the_command_is_quoted_so_that_it_can_be_run_again() -> None:
    assert dshloop("profile", "create", "two words", "--template", "empty").code == 0
    (entry,) = dshloop("history", "--json").json
    assert entry["command"] == "dshloop profile create 'two words' --template empty"


def test_a_secret_on_the_command_line_is_not_recorded(web: Path) -> None:
    dshloop("profile", "create", "p", "--template", "empty")
    row = "{id: a, name: x, config: {}}"
    assert dshloop("profile", "row", "insert", row, "--profile", "p").code == 0
    assert dshloop("profile", "set", "a.apiKey", "hunter2", "--profile", "p").code == 0
    (entry, *_) = dshloop("history", "--json").json
    assert entry["command"] == "dshloop profile set a.apiKey '[REDACTED_SECRET]' --profile p"
    assert "hunter2" not in dshloop("history").out
