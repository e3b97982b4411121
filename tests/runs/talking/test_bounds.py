"""Runs that may take only so long, and only so many turns."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from dshloop.drivers import fake
from dshloop.errors import ExitCode
from dshloop.llm.messages import Chunk, ModelRequest, user_message
from dshloop.paths import Places
from dshloop.runs.talking import run as run_module
from dshloop.runs.talking.bounds import Bounds
from dshloop.runs.talking.conversation import Conversation, RunOptions
from dshloop.runs.talking.run import Ended, Happened, Record, run_session
from dshloop.sessions.catalog import entries
from dshloop.transcripts.dsh import read_transcript
from tests.host.scripted import text


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")


def go(places: Places, bounds: Bounds, *prompts: str, **more: Any) -> list[Record]:
    options = RunOptions(Path("/home/dev"), "test run", driver="fake", **more)
    return list(run_session(places, options, prompts, time.time, bounds))


class Deaf:
    """A model that says something and then hears of no abort."""

    provider = "driver-ping"

    async def stream(self, _request: ModelRequest) -> AsyncIterator[Chunk]:
        for chunk in text("so far"):
            yield chunk
        for _ in range(200):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)


def test_a_turn_that_hears_of_no_abort_is_left_open(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake, "PingAdapter", lambda *_: Deaf())
    monkeypatch.setattr(run_module, "GRACE", 0.1)
    ended = go(places, Bounds(timeout=0.1), "one", "two", session_id="s")[-1]
    assert isinstance(ended, Ended)
    assert (ended.outcome, ended.exit_code) == ("timeout", ExitCode.FAILED)
    (entry,) = entries(places)
    left = read_transcript(entry.path)
    assert [event["type"] for event in left.events].count("turn/end") == 0
    monkeypatch.undo()
    again = go(places, Bounds(), "more", resume="s")[-1]
    assert isinstance(again, Ended)
    ends = [e["data"] for e in read_transcript(entry.path).events if e["type"] == "turn/end"]
    assert [end["reason"]["kind"] for end in ends] == ["interrupted", "completed"]


def test_what_was_said_in_time_is_kept(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Deaf):
        async def stream(self, _request: ModelRequest) -> AsyncIterator[Chunk]:
            for chunk in text("so far"):
                yield chunk
            await asyncio.sleep(60)

    monkeypatch.setattr(fake, "PingAdapter", lambda *_: Slow())
    records = go(places, Bounds(timeout=0.2), "one", "two")
    events = [record.event for record in records if isinstance(record, Happened)]
    (message,) = [event["data"] for event in events if event["type"] == "assistant/message"]
    assert message["interrupted"] is True
    assert message["message"]["content"][0]["text"] == "so far"
    assert [event["type"] for event in events].count("turn/start") == 1


def test_turns_that_an_agent_starts_by_itself_count(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    say = Conversation.say

    def twice(self: Conversation, prompt: str) -> None:
        say(self, prompt)
        self.agent.followup(user_message("and more"))
        self.agent.followup(user_message("and still more"))

    monkeypatch.setattr(Conversation, "say", twice)
    ended = go(places, Bounds(max_turns=2), "one")[-1]
    assert isinstance(ended, Ended)
    assert (ended.outcome, ended.turns) == ("max-turns", 2)
    (entry,) = entries(places)
    kinds = [event["type"] for event in read_transcript(entry.path).events]
    assert kinds.count("turn/start") == kinds.count("turn/end") <= 3
    whole = go(places, Bounds(max_turns=3), "one")[-1]
    assert isinstance(whole, Ended)
    assert (whole.outcome, whole.turns) == ("completed", 3)
