"""Finding and listing sessions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dshloop.errors import SessionAmbiguousError, SessionNotFoundError
from dshloop.paths import Places
from dshloop.sessions.catalog import entries, find, find_id, in_folder, newest_of, summarize
from dshloop.sessions.naming import encode_id, folder_of
from tests.transcripts.logs import HEADER, event, line, turn, write, zstd_frames


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")


def put(
    root: Path, session_id: str, *, cwd: str = "/home/dev", age: int = 0, events: list | None = None
) -> Path:
    folder = root / folder_of(cwd) / encode_id(session_id)
    folder.mkdir(parents=True)
    stored = turn(1, 0, "hello there") if events is None else events
    path = write(folder / "session.jsonl", stored, {**HEADER, "id": session_id, "cwd": cwd})
    os.utime(path, (2_000_000_000 - age, 2_000_000_000 - age))
    return path


def test_sessions_of_both_homes_come_newest_first(places: Places) -> None:
    put(places.sessions, "old", age=30)
    put(places.dsh_sessions, "session-middle", age=20)
    put(places.sessions, "new", age=10)
    found = entries(places)
    assert [entry.id for entry in found] == ["new", "session-middle", "old"]
    assert [entry.home for entry in found] == ["dshloop", "dsh", "dshloop"]


def test_no_folder_means_no_sessions(places: Places) -> None:
    assert entries(places) == []


def test_a_summary_tells_title_turns_and_state(places: Places) -> None:
    put(places.sessions, "s")
    summary = summarize(entries(places)[0])
    assert (summary.title, summary.turns, summary.state) == ("hello there", 1, "completed")
    assert in_folder(summary, Path("/home/dev"))
    assert not in_folder(summary, Path("/home"))


def test_the_newest_title_wins_over_the_first_words(places: Places) -> None:
    title = event("session/title", 5, {"title": "Greeting", "messageSeqs": [2]})
    put(places.sessions, "s", events=[*turn(1, 0), title])
    assert summarize(entries(places)[0]).title == "Greeting"


def test_injected_context_is_no_title(places: Places) -> None:
    stored = turn(1, 0)
    stored[2]["data"]["source"] = {"kind": "plugin", "plugin": "x"}
    put(places.sessions, "s", events=stored)
    assert summarize(entries(places)[0]).title == ""


def test_long_logs_are_told_from_their_ends(places: Places) -> None:
    stored = [each for number in range(400) for each in turn(number + 1, number * 5, "x" * 300)]
    put(places.sessions, "s", events=[*stored, event("turn/start", 2000, {"turn": 401})])
    summary = summarize(entries(places)[0])
    assert (summary.turns, summary.state) == (401, "open")
    assert len(summary.events) < 1200


def test_a_damaged_log_is_listed_with_its_fault(places: Places) -> None:
    path = put(places.sessions, "s")
    path.write_bytes(b"")
    summary = summarize(entries(places)[0])
    assert summary.fault is not None
    assert "header-less" in summary.fault
    path.write_bytes(b"garbage\n" + b"".join(map(line, turn(1, 0))))
    fault = summarize(entries(places)[0]).fault
    assert fault == "corrupt session log: header line is not valid JSON"


def test_compressed_logs_are_listed(places: Places) -> None:
    folder = places.dsh_sessions / "--home-dev--" / "session-z"
    folder.mkdir(parents=True)
    data = zstd_frames([line(HEADER), b"".join(map(line, turn(1, 0)))])
    (folder / "session.jsonl.zstd").write_bytes(data)
    assert summarize(entries(places)[0]).turns == 1


def test_sessions_are_found_by_id_and_by_its_beginning(places: Places) -> None:
    put(places.sessions, "abc-1")
    put(places.sessions, "abd-2")
    put(places.dsh_sessions, "session-77aa")
    cwd = Path("/home/dev")
    assert find(places, "abc-1", cwd).id == "abc-1"
    assert find(places, "abd", cwd).id == "abd-2"
    assert find(places, "77", cwd).id == "session-77aa"
    with pytest.raises(SessionAmbiguousError) as ambiguous:
        find(places, "ab", cwd)
    assert sorted(ambiguous.value.details["sessions"]) == ["abc-1", "abd-2"]
    with pytest.raises(SessionNotFoundError):
        find(places, "zzz", cwd)


def test_a_whole_id_wins_over_longer_ones(places: Places) -> None:
    put(places.sessions, "a")
    put(places.sessions, "ab")
    assert find(places, "a", Path("/")).id == "a"


def test_an_id_is_found_in_any_folder(places: Places) -> None:
    put(places.sessions, "s", cwd="/somewhere/else")
    entry = find_id(places, "s")
    assert entry is not None
    assert entry.home == "dshloop"
    assert find_id(places, "t") is None


def test_last_is_the_newest_of_this_folder_and_ours(places: Places) -> None:
    put(places.sessions, "older", age=50)
    put(places.sessions, "mine", age=40)
    put(places.sessions, "elsewhere", cwd="/other", age=10)
    put(places.dsh_sessions, "session-theirs", age=5)
    put(places.sessions, "same-slug", cwd="/home:dev", age=1)
    assert newest_of(places, Path("/home/dev")).id == "mine"
    assert find(places, "last", Path("/home/dev")).id == "mine"
    with pytest.raises(SessionNotFoundError):
        newest_of(places, Path("/nowhere"))
