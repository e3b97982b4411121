"""An unreadable log on resume: refused and untouched, or gone on with in a session of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dshloop.transcripts.dsh import read_transcript
from tests.running import Ran, dshloop

RUN = ("session", "run", "again", "--resume", "s1", "--json")


def damaged(line: int, text: bytes = b"{") -> Path:
    """Make a session of one turn and damage a line of its log, counted from 1."""
    assert dshloop("session", "run", "hi", "--driver", "fake", "--session-id", "s1").code == 0
    (path,) = Path(os.environ["DSHLOOP_DATA"]).rglob("session.jsonl")
    lines = path.read_bytes().split(b"\n")
    lines[line - 1] = text
    path.write_bytes(b"\n".join(lines))
    return path


def everything() -> dict[str, bytes]:
    root = Path(os.environ["DSHLOOP_DATA"], "sessions")
    files = (path for path in root.rglob("*") if path.is_file() and path.name != "session.lock")
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def rebound(ran: Ran) -> Path:
    """Give the log of the session that a run went on in."""
    new = ran.lines[0]["id"]
    (path,) = Path(os.environ["DSHLOOP_DATA"]).rglob(f"{new}/session.jsonl")
    return path


@pytest.mark.parametrize("line", [1, 4, 30])
def test_it_is_refused_with_the_reason_and_the_way_on(line: int) -> None:
    damaged(line)
    before = everything()
    commands = (RUN, ("loop", "explain", "--resume", "--session", "s1", "--json"))
    for words in commands:
        ran = dshloop(*words)
        assert (ran.code, ran.out, ran.error["code"]) == (4, "", "SESSION_UNREADABLE")
        assert "dshloop session run --resume s1 --force-rebind" in ran.error["hint"]
        assert ran.error["details"]["session"] == "s1"
    assert everything() == before


def test_forced_it_goes_on_with_what_is_whole_and_leaves_the_damage_alone() -> None:
    path = damaged(30)
    before = everything()
    ran = dshloop(*RUN, "--force-rebind", "--driver", "fake", "--verbose")
    assert ran.code == 0
    assert ran.lines[0]["id"] != "s1"
    assert everything().items() > before.items()
    new, old = read_transcript(rebound(ran)), read_transcript(path)
    assert new.refusal is None
    assert new.header is not None
    assert (new.header.parent_session, new.header.cwd) == ("s1", str(Path.cwd()))
    kept = len(old.events)
    assert [one["type"] for one in new.events[:kept]] == [one["type"] for one in old.events]
    bindings = [one for one in new.events if "agentLoopDock" in str(one["data"])]
    assert [one["data"]["agentLoopDock"] for one in bindings] == [
        {"loop": "standard", "driver": "fake-driver"}
    ]
    assert bindings[0]["seq"] >= kept
    turns = [one["data"] for one in new.events if one["type"] == "turn/end"]
    assert [turn["reason"]["kind"] for turn in turns] == ["interrupted", "completed"]
    assert dshloop("session", "run", "more", "--resume", ran.lines[0]["id"]).code == 0


def test_people_are_told_where_it_went_on() -> None:
    damaged(30)
    ran = dshloop(*RUN[:-1], "--force-rebind", "--driver", "fake")
    assert ran.code == 0
    assert 'session "s1" stays as it is' in ran.err


@pytest.mark.parametrize("line", [1, 2])
def test_with_nothing_whole_it_begins_anew(line: int) -> None:
    path = damaged(line, b"\xff\xfe")
    if line == 1:
        path.write_bytes(b"\xff\n")
    before = path.read_bytes()
    ran = dshloop(*RUN, "--force-rebind", "--driver", "fake")
    assert ran.code == 0
    assert path.read_bytes() == before
    assert read_transcript(rebound(ran)).refusal is None


def test_an_event_that_nobody_knows_and_a_newer_format_are_not_taken_along() -> None:
    event = {"type": "new/thing", "seq": 3, "time": 1, "data": {}}
    damaged(5, json.dumps(event).encode())
    assert dshloop(*RUN).error["code"] == "SESSION_UNREADABLE"
    ran = dshloop(*RUN, "--force-rebind", "--driver", "fake")
    assert ran.code == 0
    new = read_transcript(rebound(ran))
    assert new.refusal is None
    assert not any(one["type"] == "new/thing" for one in new.events)


def test_the_binding_asked_for_is_the_one_that_counts() -> None:
    damaged(30)
    words = ("loop", "explain", "--resume", "--session", "s1", "--force-rebind", "--json")
    found = dshloop(*words).json
    assert (found["driver"], found["driver_source"], found["recorded"]) == (
        "default",
        "config",
        False,
    )
    assert "bound anew" in found["notices"][0]
    before = everything()
    refused = dshloop(*RUN, "--force-rebind")
    assert (refused.code, refused.error["code"]) == (3, "DRIVER_UNAVAILABLE")
    assert everything() == before


def test_it_does_nothing_to_a_log_that_can_be_read() -> None:
    assert dshloop("session", "run", "hi", "--driver", "fake", "--session-id", "s1").code == 0
    ran = dshloop(*RUN, "--force-rebind")
    assert (ran.code, ran.lines[0]["id"]) == (0, "s1")
    switched = dshloop(*RUN, "--force-rebind", "--driver", "ping")
    assert switched.error["code"] == "LOOP_SWITCH"


def test_it_belongs_to_resume() -> None:
    assert dshloop("session", "run", "hi", "--driver", "fake", "--force-rebind").code == 2
    assert dshloop("loop", "explain", "--force-rebind").code == 2


def test_every_line_of_a_hint_stands_below_its_error() -> None:
    damaged(30)
    first, *hints = dshloop(*RUN[:-1]).err.splitlines()
    assert first.startswith("error: ")
    assert len(hints) == 2
    assert all(line.startswith("  ") for line in hints)
