"""Sessions that are played again, with what their models and tools said then."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from dshloop.drivers.script import parse_script
from dshloop.errors import ReplayRefusedError
from dshloop.host.abort import AbortSignal
from dshloop.llm.messages import user_message
from dshloop.paths import Places
from dshloop.runs.interrupts import Running
from dshloop.runs.kept.recorded import read_recorded
from dshloop.runs.kept.replaying import Replay, Replayed
from dshloop.runs.talking.conversation import Conversation
from dshloop.runs.talking.options import RunOptions
from dshloop.sessions.catalog import entries
from dshloop.transcripts.vocabulary import Event
from tests.transcripts.logs import HEADER, turn, write

Hook = Callable[[Conversation, Event], None]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")


def record(places: Places, script: str, *prompts: str, hook: Hook | None = None) -> Path:
    """Run a session on a script; ``hook`` sees every event as it comes."""
    options = RunOptions(
        places.data.parent, "test", driver="fake", session_id="s", script=parse_script(script)
    )

    async def run() -> None:
        conversation = await Conversation.open(places, options, time.time)
        if hook is not None:
            conversation.agent.listen(lambda event: hook(conversation, event))
        for prompt in prompts:
            conversation.say(prompt)
            async for _event in conversation.events():
                pass
        await conversation.close()

    with Running() as running:
        running.run(run)
    (entry,) = entries(places)
    return entry.path


def play(places: Places, path: Path, **more: Any) -> Replayed:
    options = RunOptions(places.data.parent, "test", **more)
    return Replay(places, read_recorded(path), options, time.time, recorded=True).run()


def on(kind: str, act: Callable[[Conversation], object], number: int = 1) -> Hook:
    """Do something at an event's n-th coming, once the agent goes on."""
    count = 0

    def hook(conversation: Conversation, event: Event) -> None:
        nonlocal count
        count += event["type"] == kind
        if event["type"] == kind and count == number:
            act(conversation)

    return hook


CALLS = """
turns:
- steps:
  - text: looking
    calls:
    - {name: list, arguments: {path: .}}
    - {name: edit, arguments: {path: a.txt, old: before, new: after}}
    - {name: nosuch, arguments: {}}
  - done
- {reasoning: hm, text: an answer to something else}
"""


def test_models_and_tools_say_what_they_said(places: Places, tmp_path: Path) -> None:
    path = record(places, CALLS, "one", "two")
    before = path.read_bytes()
    (tmp_path / "more.txt").write_text("what list would tell now")
    done = play(places, path)
    assert (done.differences, done.turns, done.driver) == ([], 2, "fake-driver")
    assert path.read_bytes() == before
    assert len(entries(places)) == 1


def test_no_recorded_tool_is_run(places: Places, tmp_path: Path) -> None:
    script = "turns:\n- {calls: [{name: read, arguments: {path: a.txt}}]}\n- done\n"
    (tmp_path / "a.txt").write_text("as it was")
    path = record(places, script, "one")
    (tmp_path / "a.txt").unlink()
    assert play(places, path).same


def test_what_fails_fails_again(places: Places) -> None:
    script = """
turns:
- {text: half an answer, error: {message: no such key, code: AUTH}}
- {text: cut, end: max-tokens}
- {text: gone, end: disconnect}
"""
    path = record(places, script, "one", "two", "three")
    assert play(places, path).differences == []


@pytest.mark.slow
def test_what_is_asked_for_again_is_so_again(places: Places) -> None:
    script = "turns:\n- {text: at last, error: {message: busy, code: SERVER, times: 1}}\n"
    path = record(places, script, "one")
    kinds = [event["type"] for event in read_recorded(path).events]
    assert "llm/retry" in kinds
    assert play(places, path).differences == []


def test_an_answer_that_was_cut_off_is_so_again(places: Places) -> None:
    script = "turns:\n- {text: a long answer that nobody waits for, pace: 0.001}\n- after\n"
    hook = on("assistant/chunk", lambda talk: talk.cancel(), 4)
    path = record(places, script, "one", "two", hook=hook)
    recording = read_recorded(path).recording
    assert [each.cause for each in recording.turns] == [{"kind": "user"}, None]
    assert play(places, path).differences == []


def test_a_turn_that_was_aborted_at_its_tools_is_so_again(places: Places) -> None:
    path = record(places, CALLS, "one", "two", hook=on("tool/call", lambda talk: talk.cancel(), 3))
    done = play(places, path)
    assert done.differences == []
    assert done.turns == 2


def test_what_was_said_while_it_ran_is_said_then_again(places: Places) -> None:
    def also(talk: Conversation) -> None:
        talk.agent.steer(user_message("also this"))

    path = record(places, CALLS, "one", "two", hook=on("step/start", also))
    inputs = read_recorded(path).recording.turns[0].inputs
    assert {step: [m["content"][0]["text"] for m in said] for step, said in inputs.items()} == {
        1: ["one"], 2: ["also this"],
    }  # fmt: skip
    assert play(places, path).differences == []


def test_a_session_of_several_processes_is_played_as_one(places: Places) -> None:
    record(places, "turns: [one, two]", "first")
    options = RunOptions(places.data.parent, "test", resume="s")

    async def again() -> None:
        conversation = await Conversation.open(places, options, time.time)
        conversation.say("second")
        async for _event in conversation.events():
            pass
        await conversation.close()

    with Running() as running:
        running.run(again)
    (entry,) = entries(places)
    done = play(places, entry.path)
    assert (done.differences, done.turns) == ([], 2)


def test_an_attached_image_is_played(places: Places) -> None:
    from dshloop.runs.talking.attaching import Attachment
    from dshloop.sessions.image_size import ImageKind

    image = Attachment("a.png", b"bytes", ImageKind("image/png", 1, 1))
    options = RunOptions(
        places.data.parent, "test", driver="fake", session_id="s", attached=(image,)
    )

    async def run() -> None:
        conversation = await Conversation.open(places, options, time.time)
        conversation.say("look")
        async for _event in conversation.events():
            pass
        await conversation.close()

    with Running() as running:
        running.run(run)
    (entry,) = entries(places)
    assert play(places, entry.path).same


def changed(log: Path, folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Write a log with another content."""
    from dshloop.transcripts.dsh import read_transcript

    read = read_transcript(log)
    assert read.header is not None
    for event in read.events:
        change(event)
    return write(folder / "other.jsonl", read.events, read.header.raw)


def test_what_is_not_as_recorded_is_told(places: Places, tmp_path: Path) -> None:
    path = record(places, "turns: [an answer]", "one")

    def other(event: dict[str, Any]) -> None:
        if event["type"] == "request/header":
            event["data"]["header"]["system"] = "something else"

    (found,) = play(places, changed(path, tmp_path, other)).differences
    assert (found.kind, found.fact.type) == ("changed", "request/header")
    assert [change.path for change in found.changes] == ["system"]


def test_a_call_without_a_recorded_result_is_told(places: Places, tmp_path: Path) -> None:
    path = record(places, CALLS, "one")

    def without_result(event: dict[str, Any]) -> None:
        if event["type"] == "tool/result":
            event.update(type="todo/write", data={"todos": []})
            event.pop("surfaceOp", None)

    done = play(places, changed(path, tmp_path, without_result))
    new = [each.fact for each in done.differences if each.kind == "new"]
    assert {fact.type for fact in new} == {"tool/result"}
    assert all("NOT_RECORDED" in fact.key for fact in new)


def test_a_log_where_nobody_said_anything_is_refused(tmp_path: Path) -> None:
    plugin: Mapping[str, Any] = {"kind": "plugin", "plugin": "x"}
    events = turn(1, 0)
    events[2]["data"]["source"] = plugin
    with pytest.raises(ReplayRefusedError):
        read_recorded(write(tmp_path / "log.jsonl", events, HEADER))


def test_a_summary_that_was_asked_for_is_made_again(places: Places) -> None:
    script = parse_script("turns: [one, two, the summary, three]")
    options = RunOptions(places.data.parent, "test", driver="fake", session_id="s", script=script)

    async def run() -> None:
        conversation = await Conversation.open(places, options, time.time)
        for prompt in ("a", "b", "c"):
            if prompt == "c":
                await conversation.compact(AbortSignal())
            conversation.say(prompt)
            async for _event in conversation.events():
                pass
        await conversation.close()

    with Running() as running:
        running.run(run)
    (entry,) = entries(places)
    assert [event["type"] for event in read_recorded(entry.path).events].count(
        "compaction/summary"
    ) == 1
    assert play(places, entry.path).differences == []
