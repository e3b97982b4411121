"""Chunks that are none: the request fails with the reason, and the session goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dshloop.host.agent import Agent, AgentOptions
from dshloop.host.chunks import ChunkError, require_chunk
from dshloop.llm.messages import user_message
from dshloop.sessions.log import SessionLog
from dshloop.transcripts.dsh import read_transcript
from tests.host.scripted import Scripted, agent_on, call, data_of, finish, kinds, text

USAGE = {"inputTokens": 1, "outputTokens": 2}
BAD: list[tuple[Any, str]] = [
    ("x", "a chunk must be a mapping with a type, not str"),
    (None, "a chunk must be a mapping with a type, not NoneType"),
    ({}, "a chunk must be a mapping with a type"),
    ({"type": 7}, "a chunk must be a mapping with a type"),
    ({"type": "text-delta", "text": "x"}, "a text-delta needs an index"),
    ({"type": "text-delta", "index": True, "text": "x"}, "a text-delta needs an index"),
    ({"type": "text-delta", "index": -1, "text": "x"}, "a text-delta needs an index"),
    ({"type": "text-delta", "index": 0, "text": 7}, "the text of a text-delta"),
    ({"type": "reasoning-delta", "index": 0}, "the text of a reasoning-delta"),
    ({"type": "tool-call-delta", "index": 0, "id": "a"}, "argumentsDelta of a tool-call-delta"),
    ({"type": "tool-call-delta", "index": 0, "argumentsDelta": "", "id": 7}, "id of a tool-call"),
    ({"type": "block-start", "index": 0, "blockType": "wat"}, "blockType of a block-start"),
    ({"type": "block-start", "index": 0, "blockType": []}, "blockType of a block-start"),
    ({"type": "block-end", "index": 0, "block": "x"}, "a block-end needs a block"),
    ({"type": "block-end", "index": 0, "block": {"type": "text"}}, "text of a text block"),
    (
        {"type": "block-end", "index": 0, "block": {"type": "tool-call", "id": "a", "name": None}},
        "name of a tool-call block",
    ),
    ({"type": "usage", "usage": "lots"}, "usage must be a mapping"),
    ({"type": "usage"}, "usage must be a mapping"),
    ({"type": "usage", "usage": {**USAGE, "inputTokens": float("nan")}}, "inputTokens of a usage"),
    ({"type": "usage", "usage": {**USAGE, "outputTokens": -1}}, "outputTokens of a usage"),
    ({"type": "finish", "reason": {"kind": "wat"}}, "the reason of a finish"),
    ({"type": "finish", "reason": "stop"}, "the reason of a finish"),
    ({"type": "finish", "reason": {"kind": ["stop"]}}, "the reason of a finish"),
    ({"type": "finish", "reason": {"kind": "error", "failure": "no"}}, "the failure of a finish"),
    (
        {"type": "finish", "reason": {"kind": "stop"}, "replayState": {1, 2}},
        "not JSON serializable",
    ),
    ({"type": "usage", "usage": {**USAGE, "cost": float("inf")}}, "JSON compliant"),
    ({"type": "own", "what": object()}, "not JSON serializable"),
]


@pytest.mark.parametrize(("chunk", "said"), BAD)
def test_a_bad_chunk_ends_the_request_and_not_the_session(
    tmp_path: Path, chunk: Any, said: str
) -> None:
    log = SessionLog.create(tmp_path, "s", cwd="/", clock=lambda: 1.0, command="test")
    script = [*text("so"), chunk, finish()]
    adapter = Scripted(script, [*text("fine"), finish()])
    options = AgentOptions("p", "m", system=None)

    async def run() -> Any:
        agent = Agent(log, options, {"p": adapter})
        agent.publish()
        agent.followup(user_message("one"))
        await agent.when_idle()
        agent.followup(user_message("two"))
        await agent.when_idle()
        await agent.dispose()
        return agent

    agent = asyncio.run(run())
    assert agent.fault is None
    assert read_transcript(log.path).findings == []
    first, second = (data["reason"] for data in data_of(agent, "turn/end"))
    assert first["kind"] == "error"
    assert first["error"]["code"] == "MALFORMED_RESPONSE"
    assert said in first["error"]["message"]
    assert second == {"kind": "completed"}
    assert kinds(agent).count("step/end") == 2
    assert len(data_of(agent, "assistant/message")) == 1


def test_an_answer_with_two_calls_of_one_id_fails() -> None:
    same = [call("n"), {**call("n"), "index": 2}, finish("tool-calls")]

    async def run() -> Agent:
        agent = agent_on(Scripted(same))
        agent.followup(user_message("one"))
        await agent.when_idle()
        return agent

    agent = asyncio.run(run())
    (end,) = data_of(agent, "turn/end")
    assert end["reason"]["error"]["code"] == "MALFORMED_RESPONSE"
    assert not data_of(agent, "tool/call")


def test_chunks_of_the_spec_are_taken() -> None:
    good = [
        *text("a", ""),
        {"type": "reasoning-delta", "index": 1, "text": "hm"},
        {"type": "tool-call-delta", "index": 2, "id": "c", "name": "n", "argumentsDelta": "{"},
        {"type": "tool-call-delta", "index": 2, "argumentsDelta": "}"},
        {"type": "block-start", "index": 0, "blockType": "text"},
        {"type": "block-end", "index": 3, "block": {"type": "image", "attachment": {}}},
        call("n"),
        {"type": "usage", "usage": USAGE},
        {"type": "usage", "usage": {}},
        finish(),
        finish("error", failure={"message": "no", "code": "AUTH", "status": 401}),
        {"type": "of the future", "x": 1},
    ]
    for chunk in good:
        require_chunk(chunk)


def test_engines_of_their_own_can_not_record_a_bad_chunk_either() -> None:
    agent = agent_on(Scripted([]))
    with pytest.raises(ChunkError):
        agent.append("assistant/chunk", {"turn": 1, "step": 1, "chunk": "x"})
    with pytest.raises(ChunkError):
        agent.append("assistant/chunk", "x")
    assert agent.session.events == []
