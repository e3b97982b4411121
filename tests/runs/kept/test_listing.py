"""Lists of sessions."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dshloop.paths import Places
from dshloop.runs.kept.listing import list_sessions, short_ids
from dshloop.runs.talking.conversation import RunOptions
from dshloop.runs.talking.run import run_session
from tests.transcripts.logs import HEADER, event, turn, write


@pytest.fixture
def places(tmp_path: Path) -> Places:
    places = Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")
    for number, cwd in enumerate(("/a", "/a", "/b")):
        options = RunOptions(Path(cwd), "test", driver="fake", session_id=f"s{number}")
        list(run_session(places, options, [f"prompt {number}"], time.time))
    folder = places.dsh_sessions / "--a--" / "session-d"
    folder.mkdir(parents=True)
    header = {**HEADER, "id": "session-d", "cwd": "/a", "agentPreset": "minimal"}
    write(folder / "session.jsonl", turn(1, 0), header)
    return places


def test_this_folders_sessions_and_what_was_left_out(places: Places) -> None:
    listing = list_sessions(places, Path("/a"), limit=None)
    assert [row.summary.entry.id for row in listing.rows] == ["session-d", "s1", "s0"]
    assert (listing.more, listing.elsewhere) == (0, 1)
    short = list_sessions(places, Path("/a"), limit=1)
    assert (len(short.rows), short.more, short.elsewhere) == (1, 2, 1)
    everything = list_sessions(places, None, limit=2)
    assert (len(everything.rows), everything.more) == (2, 2)


def test_recorded_and_inferred_bindings_are_told_apart(places: Places) -> None:
    theirs, ours, *_ = (row.as_json() for row in list_sessions(places, Path("/a"), limit=9).rows)
    assert (ours["loop"], ours["driver"], ours["binding"]) == (
        "standard",
        "fake-driver",
        "recorded",
    )
    assert (theirs["loop"], theirs["driver"]) == ("standard", None)
    assert (theirs["binding"], theirs["inferred_from"]) == ("inferred", "preset")
    assert (ours["home"], theirs["home"]) == ("dshloop", "dsh")
    assert (ours["title"], ours["turns"], ours["state"]) == ("prompt 1", 1, "completed")


def test_what_agents_have_begun_says_so(places: Places) -> None:
    spoken = {
        "content": [{"type": "text", "text": "Read the changelog."}],
        "source": {"kind": "coordinator"},
    }
    folder = places.dsh_sessions / "--team--"
    parent = "01a22cbe-ce9e-7be1-8439-20019ce04b6d"
    family = {"origin": "subagent", "parentSession": parent, "delegationDepth": 1}
    for name, more in (("child", family), ("fork", {"parentSession": parent})):
        (folder / name).mkdir(parents=True)
        log = folder / name / "session.jsonl"
        write(
            log, [event("user/message", 0, spoken)], {**HEADER, "id": name, "cwd": "/team", **more}
        )
    rows = {row.summary.entry.id: row for row in list_sessions(places, Path("/team"), limit=9).rows}
    child, fork = rows["child"].as_json(), rows["fork"].as_json()
    assert (child["origin"], child["parent"], child["depth"]) == ("subagent", parent, 1)
    assert (fork["origin"], fork["parent"], fork["depth"]) == (None, None, 0)
    assert (rows["child"].parent, rows["fork"].parent) == ("01a22cbe-ce9e", None)
    assert child["title"] == "Read the changelog."


def test_damage_newer_logs_and_unknown_events_are_told_apart(places: Places) -> None:
    odd = event("new/thing", 0, {})
    for name, events, header in (
        ("newer", turn(1, 0), {**HEADER, "version": 9}),
        ("unknown", [odd], HEADER),
        ("damaged", [*turn(1, 0), *turn(2, 7)], HEADER),
    ):
        folder = places.dsh_sessions / "--odd--" / name
        folder.mkdir(parents=True)
        write(folder / "session.jsonl", events, {**header, "id": name, "cwd": "/odd"})
    rows = {row.summary.entry.id: row for row in list_sessions(places, Path("/odd"), limit=9).rows}
    assert {name: row.state for name, row in rows.items()} == {
        "newer": "other version",
        "unknown": "unknown events",
        "damaged": "damaged",
    }
    assert rows["newer"].as_json()["fault_code"] == "VERSION"


def test_ids_are_shortened_to_what_tells_them_apart() -> None:
    one, two = "01a22cbe-ce9e-7be1-8439-20019ce04b6d", "01a22cbe-ce9e-7be2-8439-20019ce04b6d"
    other, named = "session-e4679602-87c5-4646-8805-919de30561f1", "my-very-long-session-name"
    assert short_ids([one, two, other, named]) == {
        one: "01a22cbe-ce9e-7be1",
        two: "01a22cbe-ce9e-7be2",
        other: "session-e4679",
        named: named,
    }
    assert short_ids([one]) == {one: "01a22cbe-ce9e"}
