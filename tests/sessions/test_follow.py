"""Following a log: no event is missed and none comes twice, whatever happens to its file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import SessionNotFoundError
from dshloop.sessions.follow import Follower, Note, follow
from dshloop.sessions.log import SessionLog
from tests.sessions.logs import conversation
from tests.transcripts.logs import HEADER, line, turn, write, zstd_frames

EVENTS = conversation(2)


def append(path: Path, *parts: bytes) -> None:
    with path.open("ab") as file:
        file.write(b"".join(parts))


def seqs(found: Iterator[Any]) -> list[int]:
    return [each["seq"] for each in found if not isinstance(each, Note)]


def notes(found: Iterator[Any]) -> list[str]:
    return [each.message for each in found if isinstance(each, Note)]


def test_what_is_appended_comes_once(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", turn(1, 0))
    follower = Follower(path)
    assert seqs(follower.read()) == [0, 1, 2, 3, 4]
    assert seqs(follower.read()) == []
    lines = [line(each) for each in turn(2, 5)]
    append(path, lines[0], lines[1][:10])
    assert seqs(follower.read()) == [5]
    append(path, lines[1][10:], *lines[2:])
    assert seqs(follower.read()) == [6, 7, 8, 9]
    assert (follower.turns_ended, follower.turn_open) == (2, False)


def test_a_log_written_byte_by_byte_is_followed(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", [])
    follower = Follower(path)
    got = seqs(follower.read())
    data = b"".join(map(line, turn(1, 0)))
    for at in range(0, len(data), 37):
        append(path, data[at : at + 37])
        got += seqs(follower.read())
    assert got == [0, 1, 2, 3, 4]


def test_a_tail_that_is_cut_and_written_anew_is_followed(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", turn(1, 0))
    append(path, b'{"torn')
    follower = Follower(path)
    assert seqs(follower.read()) == [0, 1, 2, 3, 4]
    log = SessionLog.open(path, clock=lambda: 9.0, command="test")
    log.append("turn/start", {"turn": 2})
    assert seqs(follower.read()) == [5]
    log.close()


def test_events_that_are_cut_off_and_others_in_their_place_are_new(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", [*turn(1, 0), *turn(2, 5)])
    follower = Follower(path)
    list(follower.read())
    write(path, turn(1, 0))
    assert notes(follower.read()) == ["the end of the file was cut off"]
    append(path, *map(line, turn(2, 5, "other words")))
    assert seqs(follower.read()) == [7, 8, 9]


def test_a_file_that_is_replaced_is_followed(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", EVENTS[:10])
    follower = Follower(path)
    list(follower.read())
    write(tmp_path / "new", EVENTS).replace(path)
    found = list(follower.read())
    assert notes(iter(found)) == ["the file was replaced"]
    assert seqs(iter(found)) == [each["seq"] for each in EVENTS[10:]]


def test_a_file_that_is_rewritten_in_place_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", turn(1, 0, "a"))
    follower = Follower(path)
    list(follower.read())
    with path.open("r+b") as file:
        file.write(line(HEADER) + b"".join(map(line, [*turn(1, 0, "bbbbb"), *turn(2, 5)])))
    found = list(follower.read())
    assert notes(iter(found)) == ["the file was rewritten"]
    assert seqs(iter(found)) == [2, 3, 4, 5, 6, 7, 8, 9]


def test_compressed_logs_are_followed(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl.zstd"
    path.write_bytes(zstd_frames([line(HEADER), b"".join(map(line, turn(1, 0)))]))
    follower = Follower(path)
    assert len(seqs(follower.read())) == 5
    append(path, zstd_frames([b"".join(map(line, turn(2, 5)))]))
    assert seqs(follower.read()) == [5, 6, 7, 8, 9]


def test_a_damaged_line_costs_itself_only(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", turn(1, 0))
    follower = Follower(path)
    list(follower.read())
    lines = [line(each) for each in turn(2, 5)]
    append(path, b"{bad\n", b"[1]\n", lines[0], lines[1][:-1], lines[2], b"\0" * 9, lines[3])
    assert seqs(follower.read()) == [5, 6, 7, 8]


def test_a_removed_log_ends_the_following(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", turn(1, 0))
    follower = Follower(path)
    list(follower.read())
    path.unlink()
    with pytest.raises(SessionNotFoundError):
        list(follower.read())
    assert list(follow(follower, lambda _: None, until_end=False)) == ["removed"]


def test_until_end_ends_with_the_turn(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", turn(1, 0)[:3])
    follower = Follower(path)
    list(follower.read())
    rest = iter([line(each) for each in turn(1, 0)[3:]])
    found = list(follow(follower, lambda _: append(path, next(rest)), until_end=True))
    assert found[-1] == "turn-ended"
    assert len(found) == 3


def test_until_end_waits_for_nobody(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", turn(1, 0)[:3])
    (tmp_path / "session.lock").touch()
    follower = Follower(path)
    list(follower.read())
    assert list(follow(follower, lambda _: None, until_end=True)) == ["abandoned"]
    append(path, *map(line, turn(1, 0)[3:]))
    list(follower.read())
    assert list(follow(follower, lambda _: None, until_end=True)) == ["turn-ended"]
