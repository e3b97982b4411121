"""The append-only log: created late, mended on the first append, one writer."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dshloop.errors import (
    LockHeldError,
    SessionExistsError,
    SessionNotFoundError,
    SessionReadOnlyError,
    SessionUnreadableError,
    WriteFailedError,
)
from dshloop.sessions.log import SessionLog
from dshloop.transcripts.dsh import read_transcript
from tests.transcripts.logs import HEADER, event, line, turn, write, zstd_frames


def clock() -> float:
    return 1700.5


def create(root: Path, session_id: str = "s-1") -> SessionLog:
    return SessionLog.create(root, session_id, cwd="/home/dev", clock=clock, command="test")


def reopen(path: Path) -> SessionLog:
    return SessionLog.open(path, clock=clock, command="test")


def test_nothing_is_on_disk_before_the_first_event(tmp_path: Path) -> None:
    log = create(tmp_path)
    log.append("permission/preset", {"preset": "x"}, later=True)
    log.close()
    assert list(tmp_path.iterdir()) == []


def test_the_first_event_brings_header_and_what_was_kept_back(tmp_path: Path) -> None:
    log = create(tmp_path)
    log.append("permission/preset", {"preset": "x"}, later=True)
    log.append("turn/start", {"turn": 1})
    log.close()
    assert log.path == tmp_path / "--home-dev--" / "s-1" / "session.jsonl"
    read = read_transcript(log.path)
    assert read.header is not None
    assert read.header.created_at == 1_700_500
    assert read.events == log.events
    assert [each["seq"] for each in read.events] == [0, 1]
    assert read.findings == []


def test_files_are_private(tmp_path: Path) -> None:
    log = create(tmp_path / "sessions")
    log.append("turn/start", {"turn": 1})
    log.close()
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.path.parent.stat().st_mode) == 0o700
    assert sorted(path.name for path in log.path.parent.iterdir()) == [
        "session.jsonl",
        "session.lock",
    ]


def test_every_append_is_in_the_file_at_once(tmp_path: Path) -> None:
    log = create(tmp_path)
    for number in range(1, 4):
        log.append("turn/start", {"turn": number})
        assert read_transcript(log.path).events == log.events
    log.close()


def test_an_existing_session_is_not_overwritten(tmp_path: Path) -> None:
    first, second = create(tmp_path), create(tmp_path)
    first.append("turn/start", {"turn": 1})
    first.close()
    before = first.path.read_bytes()
    with pytest.raises(SessionExistsError):
        second.append("turn/start", {"turn": 1})
    second.close()
    with pytest.raises(SessionExistsError):
        create(tmp_path)
    assert first.path.read_bytes() == before


def test_opening_goes_on_with_the_next_seq(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", turn(1, 0))
    before = path.read_bytes()
    log = reopen(path)
    assert (len(log.events), log.stored, log.resumed) == (5, 5, True)
    log.append("turn/start", {"turn": 2})
    log.close()
    assert path.read_bytes().startswith(before)
    assert read_transcript(path).events[-1]["seq"] == 5


def test_opening_alone_changes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", turn(1, 0)[:3])
    path.write_bytes(path.read_bytes() + b'{"torn')
    before = path.read_bytes()
    reopen(path).close()
    assert path.read_bytes() == before


def test_a_log_cut_anywhere_is_whole_after_the_next_append(tmp_path: Path) -> None:
    first, *_, last = turn(1, 0)
    stored = [first, {**last, "seq": 1}, event("turn/start", 2, {"turn": 2})]
    whole = write(tmp_path / "whole", stored).read_bytes()
    path = tmp_path / "session.jsonl"
    for cut in range(len(line(HEADER)), len(whole) + 1):
        path.write_bytes(whole[:cut])
        kept = read_transcript(path).events
        log = reopen(path)
        log.append("session/end-seed", {})
        log.close()
        read = read_transcript(path)
        assert read.findings == []
        assert read.events[: len(kept)] == kept
        assert read.events[-1]["type"] == "session/end-seed"
        assert read.closers() == []
        starts = [each["type"] for each in read.events].count("turn/start")
        assert [each["type"] for each in read.events].count("turn/end") == starts
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "session.jsonl",
        "session.lock",
        "whole",
    ]


def test_whole_lines_that_are_cut_are_kept_beside(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", turn(1, 0))
    lost = b"{bad\n" + line(event("todo/write", 5, {"todos": []}))
    path.write_bytes(path.read_bytes() + lost)
    log = reopen(path)
    log.append("turn/start", {"turn": 2})
    log.close()
    assert read_transcript(path).findings == []
    assert [each.read_bytes() for each in tmp_path.glob("cut-*.jsonl")] == [lost]


def test_a_corrupt_log_is_refused_untouched(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", [*turn(1, 0), *turn(2, 6)])
    before = path.read_bytes()
    with pytest.raises(SessionUnreadableError, match="seq gap in committed region") as caught:
        reopen(path)
    assert caught.value.details["line"] == 7
    assert path.read_bytes() == before


def test_logs_of_dsh_are_never_written(tmp_path: Path) -> None:
    plain = write(tmp_path / "a", turn(1, 0), {**HEADER, "version": 4, "isSeeded": False})
    packed = tmp_path / "b"
    packed.write_bytes(zstd_frames([line(HEADER)]))
    for path in (plain, packed):
        with pytest.raises(SessionReadOnlyError):
            reopen(path)


def test_a_missing_log_leaves_no_lock_file(tmp_path: Path) -> None:
    with pytest.raises(SessionNotFoundError):
        reopen(tmp_path / "session.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_a_second_writer_is_told_who_the_first_is(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", turn(1, 0))
    script = (
        "import sys, time; from pathlib import Path; from dshloop.sessions.log import SessionLog\n"
        "log = SessionLog.open(Path(sys.argv[1]), clock=time.time, command='the first one')\n"
        "print('open', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with other:
        assert other.stdout is not None
        assert other.stdin is not None
        other.stdout.readline()
        with pytest.raises(LockHeldError) as caught:
            reopen(path)
        assert caught.value.details["pid"] == other.pid
        assert caught.value.details["command"] == "the first one"
        other.kill()
    reopen(path).close()


@pytest.mark.skipif(sys.platform == "win32", reason="RLIMIT_FSIZE is POSIX")
def test_a_full_disk_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    import resource
    import signal

    log = create(tmp_path)
    log.append("turn/start", {"turn": 1})
    before = log.path.read_bytes()
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, limits[1]))
    try:
        with pytest.raises(WriteFailedError):
            log.append("command/run", {"text": "x" * 500})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert log.path.read_bytes() == before
    assert len(log.events) == 1
    log.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    log.close()
    assert read_transcript(log.path).findings == []


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_a_clear_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(WriteFailedError, match="permission denied"):
        create(tmp_path / "sessions").append("turn/start", {"turn": 1})
