"""The index of sessions: right after every change, and never needed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dshloop.errors import SearchFailedError
from dshloop.paths import Places
from dshloop.sessions.catalog import entries, summarize
from dshloop.sessions.index import SessionIndex
from dshloop.sessions.search import Found, bring_up_to_date, search
from tests.sessions.logs import conversation
from tests.sessions.test_catalog import put
from tests.transcripts.logs import event, line, turn


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")


@pytest.fixture
def index(places: Places) -> SessionIndex:
    return SessionIndex(places.session_index)


def ask(places: Places, index: SessionIndex, text: str, limit: int = 20) -> Found:
    found = entries(places)
    bring_up_to_date(index, found)
    return search(index, found, text, limit=limit)


def seqs(found: Found) -> list[tuple[str, int, int]]:
    return [(hit.session, hit.turn, hit.seq) for hit in found.hits]


def test_a_summary_is_known_until_its_log_changes(places: Places, index: SessionIndex) -> None:
    data = {"agentPreset": "minimal", "agentLoopDock": {"loop": "standard"}}
    path = put(places.sessions, "s", events=[*turn(1, 0), event("agent-preset/selected", 5, data)])
    (entry,) = entries(places)
    summary = summarize(entry)
    assert index.summaries([entry]) == {}
    index.remember([summary])
    known = index.summaries([entry])[entry.file]
    assert (known.title, known.turns, known.state) == ("hi", 1, "completed")
    assert known.header == summary.header
    assert [each["data"] for each in known.events] == [data]
    os.utime(path, (1, 1))
    assert index.summaries(entries(places)) == {}


def test_asking_makes_no_file(index: SessionIndex) -> None:
    assert index.summaries([]) == {}
    assert not index.path.parent.exists()


@pytest.mark.parametrize("content", [b"garbage" * 99, b"", b"SQLite format 3\0" + b"x" * 200])
def test_a_damaged_index_is_made_anew(places: Places, index: SessionIndex, content: bytes) -> None:
    put(places.sessions, "s", events=conversation(1))
    assert len(ask(places, index, "answer").hits) == 1
    index.close()
    index.path.write_bytes(content)
    assert len(ask(places, index, "answer").hits) == 1


def test_an_index_of_another_version_is_made_anew(places: Places, index: SessionIndex) -> None:
    import sqlite3

    index.path.parent.mkdir(parents=True)
    other = sqlite3.connect(index.path)
    other.execute("CREATE TABLE searched (x)")
    other.execute("PRAGMA user_version = 99")
    other.close()
    put(places.sessions, "s", events=conversation(1))
    assert len(ask(places, index, "answer").hits) == 1


def test_an_index_that_cannot_be_made_is_told(places: Places, tmp_path: Path) -> None:
    put(places.sessions, "s")
    (tmp_path / "file").touch()
    index = SessionIndex(tmp_path / "file" / "sessions.db")
    index.remember([summarize(entries(places)[0])])
    with pytest.raises(SearchFailedError):
        search(index, entries(places), "hi", limit=1)


def test_words_are_found_by_session_and_turn(places: Places, index: SessionIndex) -> None:
    put(places.sessions, "one", events=conversation(2), age=10)
    put(places.dsh_sessions, "session-two", events=turn(1, 0, "Deploy the Script"), age=20)
    assert seqs(ask(places, index, "deploying scripts")) == [("session-two", 1, 2)]
    hits = ask(places, index, "answer").hits
    assert [(hit.session, hit.turn, hit.kind) for hit in hits] == [
        ("one", 1, "assistant"),
        ("one", 2, "assistant"),
    ]
    assert [hit.kind for hit in ask(places, index, "result c2-0").hits] == ["tool"]
    assert ask(places, index, "nowhere").hits == []
    assert ask(places, index, "deploy answer").hits == []
    assert ask(places, index, "").hits == []


@pytest.mark.parametrize("asked", ["部署", "脚本", "部", "scripts/ship.sh", "ship", "配置"])
def test_other_scripts_and_identifiers_are_found(
    places: Places, index: SessionIndex, asked: str
) -> None:
    put(places.sessions, "s", events=turn(1, 0, "请部署脚本 scripts/ship.sh 和配置文件"))
    put(places.sessions, "t", events=turn(1, 0, "nothing of the kind"))
    found = ask(places, index, asked)
    assert seqs(found) == [("s", 1, 2)]
    assert asked in found.hits[0].snippet


def test_a_snippet_shows_the_place(places: Places, index: SessionIndex) -> None:
    put(places.sessions, "s", events=turn(1, 0, "word " * 500 + "needles here " + "word " * 500))
    (hit,) = ask(places, index, "needle").hits
    assert "needles here" in hit.snippet
    assert len(hit.snippet) <= 122


def test_a_log_that_grew_is_read_from_its_last_ended_turn(
    places: Places, index: SessionIndex
) -> None:
    path = put(places.sessions, "s", events=[*turn(1, 0, "first"), *turn(2, 5, "second")[:3]])
    assert len(ask(places, index, "second").hits) == 1
    with path.open("ab") as file:
        for each in [*turn(2, 5)[3:], *turn(3, 10, "third")]:
            file.write(line(each))
    for word in ("first", "second", "third"):
        assert len(ask(places, index, word).hits) == 1


def test_what_was_rewritten_or_removed_is_forgotten(places: Places, index: SessionIndex) -> None:
    path = put(places.sessions, "s", events=turn(1, 0, "before"))
    assert len(ask(places, index, "before").hits) == 1
    data = path.read_bytes().replace(b"before", b"afterwards, and more")
    path.write_bytes(data)
    assert ask(places, index, "before").hits == []
    assert len(ask(places, index, "afterwards").hits) == 1
    path.unlink()
    assert ask(places, index, "afterwards").hits == []


def test_damaged_logs_are_searched_as_far_as_they_are_whole(
    places: Places, index: SessionIndex
) -> None:
    path = put(places.sessions, "s", events=[*turn(1, 0, "before"), *turn(2, 7, "after")])
    put(places.sessions, "empty").write_bytes(b"")
    assert len(ask(places, index, "after").hits) == 1
    path.write_bytes(path.read_bytes() + b"\0\0")
    assert len(ask(places, index, "before").hits) == 1


def test_more_hits_than_asked_for_are_told(places: Places, index: SessionIndex) -> None:
    put(places.sessions, "s", events=conversation(3))
    found = ask(places, index, "answer", limit=2)
    assert (len(found.hits), found.more) == (2, True)


def test_lone_surrogates_and_control_characters_are_no_obstacle(
    places: Places, index: SessionIndex
) -> None:
    put(places.sessions, "s", events=turn(1, 0, "a\ud800b needle \x1b[2J"))
    (hit,) = ask(places, index, "needle").hits
    assert "\x1b" not in hit.snippet
