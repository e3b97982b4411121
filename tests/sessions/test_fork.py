"""Forks: a new session that begins with the turns of another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.errors import ForkPointError, SessionUnreadableError, UsageError
from dshloop.sessions.fork import Forked, fork_log
from dshloop.sessions.fsck import check_log
from dshloop.sessions.log import SessionLog
from dshloop.transcripts.dsh import read_transcript
from tests.conformance.cases import DATA
from tests.sessions.logs import conversation
from tests.transcripts.logs import HEADER, event, turn, write

EVENTS = conversation(3)
ENDS = [each["seq"] for each in EVENTS if each["type"] == "turn/end"]


def fork(source: Path, at: str | None = None) -> Forked:
    return fork_log(source, source.parent / "sessions", "new", at=at, now=5000)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    header = {**HEADER, "agentPreset": "minimal"}
    return write(tmp_path / "session.jsonl", EVENTS, header)


def test_a_fork_names_its_parent_and_ends_its_seed(source: Path) -> None:
    before = source.read_bytes()
    made = fork(source)
    read = read_transcript(made.path)
    assert read.header is not None
    raw = read.header.raw
    assert (raw["id"], raw["parentSession"], raw["createdAt"]) == ("new", "s-1", 5000)
    assert (raw["cwd"], raw["agentPreset"]) == ("/home/dev", "minimal")
    assert raw["seedLength"] == len(EVENTS) == made.events
    assert read.events[:-1] == EVENTS
    assert read.events[-1]["type"] == "session/end-seed"
    assert (made.turns, made.left_out) == (3, 0)
    assert check_log(made.path).findings == []
    assert source.read_bytes() == before


@pytest.mark.parametrize(
    ("at", "turns"),
    [("2", 2), ("turn:1", 1), (f"seq:{ENDS[1]}", 2), (f"seq:{ENDS[1] - 1}", 1), (str(ENDS[2]), 3)],
)
def test_a_fork_ends_where_a_turn_does(source: Path, at: str, turns: int) -> None:
    made = fork(source, at)
    assert made.turns == turns
    read = read_transcript(made.path)
    assert read.events[-2] == EVENTS[ENDS[turns - 1]]
    assert made.left_out == len(EVENTS) - ENDS[turns - 1] - 1


def test_a_late_title_belongs_to_the_turn_before_it(tmp_path: Path) -> None:
    title = event("session/title", 5, {"title": "Late", "messageSeqs": [2]})
    waiting = event("agent/inbox/spliced", 6, {"target": "next-turn", "start": 0, "inserted": []})
    source = write(tmp_path / "session.jsonl", [*turn(1, 0), title, waiting, *turn(2, 7)])
    read = read_transcript(fork(source, "1").path)
    assert [each["type"] for each in read.events][-2:] == ["session/title", "session/end-seed"]


def test_an_open_turn_is_left_out(tmp_path: Path) -> None:
    source = write(tmp_path / "session.jsonl", [*turn(1, 0), *turn(2, 5)[:3]])
    source.write_bytes(source.read_bytes() + b'{"torn')
    made = fork(source)
    assert (made.turns, made.events, made.left_out) == (1, 5, 3)


def test_what_is_behind_damage_is_left_out(tmp_path: Path) -> None:
    source = write(tmp_path / "session.jsonl", [*turn(1, 0), *turn(2, 7)])
    made = fork(source)
    assert (made.turns, made.left_out) == (1, 5)


@pytest.mark.parametrize("at", ["4", "turn:900", "seq:3"])
def test_no_end_of_a_turn_is_not_found(source: Path, at: str) -> None:
    if at == "4":
        at = "turn:4"
    with pytest.raises(ForkPointError):
        fork(source, at)
    assert not (source.parent / "sessions").exists()


def test_nothing_to_fork_is_told(tmp_path: Path) -> None:
    source = write(tmp_path / "session.jsonl", turn(1, 0)[:3])
    with pytest.raises(ForkPointError):
        fork(source)
    with pytest.raises(UsageError):
        fork(source, "end")
    write(source, turn(1, 0), {**HEADER, "version": 9})
    with pytest.raises(SessionUnreadableError):
        fork(source)


@pytest.mark.parametrize(
    "log", sorted((DATA / "sessions").glob("*.session*")), ids=lambda p: p.name
)
def test_logs_of_dsh_become_logs_of_ours(log: Path, tmp_path: Path) -> None:
    before = read_transcript(log)
    if not any(each["type"] == "turn/end" for each in before.events):
        with pytest.raises(ForkPointError):
            fork_log(log, tmp_path, "new", at=None, now=1)
        return
    made = fork_log(log, tmp_path, "new", at=None, now=1)
    after = read_transcript(made.path)
    assert check_log(made.path).findings == []
    assert after.counts == before.counts
    resumed = SessionLog.open(made.path, clock=lambda: 1.0, command="test")
    resumed.append("turn/start", {"turn": 9})
    resumed.close()
