"""The driver `acp` on a stand-in agent: what is told, asked, cancelled, broken and resumed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dshloop.drivers.acp import Acp, usable_command
from dshloop.drivers.settings import EngineSettings
from dshloop.errors import EngineMissingError
from dshloop.host.tools import Execution
from tests.drivers.engines import SECRET, Stage, failure, of_type, reasons, said, say, shape


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    made = Stage(tmp_path, Acp)
    made.plan()
    return made


class Person:
    """Answers every question alike."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str]] = []

    async def ask(self, execution: Execution, reason: str | None) -> str:
        self.asked.append((execution.name, execution.raw_arguments))
        if self.answer == "never":
            await asyncio.sleep(60)
        return self.answer


def test_words_stream_and_a_call_ends_a_step(stage: Stage) -> None:
    async def scene() -> None:
        stage.plan("tool")
        async with stage.agent() as agent:
            await say(agent, "hi")
            assert shape(agent) == [
                "agent/inbox/spliced", "turn/start", "agent/inbox/spliced", "step/start",
                "user/message", "request/context", "assistant/message", "tool/call",
                "tool/result", "step/end", "step/start", "assistant/message", "step/end",
                "turn/end",
            ]  # fmt: skip
            assert said(agent) == ["heard ", "hi"]
            call, result = of_type(agent, "tool/call", "tool/result")
            assert (call["data"]["name"], call["data"]["arguments"]) == ("look", '{"at": 1}')
            assert result["sourceEventSeqs"] == [call["seq"]]
            block = result["data"]["message"]["content"][0]
            assert block["content"] == [{"type": "text", "text": "found"}]
            asked = of_type(agent, "assistant/message")[0]["data"]["message"]["content"]
            assert [one["type"] for one in asked] == ["text", "tool-call"]
            first = of_type(agent, "assistant/message")[0]
            chunks = [one["seq"] for one in of_type(agent, "assistant/chunk")]
            assert first["sourceEventSeqs"] == [seq for seq in chunks if seq < first["seq"]]
            assert reasons(agent) == [{"kind": "completed"}]

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("answer", "outcome", "failed"),
    [("allowed-once", "allowed-once", False), ("rejected", "rejected", True)],
)
def test_permission_is_asked_and_recorded(
    stage: Stage, answer: str, outcome: str, failed: bool
) -> None:
    async def scene() -> None:
        stage.plan("ask")
        stage.approval = person = Person(answer)
        async with stage.agent() as agent:
            await say(agent, "hi")
            asked, decided = of_type(agent, "approval/asked", "approval/decided")
            assert (asked["data"]["toolName"], asked["data"]["callId"]) == ("look", "c1")
            assert decided["data"] == {"id": asked["data"]["id"], "outcome": outcome}
            (result,) = of_type(agent, "tool/result")
            assert ("error" in result["data"]) is failed
            assert [name for name, _ in person.asked] == ["look"]

    asyncio.run(scene())


def test_without_anybody_to_ask_the_answer_is_no(stage: Stage) -> None:
    async def scene() -> None:
        stage.plan("ask")
        async with stage.agent() as agent:
            await say(agent, "hi")
            (decided,) = of_type(agent, "approval/decided")
            assert decided["data"]["outcome"] == "unavailable"
            (result,) = of_type(agent, "tool/result")
            assert result["data"]["message"]["content"][0]["isError"] is True

    asyncio.run(scene())


def test_an_abort_answers_an_open_question(stage: Stage) -> None:
    async def scene() -> None:
        stage.plan("ask")
        stage.approval = Person("never")
        async with stage.agent() as agent:
            agent.listen(lambda event: _cancel_at(agent, event, "approval/asked"))
            await say(agent, "hi")
            (decided,) = of_type(agent, "approval/decided")
            assert decided["data"]["outcome"] == "cancelled"
            assert reasons(agent)[0]["kind"] == "aborted"

    asyncio.run(scene())


def test_a_question_is_no_silence(stage: Stage) -> None:
    class Slow(Person):
        async def ask(self, execution: Execution, reason: str | None) -> str:
            await asyncio.sleep(0.8)
            return "allowed-once"

    async def scene() -> None:
        stage.plan("answer", "ask")
        stage.approval = Slow("")
        async with stage.agent() as agent:
            await say(agent, "one")
            agent.link._settings = EngineSettings(  # type: ignore[attr-defined]
                stage.settings.variables, None, stage.settings.acp_command, 0.5
            )
            await say(agent, "hi")
            assert reasons(agent)[-1] == {"kind": "completed"}

    asyncio.run(scene())


@pytest.mark.parametrize("word", ["cancel", pytest.param("deaf", marks=pytest.mark.slow)])
def test_a_cancelled_turn_keeps_the_text_so_far(stage: Stage, word: str) -> None:
    async def scene() -> None:
        stage.plan(word, "answer")
        async with stage.agent() as agent:
            agent.listen(lambda event: _cancel_at(agent, event, "assistant/chunk"))
            await say(agent, "one")
            (message,) = of_type(agent, "assistant/message")
            assert message["data"]["interrupted"] is True
            assert said(agent) == ["heard "]
            assert reasons(agent) == [{"kind": "aborted", "reason": {"kind": "user"}}]
        async with stage.agent(resume=True) as agent:
            await say(agent, "two")
            assert said(agent)[1:] == ["heard two"]

    asyncio.run(scene())


def test_an_error_of_the_agent_is_told_and_the_process_stays(stage: Stage) -> None:
    async def scene() -> None:
        stage.plan("refused", "answer")
        async with stage.agent() as agent:
            await say(agent, "one", "two")
            error = reasons(agent)[0]["error"]
            assert error["code"] == "ENGINE_FAILED"
            assert SECRET not in error["message"]
            assert said(agent) == ["heard two"]
        assert stage.methods().count("initialize") == 1

    asyncio.run(scene())


def test_a_plan_and_usage_are_recorded(stage: Stage) -> None:
    async def scene() -> None:
        stage.plan("plan")
        async with stage.agent() as agent:
            await say(agent, "one")
            (todo,) = of_type(agent, "todo/write")
            assert todo["data"] == {"todos": [{"content": "first", "status": "pending"}]}
            (message,) = of_type(agent, "assistant/message")
            assert message["data"]["usage"] == {"inputTokens": 3, "outputTokens": 2}

    asyncio.run(scene())


def test_another_version_of_the_protocol_is_refused(stage: Stage) -> None:
    async def scene() -> None:
        stage.variables["ENGINE_VERSION"] = "7"
        async with stage.agent() as agent:
            await say(agent, "one")
            assert failure(agent)["code"] == "ENGINE_VERSION"
            assert failure(agent)["details"]["version"] == 7

    asyncio.run(scene())


def test_its_session_is_resumed_by_the_next_process(stage: Stage) -> None:
    async def scene() -> None:
        async with stage.agent() as agent:
            await say(agent, "one")
        async with stage.agent(resume=True) as agent:
            await say(agent, "two")
        (resumed,) = [params for method, params in stage.asked if method == "session/resume"]
        assert (resumed["sessionId"], resumed["cwd"]) == ("theirs", str(stage.folder))

    asyncio.run(scene())


def test_what_is_missing_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EngineMissingError) as caught:
        usable_command(EngineSettings({"PATH": ""}))
    assert "--command" in str(caught.value.hint)
    with pytest.raises(EngineMissingError, match="no program nobody"):
        usable_command(EngineSettings({"PATH": str(tmp_path)}, acp_command=("nobody",)))
    monkeypatch.setattr("dshloop.drivers.acp.find_spec", lambda _name: None)
    with pytest.raises(EngineMissingError) as caught:
        usable_command(EngineSettings({"PATH": ""}, acp_command=("nobody",)))
    assert "dshloop[acp]" in str(caught.value.hint)


def _cancel_at(agent: Any, event: Any, kind: str) -> None:
    if event["type"] == kind and event["data"].get("chunk", {}).get("type") != "block-start":
        asyncio.get_running_loop().call_soon(agent.cancel)
