"""Whole runs: records, resuming, refusing, interrupts, and what is on disk."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from dshloop.drivers import fake
from dshloop.errors import (
    DriverUnavailableError,
    ExitCode,
    LockHeldError,
    LoopSwitchError,
    SessionExistsError,
    SessionNotFoundError,
    SessionReadOnlyError,
    SessionUnreadableError,
)
from dshloop.paths import Places
from dshloop.runs import interrupts as interrupts_module
from dshloop.runs.talking import run as run_module
from dshloop.runs.talking.conversation import Conversation, RunOptions
from dshloop.runs.talking.run import Ended, Happened, Opened, Record, run_session
from dshloop.sessions.catalog import entries
from dshloop.transcripts.dsh import read_transcript
from tests.host.scripted import Scripted, finish, text
from tests.transcripts.logs import HEADER, event, turn, write


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")


def options(**more: Any) -> RunOptions:
    return RunOptions(**{"cwd": Path("/home/dev"), "command": "test run", **more})


def go(places: Places, *prompts: str, **more: Any) -> list[Record]:
    return list(run_session(places, options(**more), prompts, time.time))


def kinds(records: list[Record]) -> list[str]:
    found = [record.event["type"] for record in records if isinstance(record, Happened)]
    return [kind for kind in found if kind != "assistant/chunk"]


def only_log(places: Places) -> Path:
    (entry,) = entries(places)
    return entry.path


def play(monkeypatch: pytest.MonkeyPatch, *scripts: Any) -> None:
    """Have the fake driver answer with scripts instead of its reply."""
    adapter = Scripted(*scripts)
    monkeypatch.setattr(fake, "PingAdapter", lambda *_: adapter)


def test_a_run_is_a_session_its_events_and_an_end(places: Places) -> None:
    opened, *middle, ended = go(places, "hello", "again", driver="fake")
    assert isinstance(opened, Opened)
    assert (opened.loop, opened.driver, opened.resumed) == ("standard", "fake-driver", False)
    assert isinstance(ended, Ended)
    assert (ended.outcome, ended.turns, ended.exit_code) == ("completed", 2, ExitCode.DONE)
    happened = [record.event for record in middle if isinstance(record, Happened)]
    assert read_transcript(only_log(places)).events == happened


def test_the_log_is_where_design_and_header_say(places: Places) -> None:
    go(places, "hello", driver="fake", session_id="my session")
    path = only_log(places)
    assert path == places.sessions / "--home-dev--" / "my~0020session" / "session.jsonl"
    header = read_transcript(path).header
    assert header is not None
    assert (header.id, header.cwd, header.version) == ("my session", "/home/dev", 0)


def test_resuming_twice_counts_turns_on(places: Places) -> None:
    go(places, "one", driver="fake")
    second = go(places, "two", resume="last")
    third = go(places, "three", resume="last", driver="fake")
    events = read_transcript(only_log(places)).events
    assert [e["data"]["turn"] for e in events if e["type"] == "turn/start"] == [1, 2, 3]
    assert [e["seq"] for e in events] == list(range(len(events)))
    for records in (second, third):
        assert kinds(records)[0] == "session/end-seed"
        assert kinds(records).count("request/header") == 1
        assert "request/context" not in kinds(records)
        assert "agent-preset/selected" not in kinds(records)
    reasons = [e["data"]["reason"] for e in events if e["type"] == "request/header"]
    assert reasons == ["initial", "resume", "resume"]


def test_a_ping_session_is_recorded_as_default_and_resumes(places: Places) -> None:
    go(places, "one", driver="ping")
    opened, *_ = go(places, "two", resume="last")
    assert isinstance(opened, Opened)
    assert opened.driver == "default"
    go(places, "three", resume="last", driver="ping")


def test_another_driver_is_refused_and_nothing_changes(places: Places) -> None:
    go(places, "one", driver="fake", session_id="s")
    before = only_log(places).read_bytes()
    with pytest.raises(LoopSwitchError) as caught:
        go(places, "two", resume="s", driver="ping")
    assert caught.value.message.startswith(
        'session "s" is bound to driver "fake-driver" and cannot be resumed with driver "default"; '
    )
    assert only_log(places).read_bytes() == before
    go(places, "two", resume="s")


def test_a_taken_id_is_refused_wherever_it_is(places: Places) -> None:
    go(places, "one", driver="fake", session_id="s")
    with pytest.raises(SessionExistsError):
        go(places, "one", driver="fake", session_id="s", cwd=Path("/else"))
    folder = places.dsh_sessions / "--x--" / "theirs"
    folder.mkdir(parents=True)
    write(folder / "session.jsonl", turn(1, 0))
    with pytest.raises(SessionExistsError):
        go(places, "one", driver="fake", session_id="theirs")


def test_unknown_sessions_and_drivers_leave_nothing(places: Places) -> None:
    with pytest.raises(SessionNotFoundError):
        go(places, "one", resume="nope")
    with pytest.raises(DriverUnavailableError):
        go(places, "one")
    assert not places.data.exists()


def test_sessions_of_dsh_are_not_written(places: Places) -> None:
    folder = places.dsh_sessions / "--home-dev--" / "session-1"
    folder.mkdir(parents=True)
    path = write(folder / "session.jsonl", turn(1, 0), {**HEADER, "id": "session-1"})
    before = path.read_bytes()
    with pytest.raises(SessionReadOnlyError, match="belongs to dsh"):
        go(places, "two", resume="session-1", driver="fake")
    assert path.read_bytes() == before
    assert [each.name for each in folder.iterdir()] == ["session.jsonl"]


def test_a_corrupt_session_is_refused(places: Places) -> None:
    go(places, "one", driver="fake", session_id="s")
    path = only_log(places)
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:5], *lines[6:]]))
    with pytest.raises(SessionUnreadableError):
        go(places, "two", resume="s")


def test_an_open_turn_is_closed_as_interrupted(places: Places) -> None:
    go(places, "one", driver="fake", session_id="s")
    path = only_log(places)
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join(lines[:30]) + b'\n{"type":"assist')
    records = go(places, "two", resume="s")
    assert kinds(records)[:4] == ["step/end", "turn/end", "session/end-seed", "agent/inbox/spliced"]
    read = read_transcript(path)
    assert read.findings == []
    reasons = [e["data"]["reason"]["kind"] for e in read.events if e["type"] == "turn/end"]
    assert reasons == ["interrupted", "completed"]
    ended = records[-1]
    assert isinstance(ended, Ended)
    assert (ended.outcome, ended.turns) == ("completed", 1)


def test_a_second_run_on_a_session_is_refused_with_the_owner(places: Places) -> None:
    first = run_session(places, options(driver="fake", session_id="s"), ["a", "b"], time.time)
    next(first)
    next(first)
    with pytest.raises(LockHeldError) as caught:
        go(places, "two", resume="s")
    assert caught.value.details["pid"] == os.getpid()
    first.close()
    go(places, "two", resume="s")


def test_leaving_a_run_early_aborts_its_turn(places: Places) -> None:
    run = run_session(places, options(driver="fake", session_id="s"), ["a"], time.time)
    for record in run:
        if isinstance(record, Happened) and record.event["type"] == "assistant/chunk":
            break
    run.close()
    events = read_transcript(only_log(places)).events
    assert events[-1]["data"]["reason"] == {"kind": "aborted", "reason": {"kind": "user"}}


def test_a_failed_turn_ends_the_run(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = {"message": "no", "code": "AUTH"}
    play(monkeypatch, [finish("error", failure=failed)])
    sent: list[str] = []

    def prompts() -> Iterator[str]:
        for prompt in ("one", "two"):
            sent.append(prompt)
            yield prompt

    records = list(run_session(places, options(driver="fake"), prompts(), time.time))
    ended = records[-1]
    assert isinstance(ended, Ended)
    assert (ended.outcome, ended.failure) == ("error", failed)
    assert ended.exit_code == ExitCode.FAILED
    assert sent == ["one"]


def test_max_tokens_is_a_failure(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch, [*text("so"), finish("max-tokens")])
    ended = go(places, "one", driver="fake")[-1]
    assert isinstance(ended, Ended)
    assert (ended.outcome, ended.exit_code) == ("max-tokens", ExitCode.FAILED)


def test_an_interrupt_keeps_the_text(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch, [*text("so far"), 30.0, finish()])
    records: list[Record] = []
    for record in run_session(places, options(driver="fake"), ["one", "two"], time.time):
        records.append(record)
        if isinstance(record, Happened) and record.event["type"] == "assistant/chunk":
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    ended = records[-1]
    assert isinstance(ended, Ended)
    assert (ended.outcome, ended.exit_code) == ("aborted", ExitCode.INTERRUPTED)
    messages = [r.event for r in records if isinstance(r, Happened)]
    (message,) = [e["data"] for e in messages if e["type"] == "assistant/message"]
    assert message["interrupted"] is True
    assert message["message"]["content"][0]["text"] == "so far"


def test_an_interrupt_after_the_last_event_still_ends_the_run(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = Conversation.wait

    async def late(self: Conversation) -> None:
        monkeypatch.setattr(Conversation, "wait", wait)
        while self.agent.status == "running":
            await asyncio.sleep(0)
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(0)

    monkeypatch.setattr(Conversation, "wait", late)
    records = go(places, "one", "two", driver="fake")
    ended = records[-1]
    assert isinstance(ended, Ended)
    assert (ended.outcome, ended.turns, ended.exit_code) == ("aborted", 1, ExitCode.INTERRUPTED)
    written = read_transcript(only_log(places)).events
    shown = [record.event for record in records if isinstance(record, Happened)]
    assert shown == written
    assert written[-1]["data"]["reason"] == {"kind": "completed"}


def test_an_interrupt_after_the_loop_has_stopped_still_ends_the_run(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = asyncio.Runner.run

    def late(runner: asyncio.Runner, coro: Any, **more: Any) -> Any:
        work = coro.cr_frame.f_locals.get("work")
        waiting = getattr(work, "__self__", None)
        result = run(runner, coro, **more)
        if isinstance(waiting, Conversation) and waiting.agent.status == "idle":
            monkeypatch.setattr(asyncio.Runner, "run", run)
            signal.raise_signal(signal.SIGINT)
        return result

    monkeypatch.setattr(asyncio.Runner, "run", late)
    ended = go(places, "one", "two", driver="fake")[-1]
    assert isinstance(ended, Ended)
    assert (ended.outcome, ended.turns) == ("aborted", 1)


def test_one_interrupt_at_any_line_of_a_run_leaves_no_turn_open(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    runners: list[asyncio.Runner] = []

    class Noted(asyncio.Runner):
        def __init__(self) -> None:
            super().__init__()
            runners.append(self)

    monkeypatch.setattr(asyncio, "Runner", Noted)
    number, reached = 0, True
    while reached:
        number += 1
        play(monkeypatch, [*text("so far"), finish()])
        session_id = f"s{number}"
        run = run_session(places, options(driver="fake", session_id=session_id), ["one"], time.time)
        reached = interrupted_at(run, number)
        while runners:  # an interrupt at the edge of the block leaves its loop open
            runners.pop().close()
        logs = list(places.sessions.glob(f"*/{session_id}/session.jsonl"))
        reads = [read_transcript(path) for path in logs]
        assert [(read.findings, read.closers()) for read in reads] == [([], [])] * len(logs), number
    assert number > 100


def interrupted_at(run: Iterator[Record], number: int) -> bool:
    """Go through a run with a Ctrl-C at its so-manyeth line; tell whether there is such a line."""
    ours = {run_module.__file__, interrupts_module.__file__}
    left = number

    def line(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename not in ours:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                signal.raise_signal(signal.SIGINT)
        return line

    before = signal.getsignal(signal.SIGINT)
    sys.settrace(line)
    try:
        outcome = [record.exit_code for record in run if isinstance(record, Ended)]
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
        run.close()
        signal.signal(signal.SIGINT, before)
    assert left > 0 or outcome == [ExitCode.INTERRUPTED]
    return left <= 0


def test_a_prompt_left_behind_by_a_crash_is_answered_first(places: Places) -> None:
    go(places, "one", driver="fake", session_id="s")
    path = only_log(places)
    seq = len(read_transcript(path).events)
    left = {"content": [{"type": "text", "text": "left"}], "source": {"kind": "user"}}
    data = {"target": "next-turn", "start": 0, "inserted": [{**left, "role": "user", "id": "m"}]}
    from tests.transcripts.logs import line

    path.write_bytes(path.read_bytes() + line(event("agent/inbox/spliced", seq, data)))
    ended = go(places, "two", resume="s")[-1]
    assert isinstance(ended, Ended)
    assert ended.turns == 2
