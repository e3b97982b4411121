"""Signals that end a process in good order, and at once when asked twice or too slow."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time

import pytest

from dshloop.runs import terminating
from dshloop.runs.terminating import terminations

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")


async def until_asked(asked: list[int], work: float = 0.0) -> None:
    """Wait in a block until the action was called, then for what is still to be done."""
    with terminations(asyncio.get_running_loop(), asked.append):
        os.kill(os.getpid(), signal.SIGTERM)
        while not asked:
            await asyncio.sleep(0.01)
        await asyncio.sleep(work)


def test_the_first_is_an_action_and_the_handlers_come_back() -> None:
    before = [signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGHUP)]
    asked: list[int] = []
    asyncio.run(until_asked(asked))
    assert asked == [signal.SIGTERM]
    assert [signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGHUP)] == before


def test_the_second_ends_at_once() -> None:
    asked: list[int] = []

    async def twice() -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(0.1, os.kill, os.getpid(), signal.SIGHUP)
        await until_asked(asked, 30)

    with pytest.raises(SystemExit) as ended:
        asyncio.run(twice())
    assert ended.value.code == 128 + signal.SIGHUP
    assert asked == [signal.SIGTERM]


def test_an_end_that_takes_too_long_is_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminating, "GRACE", 0.05)
    with pytest.raises(SystemExit) as ended:
        asyncio.run(until_asked([], 30))
    assert ended.value.code == 128 + signal.SIGTERM


def test_a_loop_that_is_stuck_is_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminating, "GRACE", 0.3)

    async def stuck() -> None:
        with terminations(asyncio.get_running_loop(), print):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(30)

    with pytest.raises(SystemExit) as ended:
        asyncio.run(stuck())
    assert ended.value.code == 128 + signal.SIGTERM


def test_in_another_thread_the_signals_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGTERM)
    seen: list[object] = []

    async def block() -> None:
        with terminations(asyncio.get_running_loop(), print):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=lambda: asyncio.run(block()))
    thread.start()
    thread.join()
    assert seen == [before]


def test_outside_of_the_loop_the_first_ends_at_once() -> None:
    asked: list[int] = []
    loop = asyncio.new_event_loop()
    try:
        with pytest.raises(SystemExit) as ended, terminations(loop, asked.append):
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        loop.close()
    assert (ended.value.code, asked) == (128 + signal.SIGTERM, [])


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    loop = asyncio.new_event_loop()
    try:
        with terminations(loop, lambda _number: None):
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
        loop.close()
