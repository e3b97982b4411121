"""v0 to v4 and back: what both formats know is the same afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dshloop.sessions.surface import Surface
from dshloop.sessions.to_v0 import v0_events
from dshloop.sessions.to_v4 import v4_events
from dshloop.transcripts.dsh import read_transcript, stream_chunks
from tests.conformance.cases import DATA
from tests.sessions.logs import conversation, message
from tests.transcripts.logs import HEADER, event, turn, write

V4_HEADER = {**HEADER, "version": 4, "isSeeded": False}
LOGS = sorted((DATA / "sessions").glob("*.session*"))


def texts(events: list[dict[str, Any]]) -> list[Any]:
    """Role and text of what the model sees, system prompts aside."""
    seen = []
    for shown in Surface(events).messages():
        if shown.get("role") == "system":
            continue
        blocks = shown["content"]
        if blocks and blocks[0].get("type") == "tool-result":
            blocks = blocks[0]["content"]
        calls = [block["id"] for block in blocks if block.get("type") == "tool-call"]
        seen.append(([block.get("text") for block in blocks if "text" in block], calls))
    return seen


def check(tmp_path: Path, events: list[dict[str, Any]], header: dict[str, Any]) -> None:
    name = "session.v4.jsonl" if header["version"] else "session.jsonl"
    assert read_transcript(write(tmp_path / name, events, header)).findings == []


def test_chunks_go_into_the_stream_of_their_message(tmp_path: Path) -> None:
    v4 = list(v4_events(conversation(2)))
    check(tmp_path, v4, V4_HEADER)
    messages = [each for each in v4 if each["type"] == "assistant/message"]
    for each in messages:
        text = "".join(record["chunk"]["text"] for record in stream_chunks(each))
        assert text == each["data"]["message"]["content"][0]["text"]
        assert "sourceEventSeqs" not in each
    result = next(each for each in v4 if each["type"] == "tool/result")
    assert result["data"]["message"]["role"] == "tool"
    assert v4[result["sourceEventSeqs"][0]]["type"] == "tool/call"


def test_there_and_back_is_the_same(tmp_path: Path) -> None:
    events = conversation(2, calls=2)
    assert list(v0_events(v4_events(events))) == events


def test_an_answer_that_failed_is_an_attempt(tmp_path: Path) -> None:
    events = turn(1, 0)
    place = {"turn": 1, "step": 1}
    chunk = {"type": "text-delta", "index": 0, "text": "half"}
    events.insert(3, event("assistant/chunk", 3, {**place, "chunk": chunk}))
    v4 = list(v4_events([{**each, "seq": seq} for seq, each in enumerate(events)]))
    assert [each["type"] for each in v4][3:5] == ["assistant/attempt", "step/end"]
    check(tmp_path, v4, V4_HEADER)


def test_the_system_prompt_comes_first_in_its_step_and_once(tmp_path: Path) -> None:
    made: list[dict[str, Any]] = []
    for number in (1, 2):
        whole = turn(number, 0)
        header = {"header": {"system": "be kind", "config": {}}, "reason": "initial"}
        made += [*whole[:3], event("request/header", 0, header), *whole[3:]]
    v4 = list(v4_events([{**each, "seq": seq} for seq, each in enumerate(made)]))
    kinds = [each["type"] for each in v4]
    assert kinds[:4] == ["turn/start", "step/start", "system/message", "user/message"]
    assert kinds.count("system/message") == 1
    assert all("system" not in e["data"]["header"] for e in v4 if e["type"] == "request/header")
    check(tmp_path, v4, V4_HEADER)


def test_the_source_of_a_plugins_message_is_the_plugin(tmp_path: Path) -> None:
    recalled = message("old", kind="plugin", plugin="agentmemory", form="recall")
    put = {"target": "next-step", "start": 0, "inserted": [recalled]}
    events = [event("agent/inbox/spliced", 0, put), event("user/message", 1, recalled)]
    events[1]["surfaceOp"] = "append"
    v4 = list(v4_events(events))
    producer = {"kind": "agentmemory", "form": "recall"}
    assert v4[0]["data"]["inserted"][0]["source"] == producer
    assert v4[1]["data"]["source"] == producer


def test_what_only_one_format_knows_stays_ignorable(tmp_path: Path) -> None:
    v4 = [event("model/selection", 0, {"provider": "p", "model": "m"}), *turn(1, 1)]
    v0 = list(v0_events(v4))
    assert (v0[0]["type"], v0[0]["ignorable"]) == ("model/selection", True)
    check(tmp_path, v0, HEADER)


def test_replacements_are_named_as_each_format_does(tmp_path: Path) -> None:
    events = turn(1, 0)
    new = dict(events[2], surfaceOp={"op": "replace", "start": 2, "end": 2}, sourceEventSeqs=[2])
    events = [*events, *({**each, "seq": 5 + at} for at, each in enumerate([new]))]
    v4 = list(v4_events(events))
    assert v4[-1]["surfaceOp"] == {"op": "replace", "startSeq": 2, "endSeq": 2}
    assert list(v0_events(v4)) == events


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.name)
def test_the_model_sees_the_same_of_real_logs(log: Path, tmp_path: Path) -> None:
    read = read_transcript(log)
    if read.version == 0:
        other = list(v4_events(read.events))
        check(tmp_path, other, V4_HEADER)
    else:
        other = list(v0_events(read.events))
        check(tmp_path, other, HEADER)
    assert [each["seq"] for each in other] == list(range(len(other)))
    assert texts(other) == texts(read.events)
