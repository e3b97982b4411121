"""Sessions named, deleted and brought back."""

from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.errors import (
    LockHeldError,
    SessionAmbiguousError,
    SessionExistsError,
    SessionReadOnlyError,
    TrashNotFoundError,
    UsageError,
)
from dshloop.paths import Places
from dshloop.sessions.catalog import Entry, entries, find_id, summarize
from dshloop.sessions.keeping import fork, rename
from dshloop.sessions.log import SessionLog
from dshloop.sessions.trash import delete, deleted, find_deleted, restore
from tests.sessions.test_catalog import put

CWD = Path("/home/dev")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")


def entry(places: Places, name: str) -> Entry:
    found = find_id(places, name)
    assert found is not None
    return found


def remove(places: Places, name: str, now: float = 5.0) -> None:
    delete(places, entry(places, name), now=now, command="test")


def test_a_title_is_an_event_and_the_newest_one_counts(places: Places) -> None:
    put(places.sessions, "s")
    for title in ("first", "  second\n one "):
        rename(entry(places, "s"), title, clock=lambda: 9.0, command="test")
    assert summarize(entry(places, "s")).title == "second one"
    with pytest.raises(UsageError):
        rename(entry(places, "s"), " ", clock=lambda: 9.0, command="test")


def test_sessions_of_dsh_are_left_alone_and_a_fork_is_offered(places: Places) -> None:
    path = put(places.dsh_sessions, "session-d")
    before = sorted(path.parent.iterdir()), path.read_bytes()
    with pytest.raises(SessionReadOnlyError) as caught:
        rename(entry(places, "session-d"), "x", clock=lambda: 9.0, command="test")
    assert "session fork session-d" in str(caught.value.hint)
    with pytest.raises(SessionReadOnlyError):
        remove(places, "session-d")
    assert (sorted(path.parent.iterdir()), path.read_bytes()) == before
    made = fork(places, "session-d", CWD, clock=lambda: 9.0)
    assert entry(places, made.id).home == "dshloop"


def test_a_deleted_session_comes_back_as_it_was(places: Places) -> None:
    path = put(places.sessions, "s")
    before = path.read_bytes(), path.stat().st_mtime
    remove(places, "s")
    assert entries(places) == []
    assert [each.entry.id for each in deleted(places)] == ["s"]
    back = restore(places, find_deleted(places, "s"))
    assert back.path == path
    assert (path.read_bytes(), path.stat().st_mtime) == before
    assert list(places.trash.iterdir()) == []


def test_of_several_deletions_the_last_comes_back(places: Places) -> None:
    for now in (5.0, 6.0):
        put(places.sessions, "s")
        remove(places, "s", now)
    assert find_deleted(places, "s").when == 6.0
    restore(places, find_deleted(places, "last"))
    with pytest.raises(SessionExistsError):
        restore(places, find_deleted(places, "s"))


def test_nothing_names_no_deleted_session(places: Places) -> None:
    put(places.sessions, "s")
    remove(places, "s")
    with pytest.raises(TrashNotFoundError):
        find_deleted(places, "")


def test_deletions_of_one_moment_stay_apart(places: Places) -> None:
    for _ in range(3):
        put(places.sessions, "s")
        remove(places, "s")
    assert len(deleted(places)) == 3


def test_what_is_not_in_the_trash_is_not_found(places: Places) -> None:
    with pytest.raises(TrashNotFoundError):
        find_deleted(places, "s")
    for name in ("ab-1", "ab-2"):
        put(places.sessions, name)
        remove(places, name)
    with pytest.raises(SessionAmbiguousError):
        find_deleted(places, "ab")
    assert find_deleted(places, "ab-2").entry.id == "ab-2"


def test_a_session_in_use_is_not_deleted(places: Places) -> None:
    path = put(places.sessions, "s")
    log = SessionLog.open(path, clock=lambda: 9.0, command="the other one")
    with pytest.raises(LockHeldError):
        remove(places, "s")
    log.close()
    remove(places, "s")


def test_a_fork_needs_a_free_id(places: Places) -> None:
    put(places.sessions, "s")
    with pytest.raises(SessionExistsError):
        fork(places, "s", CWD, clock=lambda: 9.0, session_id="s")
    first, second = (fork(places, "s", CWD, clock=lambda: 9.0) for _ in range(2))
    assert first.id != second.id
