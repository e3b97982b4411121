"""Transactions on a user's files: all or nothing, history, undo and redo."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from dshloop.errors import (
    ChangedSinceReadError,
    EntryAmbiguousError,
    EntryNotFoundError,
    EntryStateError,
    JournalDamagedError,
    LockHeldError,
    WriteFailedError,
)
from dshloop.journal import Change, Journal, Link, Plan, Tree, tree_state


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "data" / "journal")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "dsh").mkdir()
    return tmp_path / "dsh"


def snapshot(folder: Path) -> dict[str, bytes | str | None]:
    """Everything in a folder: bytes of files, targets of links, None for folders."""
    found: dict[str, bytes | str | None] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = "-> " + os.readlink(path)  # noqa: PTH115
        else:
            found[name] = path.read_bytes() if path.is_file() else None
    return found


def package(folder: Path, text: bytes = b"{}") -> Path:
    (folder / "lib").mkdir(parents=True)
    (folder / "package.json").write_bytes(text)
    (folder / "lib" / "run").write_bytes(b"#!/bin/sh\n")
    (folder / "lib" / "run").chmod(0o755)
    (folder / "lib" / "link").symlink_to("../package.json")
    return folder


def test_nothing_is_made_by_asking(journal: Journal) -> None:
    assert journal.entries() == []
    assert journal.recover() == []
    assert not journal.root.parent.exists()


def test_transaction_changes_files_and_makes_one_entry(journal: Journal, home: Path) -> None:
    (home / "b").write_bytes(b"old")
    (home / "c").write_bytes(b"gone")
    with journal.transaction("dshloop x", cwd=home, now=7.0) as tx:
        tx.write(home / "a", b"new", expected=None)
        tx.write(home / "b", b"newer", expected=b"old")
        tx.delete(home / "c", expected=b"gone")
        tx.link(home / "d", "./a")
        tx.note["kind"] = "pnpm"
    assert snapshot(home) == {"a": b"new", "b": b"newer", "d": "-> ./a"}
    (entry,) = journal.entries()
    assert tx.entry == entry
    assert (entry.command, entry.time, entry.cwd, entry.state) == (
        "dshloop x",
        7.0,
        str(home),
        "done",
    )
    assert entry.note == {"kind": "pnpm"}
    assert entry.paths == (home / "a", home / "b", home / "c", home / "d")
    shown = entry.as_json()
    assert shown["time"] == "1970-01-01T00:00:07.000Z"
    json.dumps(shown)


def test_journal_is_private(journal: Journal, home: Path) -> None:
    before = os.umask(0)
    try:
        journal.record("x", [Change(home / "a", None, b"secret")])
    finally:
        os.umask(before)
    for path in [journal.root.parent, *journal.root.parent.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_exception_rolls_everything_back(journal: Journal, home: Path, tmp_path: Path) -> None:
    (home / "b").write_bytes(b"old")
    (home / "b").chmod(0o640)
    (home / "link").symlink_to("b")
    package(home / "tree")
    source = package(tmp_path / "source", b"{1}")
    before = snapshot(home)

    def change() -> None:
        with journal.transaction("dshloop x") as tx:
            tx.write(home / "new" / "deep" / "a", b"new")
            tx.write(home / "b", b"newer", mode=0o600)
            tx.write(home / "b", b"newest")
            tx.delete(home / "link")
            tx.place_tree(home / "tree", source)
            tx.place_tree(home / "scope" / "other", package(tx.scratch() / "other"))
            raise KeyError

    with pytest.raises(KeyError):
        change()
    assert snapshot(home) == before
    assert stat.S_IMODE((home / "b").stat().st_mode) == 0o640
    assert source.is_dir()
    assert journal.entries() == []
    assert list((journal.root / "pending").iterdir()) == []


def test_refused_change_rolls_the_earlier_ones_back(journal: Journal, home: Path) -> None:
    (home / "b").write_bytes(b"mine")
    with pytest.raises(ChangedSinceReadError, match="has changed since it was read"):
        journal.record(
            "x", [Change(home / "a", None, b"new"), Change(home / "b", b"other", b"newer")]
        )
    assert snapshot(home) == {"b": b"mine"}


def test_failed_write_rolls_the_earlier_ones_back(journal: Journal, home: Path) -> None:
    (home / "file").write_bytes(b"")

    def change() -> None:
        with journal.transaction("x") as tx:
            tx.write(home / "a", b"new")
            tx.write(home / "file" / "below", b"x")

    with pytest.raises(WriteFailedError):
        change()
    assert snapshot(home) == {"file": b""}


def test_no_change_makes_no_entry(journal: Journal, home: Path) -> None:
    (home / "a").write_bytes(b"same")
    os.utime(home / "a", (1, 1))
    with journal.transaction("x") as tx:
        tx.write(home / "a", b"same")
        tx.delete(home / "absent")
        tx.remove_tree(home / "absent")
    assert tx.entry is None
    assert journal.record("x", [Change(home / "a", b"same", b"same")]) is None
    assert journal.entries() == []
    assert (home / "a").stat().st_mtime == 1


def test_change_and_back_makes_no_entry(journal: Journal, home: Path) -> None:
    with journal.transaction("x") as tx:
        tx.write(home / "a", b"1")
        tx.delete(home / "a")
    assert tx.entry is None


def test_undo_and_redo_restore_byte_for_byte(journal: Journal, home: Path, tmp_path: Path) -> None:
    (home / "b").write_bytes(b"old\r\n\xff")
    (home / "b").chmod(0o600)
    (home / "swap").symlink_to("b")
    package(home / "tree")
    package(home / "gone")
    before = snapshot(home)
    with journal.transaction("x") as tx:
        tx.write(home / "new" / "deep" / "a", b"")
        tx.delete(home / "b")
        tx.link(home / "swap", "new")
        tx.place_tree(home / "tree", package(tmp_path / "source", b"{1}"))
        tx.remove_tree(home / "gone")
        tx.place_tree(home / "node_modules" / "@s" / "p", package(tmp_path / "p"))
    after = snapshot(home)
    assert after != before
    for _ in range(2):
        undone = journal.undo()
        assert undone.state == "undone"
        assert snapshot(home) == before
        assert stat.S_IMODE((home / "b").stat().st_mode) == 0o600
        assert os.access(home / "gone" / "lib" / "run", os.X_OK)
        assert journal.redo().state == "done"
        assert snapshot(home) == after
    assert [entry.state for entry in journal.entries()] == ["done"]


def test_link_takes_the_place_of_a_file_and_of_a_folder(journal: Journal, home: Path) -> None:
    (home / "file").write_bytes(b"x")
    package(home / "tree")
    before = snapshot(home)
    with journal.transaction("x") as tx:
        tx.link(home / "file", "tree")
        tx.link(home / "tree", "/else/where")
    assert snapshot(home) == {"file": "-> tree", "tree": "-> /else/where"}
    journal.undo()
    assert snapshot(home) == before
    journal.redo()
    assert snapshot(home) == {"file": "-> tree", "tree": "-> /else/where"}


def test_tree_takes_the_place_of_a_link_and_of_a_file(
    journal: Journal, home: Path, tmp_path: Path
) -> None:
    (home / "link").symlink_to("nowhere")
    (home / "file").write_bytes(b"x")
    before = snapshot(home)
    with journal.transaction("x") as tx:
        tx.place_tree(home / "link", package(tmp_path / "1"))
        tx.place_tree(home / "file", package(tmp_path / "2"))
    after = snapshot(home)
    journal.undo()
    assert snapshot(home) == before
    journal.redo()
    assert snapshot(home) == after


def test_write_goes_through_a_link_to_its_file(journal: Journal, home: Path) -> None:
    (home / "real").write_bytes(b"old")
    (home / "link").symlink_to("real")
    journal.record("x", [Change(home / "link", b"old", b"new")])
    assert snapshot(home) == {"real": b"new", "link": "-> real"}
    journal.undo()
    assert snapshot(home) == {"real": b"old", "link": "-> real"}


def test_undo_refuses_what_changed_since(journal: Journal, home: Path) -> None:
    entry = journal.record("x", [Change(home / "a", None, b"1"), Change(home / "b", None, b"1")])
    assert entry is not None
    (home / "b").write_bytes(b"edited")
    with pytest.raises(ChangedSinceReadError) as caught:
        journal.undo()
    assert caught.value.details["files"] == [str(home / "b")]
    assert snapshot(home) == {"a": b"1", "b": b"edited"}
    assert journal.entries() == [entry]


def test_undo_refuses_a_folder_in_which_something_changed(
    journal: Journal, home: Path, tmp_path: Path
) -> None:
    with journal.transaction("x") as tx:
        tx.place_tree(home / "tree", package(tmp_path / "source"))
    (home / "tree" / "lib" / "run").chmod(0o644)
    with pytest.raises(ChangedSinceReadError):
        journal.undo()
    (home / "tree" / "lib" / "run").chmod(0o755)
    journal.undo()


def test_undo_of_an_older_entry_names_the_newer_one(journal: Journal, home: Path) -> None:
    first = journal.record("dshloop one", [Change(home / "a", None, b"1")])
    second = journal.record("dshloop two", [Change(home / "a", b"1", b"2")])
    assert first is not None
    assert second is not None
    with pytest.raises(ChangedSinceReadError) as caught:
        journal.undo(first.id)
    assert caught.value.hint == f"`dshloop undo {second.id}` (dshloop two) first."


def test_undo_of_a_named_entry_leaves_others(journal: Journal, home: Path) -> None:
    first = journal.record("one", [Change(home / "a", None, b"1")])
    journal.record("two", [Change(home / "b", None, b"2")])
    assert first is not None
    assert journal.undo(first.id[:6]).id == first.id
    assert snapshot(home) == {"b": b"2"}
    with pytest.raises(EntryStateError, match="is undone already"):
        journal.undo(first.id)
    journal.redo(first.id)
    with pytest.raises(EntryStateError, match="isn't undone"):
        journal.redo(first.id)


def test_undo_walks_back_and_redo_forward(journal: Journal, home: Path) -> None:
    for old, new in ((None, b"1"), (b"1", b"2"), (b"2", b"3")):
        journal.record("x", [Change(home / "a", old, new)])
    for expected in (b"2", b"1", None):
        journal.undo()
        assert snapshot(home).get("a") == expected
    with pytest.raises(EntryNotFoundError, match="nothing to undo"):
        journal.undo()
    for expected in (b"1", b"2", b"3"):
        journal.redo()
        assert snapshot(home)["a"] == expected
    with pytest.raises(EntryNotFoundError, match="nothing to redo"):
        journal.redo()


def test_new_write_of_a_path_ends_its_redo_but_not_that_of_others(
    journal: Journal, home: Path
) -> None:
    journal.record("other", [Change(home / "b", None, b"1")])
    journal.record("x", [Change(home / "a", None, b"1")])
    journal.undo()
    journal.undo()
    journal.record("y", [Change(home / "a", None, b"2")])
    assert journal.redo().command == "other"
    with pytest.raises(EntryNotFoundError, match="nothing to redo"):
        journal.redo()
    assert snapshot(home) == {"a": b"2", "b": b"1"}


def test_ids_are_found_by_a_unique_beginning(journal: Journal, home: Path) -> None:
    for number in range(17):  # so that two begin alike
        journal.record("x", [Change(home / f"{number}", None, b"")])
    ids = [entry.id for entry in journal.entries()]
    assert all(journal.find(entry_id).id == entry_id for entry_id in ids)
    double = next(c for c in "0123456789abcdef" if sum(i.startswith(c) for i in ids) > 1)
    with pytest.raises(EntryAmbiguousError):
        journal.find(double)
    for unknown in ("xyz", ""):
        with pytest.raises(EntryNotFoundError):
            journal.find(unknown)


def test_undo_keeps_a_mode_it_has_nothing_to_do_with(journal: Journal, home: Path) -> None:
    (home / "a").write_bytes(b"1")
    journal.record("x", [Change(home / "a", b"1", b"2")])
    (home / "a").chmod(0o600)
    journal.undo()
    assert stat.S_IMODE((home / "a").stat().st_mode) == 0o600


def test_file_that_was_made_private_comes_back_private(journal: Journal, home: Path) -> None:
    (home / "b").write_bytes(b"2")
    journal.record("x", [Change(home / "a", None, b"1"), Change(home / "b", b"2", None)])
    (home / "a").chmod(0o600)
    journal.undo()
    (home / "b").chmod(0o600)
    journal.redo()
    assert stat.S_IMODE((home / "a").stat().st_mode) == 0o600
    journal.undo()
    assert stat.S_IMODE((home / "b").stat().st_mode) == 0o600


def test_file_takes_the_place_of_a_link_and_of_a_folder(journal: Journal, home: Path) -> None:
    (home / "real").write_bytes(b"real")
    (home / "link").symlink_to("real")
    tree = tree_state(package(home / "tree"))
    before = snapshot(home)
    changes = [
        Change(home / "link", Link("real"), b"1"),
        Change(home / "tree", Tree(tree.value), b"2"),
    ]
    journal.record("x", changes)
    assert snapshot(home) == {"real": b"real", "link": b"1", "tree": b"2"}
    journal.undo()
    assert snapshot(home) == before
    journal.redo()
    assert snapshot(home) == {"real": b"real", "link": b"1", "tree": b"2"}
    with pytest.raises(ChangedSinceReadError):
        journal.record("x", changes)


def test_change_of_the_mode_alone_is_undone(journal: Journal, home: Path) -> None:
    (home / "a").write_bytes(b"1")
    (home / "a").chmod(0o644)
    journal.record("x", [Change(home / "a", b"1", b"1", mode=0o600)])
    assert stat.S_IMODE((home / "a").stat().st_mode) == 0o600
    journal.undo()
    assert stat.S_IMODE((home / "a").stat().st_mode) == 0o644

    def change() -> None:
        with journal.transaction("x") as tx:
            tx.write(home / "a", b"1", mode=0o600)
            raise KeyError

    with pytest.raises(KeyError):
        change()
    assert stat.S_IMODE((home / "a").stat().st_mode) == 0o644


def test_watched_file_belongs_to_the_transaction(journal: Journal, home: Path) -> None:
    (home / "lock").write_bytes(b"1")
    with journal.transaction("x") as tx:
        tx.watch(home / "lock")
        tx.watch(home / "absent")
        (home / "lock").write_bytes(b"2")  # as pnpm does
    assert tx.entry is not None
    assert tx.entry.paths == (home / "lock",)
    journal.undo()
    assert (home / "lock").read_bytes() == b"1"

    def change() -> None:
        with journal.transaction("x") as tx:
            tx.watch(home / "lock")
            tx.watch(home / "absent")
            tx.write(home / "lock", b"3")
            (home / "lock").write_bytes(b"4")
            (home / "absent").write_bytes(b"5")
            raise KeyError

    with pytest.raises(KeyError):
        change()
    assert snapshot(home) == {"lock": b"1"}


def test_names_that_are_no_utf8_survive(journal: Journal, home: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    journal.record("x", [Change(home / name, None, b"1"), Change(home / "l", None, Link(name))])
    (entry,) = journal.entries()
    assert entry.paths[0] == home / name
    journal.undo()
    assert snapshot(home) == {}
    journal.redo()
    assert (home / name).read_bytes() == b"1"
    assert (home / "l").readlink() == Path(name)


def test_history_of_one_folder(journal: Journal, home: Path) -> None:
    (home / "web").mkdir()
    (home / "web2").mkdir()
    journal.record("one", [Change(home / "web" / "a", None, b"")])
    journal.record("two", [Change(home / "web2" / "a", None, b"")])
    assert [entry.command for entry in journal.entries(under=home / "web")] == ["one"]
    assert [entry.command for entry in journal.entries()] == ["two", "one"]


def test_damaged_entry_hides_no_other(journal: Journal, home: Path) -> None:
    entry = journal.record("one", [Change(home / "a", None, b"")])
    journal.record("two", [Change(home / "b", None, b"")])
    assert entry is not None
    journal.entry_file(entry.id).write_bytes(b"{")
    assert [entry.command for entry in journal.entries()] == ["two"]
    (error,) = journal.damaged()
    assert entry.id in error.message


def test_a_name_too_long_is_refused_and_leaves_nothing_to_recover(
    journal: Journal, home: Path
) -> None:
    path = home / ("n" * 300) / "a"
    with pytest.raises(WriteFailedError, match="too long"):
        journal.record("one", [Change(home / "b", None, b""), Change(path, None, b"")])
    assert journal.recovered == []
    journal.recover()
    assert journal.recovered == []
    assert list(home.iterdir()) == []


def test_whatever_stands_in_an_entry_s_place_hides_no_other(journal: Journal, home: Path) -> None:
    entry = journal.record("one", [Change(home / "a", None, b"")])
    assert entry is not None
    text = journal.entry_file(entry.id).read_text()
    entries = journal.root / "entries"
    (entries / "folder.json").mkdir()
    (entries / "deep.json").write_text("[" * 100_000)
    for number, time in enumerate(("1e400", "NaN", "-1", "1e18")):
        odd = text.replace(f'"time": {entry.time}', f'"time": {time}')
        assert odd != text
        (entries / f"time{number}.json").write_text(odd)
    (entries / "count.json").write_text(text.replace('"sequence": 1', '"sequence": 1e400'))
    assert [one.as_json()["id"] for one in journal.entries()] == [entry.id]
    assert len(journal.damaged()) == 7
    assert journal.undo().id == entry.id


@pytest.mark.parametrize("damage", [None, b"other"])
def test_undo_without_the_kept_content_changes_nothing(
    journal: Journal, home: Path, damage: bytes | None
) -> None:
    (home / "a").write_bytes(b"precious")
    journal.record("x", [Change(home / "b", None, b""), Change(home / "a", b"precious", b"2")])
    state = journal.entries()[0].changes[1].before
    assert state is not None
    blob = journal.store.blob(state.value)
    if damage is None:
        blob.unlink()
    else:
        blob.write_bytes(damage)
    with pytest.raises(JournalDamagedError):
        journal.undo()
    assert snapshot(home) == {"a": b"2", "b": b""}


def test_prune_forgets_the_old_and_the_large_but_never_the_newest(
    journal: Journal, home: Path, tmp_path: Path
) -> None:
    day = 86400.0
    journal = Journal(journal.root, clock=lambda: 0.0)
    for number, data in enumerate((b"a" * 10, b"b" * 10, b"c" * 1000)):
        journal.record("x", [Change(home / f"{number}", None, data)], now=number * day)
    clocked = Journal(journal.root, clock=lambda: 91.5 * day)
    assert len(clocked.prune(max_size=10**9)) == 2
    assert [entry.time for entry in journal.entries()] == [2 * day]
    assert clocked.prune(max_age=0, max_size=0) == []
    journal.undo()


def test_prune_by_size_keeps_contents_that_are_still_wanted(journal: Journal, home: Path) -> None:
    now = 1e9
    journal = Journal(journal.root, clock=lambda: now)
    for number in range(4):
        path = home / f"{number}"
        journal.record("x", [Change(path, None, b"shared")], now=now)
        journal.record("x", [Change(path, b"shared", b"%d" % number * 50)], now=now)
    for blob in (journal.root / "blobs").glob("*/*"):
        os.utime(blob, (1, 1))
    gone = journal.prune(max_size=130)
    assert len(gone) == 4
    kept = {blob.read_bytes() for blob in (journal.root / "blobs").glob("*/*")}
    assert kept == {b"shared", b"2" * 50, b"3" * 50}
    journal.undo()
    assert (home / "3").read_bytes() == b"shared"


def test_commit_prunes_with_the_defaults(journal: Journal, home: Path) -> None:
    journal.record("old", [Change(home / "a", None, b"")], now=0.0)
    journal.record("new", [Change(home / "b", None, b"")])
    assert [entry.command for entry in journal.entries()] == ["new"]


def test_two_transactions_on_one_file_exclude_each_other(journal: Journal, home: Path) -> None:
    other = Journal(journal.root)
    with journal.transaction("one") as tx:
        tx.write(home / "a", b"1")
        with (
            pytest.raises(LockHeldError),
            other.transaction("two", wait=0) as second,
        ):
            second.write(home / "a", b"2")
        with other.transaction("three", wait=0) as third:
            third.write(home / "b", b"3")
    assert snapshot(home) == {"a": b"1", "b": b"3"}
    assert [entry.command for entry in journal.entries()] == ["one", "three"]


def test_transaction_holds_the_lock_of_dsh(journal: Journal, home: Path) -> None:
    with journal.transaction("x") as tx:
        tx.write(home / "package.json", b"{}")
        tx.write(home / "cordis.patch.yml", b"")
        assert (home / "package.json.lock").read_text() == f"{os.getpid()}\n"
    assert sorted(snapshot(home)) == ["cordis.patch.yml", "package.json"]
    (home / "package.json.lock").write_text("1\n")  # a process that lives
    with pytest.raises(LockHeldError):
        journal.undo(wait=0)
    (home / "package.json.lock").unlink()
    journal.undo()
    assert snapshot(home) == {}


def test_folder_with_a_locked_manifest_goes_on_undo_and_rollback(
    journal: Journal, home: Path
) -> None:
    files = [home / "profiles" / "q" / name for name in ("cordis.patch.yml", "package.json")]
    journal.record("x", [Change(path, None, b"[]") for path in files])
    for _ in range(2):
        journal.undo()
        assert snapshot(home) == {}
        journal.redo()
    journal.undo()

    def change() -> None:
        with journal.transaction("x") as tx:
            for path in files:
                tx.write(path, b"{}")
            assert files[1].with_name("package.json.lock").exists()
            raise KeyError

    with pytest.raises(KeyError):
        change()
    assert snapshot(home) == {}


def test_nested_folder_changes_are_refused_as_a_fault_of_the_caller(
    journal: Journal, home: Path, tmp_path: Path
) -> None:

    def change() -> None:
        with journal.transaction("x") as tx:
            tx.place_tree(home / "tree", package(tmp_path / "source"))
            tx.write(home / "tree" / "x", b"")

    with pytest.raises(ValueError, match="can't both be changed"):
        change()
    assert snapshot(home) == {}


def test_plan_shows_a_unified_diff(home: Path) -> None:
    changes = (
        Change(home / "a.yml", b"- id: a\n- id: b\n", b"- id: a\n- id: c"),
        Change(home / "new", None, b"x\n"),
        Change(home / "gone", b"x", None),
        Change(home / "same", b"x", b"x"),
        Change(home / "bin", b"\xff", b"\xff\xfe"),
        Change(home / "link", None, Link("./a.yml")),
        Change(home / "tree", None, Tree("d", 3, 1)),
    )
    assert Plan(changes).diff().replace(str(home), "~") == (
        "--- ~/a.yml\n+++ ~/a.yml\n@@ -1,2 +1,2 @@\n - id: a\n-- id: b\n+- id: c\n"
        "\\ No newline at end of file\n"
        "--- /dev/null\n+++ ~/new\n@@ -0,0 +1 @@\n+x\n"
        "--- ~/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n"
        "~/bin: file of 1 byte -> file of 2 bytes\n"
        "~/link: absent -> link to ./a.yml\n"
        "~/tree: absent -> folder with 3 files, 1 byte\n"
    )


def test_plan_tells_of_a_line_feed_and_carriage_returns(home: Path) -> None:
    assert (
        Plan((Change(home / "a", b"x", b"x\n"),))
        .diff()
        .endswith("-x\n\\ No newline at end of file\n+x\n")
    )
    assert Plan((Change(home / "a", b"x\r\n", b"x\n"),)).diff().endswith("-x\r\n+x\n")
    assert Plan((Change(home / "a", None, b""),)).diff().endswith("+++ " + str(home / "a") + "\n")


def test_undo_and_redo_are_planned_before(journal: Journal, home: Path, tmp_path: Path) -> None:
    with journal.transaction("x") as tx:
        tx.write(home / "a", b"1\n")
        tx.place_tree(home / "tree", package(tmp_path / "source"))
    plan = journal.plan_undo()
    assert plan.diff().replace(str(home), "~") == (
        "~/tree: folder with 2 files, 12 bytes -> absent\n"
        "--- ~/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n"
    )
    journal.undo()
    assert journal.plan_redo().changes[0] == Change(home / "a", None, b"1\n")


def test_a_change_with_a_tree_is_recorded(journal: Journal, home: Path, tmp_path: Path) -> None:
    source = package(tmp_path / "source")
    state = tree_state(source)
    tree = Tree(state.value, state.files, state.size, source)
    journal.record("x", [Change(home / "tree", None, tree)])
    assert not source.exists()
    with pytest.raises(ChangedSinceReadError):
        journal.record("y", [Change(home / "tree", Tree("other"), None)])
    journal.record("y", [Change(home / "tree", tree, None)])
    assert snapshot(home) == {}
    journal.undo()
    assert tree_state(home / "tree") == state


def test_trees_move_across_file_systems(
    journal: Journal, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def across(self: Path, target: Path) -> Path:
        if self.parent != Path(target).parent:
            raise OSError(18, "Invalid cross-device link")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", across)
    package(home / "old")
    before = snapshot(home)
    with journal.transaction("x") as tx:
        tx.place_tree(home / "tree", package(tmp_path / "source"))
        tx.remove_tree(home / "old")
    assert set(snapshot(home)) == {"tree", *(f"tree/{name}" for name in snapshot(home / "tree"))}
    assert not (tmp_path / "source").exists()
    journal.undo()
    assert snapshot(home) == before
    journal.redo()

    def change() -> None:
        with journal.transaction("x") as tx:
            tx.remove_tree(home / "tree")
            raise KeyError

    with pytest.raises(KeyError):
        change()
    assert (home / "tree" / "lib" / "run").exists()
