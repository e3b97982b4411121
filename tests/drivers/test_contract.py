"""What holds of every driver of another program, on a stand-in that speaks its protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dshloop.drivers.acp import Acp
from dshloop.drivers.dsh import Dsh
from dshloop.drivers.peer import Peer
from tests.drivers.engines import SECRET, Stage, failure, of_type, reasons, said, say, shape


@pytest.fixture(params=[Acp, Dsh], ids=["acp", "dsh"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    peer: Callable[[], Peer] = request.param
    made = Stage(tmp_path, peer)
    made.plan()
    return made


def test_a_crash_is_told_without_secrets_and_the_next_turn_goes_on(stage: Stage) -> None:
    async def scene() -> None:
        stage.plan("crash", "answer")
        async with stage.agent() as agent:
            await say(agent, "one")
            error = failure(agent)
            assert error["code"] == "ENGINE_DIED"
            assert error["details"]["status"] == 3
            assert "boom" in error["message"]
            assert SECRET not in str(agent.session.events)
            await say(agent, "two")
            assert said(agent) == ["heard two"]
        assert stage.methods().count("session/resume") == 1

    asyncio.run(scene())


def test_a_call_without_a_result_is_answered_after_a_crash(stage: Stage) -> None:
    async def scene() -> None:
        stage.plan("midcall")
        async with stage.agent() as agent:
            await say(agent, "one")
            (result,) = of_type(agent, "tool/result")
            assert result["data"]["error"]["code"] == "TOOL_OUTCOME_UNKNOWN"
            assert shape(agent)[-2:] == ["step/end", "turn/end"]

    asyncio.run(scene())


def test_silence_ends_the_turn(stage: Stage) -> None:
    async def scene() -> None:
        stage.plan("answer", "hang")
        async with stage.agent() as agent:
            await say(agent, "one")  # however long it takes to start
            agent.link._settings = replace(stage.settings, patience=0.3)  # type: ignore[attr-defined]
            await say(agent, "two")
            assert failure(agent)["code"] == "ENGINE_SILENT"

    asyncio.run(scene())


@pytest.mark.parametrize("word", ["broken", "nonsense"])
def test_what_is_no_message_of_the_protocol_ends_the_turn(
    stage: Stage, word: str, capfd: pytest.CaptureFixture[str]
) -> None:
    async def scene() -> None:
        stage.plan(word, "answer")
        async with stage.agent() as agent:
            await say(agent, "one", "two")
            assert reasons(agent)[0]["error"]["code"] == "ENGINE_ANSWER"
            assert said(agent)[-1] == "heard two"

    asyncio.run(scene())
    assert capfd.readouterr().err == ""


def test_a_line_of_megabytes_comes_whole(stage: Stage) -> None:
    async def scene() -> None:
        stage.plan("big")
        async with stage.agent() as agent:
            await say(agent, "one")
            assert said(agent) == ["x" * 3_000_000]

    asyncio.run(scene())


def test_max_tokens_is_the_end_of_the_turn(stage: Stage) -> None:
    async def scene() -> None:
        stage.plan("cut")
        async with stage.agent() as agent:
            await say(agent, "one")
            assert reasons(agent) == [{"kind": "max-tokens"}]

    asyncio.run(scene())


def test_a_session_that_the_program_has_lost_is_told(stage: Stage) -> None:
    async def scene() -> None:
        async with stage.agent() as agent:
            await say(agent, "one")
        stage.variables["ENGINE_FORGETS"] = "1"
        async with stage.agent(resume=True) as agent:
            await say(agent, "two")
            assert failure(agent)["code"] == "ENGINE_SESSION_LOST"

    asyncio.run(scene())
