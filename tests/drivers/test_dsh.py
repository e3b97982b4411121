"""The driver `dsh` on a stand-in of its SDK: what is told, cancelled, broken and resumed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from dshloop.drivers.dsh import Dsh, find_dsh, route_of
from dshloop.errors import EngineMissingError, EngineVersionError
from dshloop.host.agent import AgentOptions
from tests.drivers.engines import Stage, failure, of_type, reasons, said, say, shape


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    made = Stage(tmp_path, Dsh)
    made.plan()
    return made


def test_a_turn_with_a_call_is_in_the_log_as_our_engine_would_write_it(stage: Stage) -> None:
    async def scene() -> None:
        stage.plan("tool")
        async with stage.agent() as agent:
            await say(agent, "hi")
            assert shape(agent) == [
                "agent/inbox/spliced", "turn/start", "agent/inbox/spliced", "step/start",
                "user/message", "request/context", "request/header", "session/title",
                "assistant/message", "tool/call", "tool/result", "step/end", "step/start",
                "assistant/message", "step/end", "turn/end",
            ]  # fmt: skip
            assert said(agent) == ["", "heard hi"]
            (header,) = of_type(agent, "request/header")
            assert header["data"]["header"]["system"] == "be good"
            (prompt,) = of_type(agent, "user/message")
            (title,) = of_type(agent, "session/title")
            assert title["data"]["messageSeqs"] == [prompt["seq"]]
            call, result = of_type(agent, "tool/call", "tool/result")
            assert result["sourceEventSeqs"] == [call["seq"]]
            assert result["data"]["message"]["content"][0]["toolCallId"] == "c1"
            chunks = [one["seq"] for one in of_type(agent, "assistant/chunk")]
            last = of_type(agent, "assistant/message")[-1]
            assert last["sourceEventSeqs"] == chunks
            assert last["data"]["usage"] == {"inputTokens": 3, "outputTokens": 2}

    asyncio.run(scene())


def test_turns_and_steps_are_numbered_by_us(stage: Stage) -> None:
    async def scene() -> None:
        stage.plan("crash", "tool")
        async with stage.agent() as agent:
            await say(agent, "one", "two")
            places = [one["data"] for one in of_type(agent, "step/start")]
            assert [(one["turn"], one["step"]) for one in places] == [(1, 1), (2, 1), (2, 2)]
            message = of_type(agent, "assistant/message")[-1]["data"]
            assert (message["turn"], message["step"]) == (2, 2)

    asyncio.run(scene())


def test_its_own_session_is_recorded_and_resumed_by_the_next_process(stage: Stage) -> None:
    async def scene() -> None:
        async with stage.agent() as agent:
            await say(agent, "one")
            engine = agent.latest["request/context"]["engine"]
            assert engine["driver"] == "dsh"
        async with stage.agent(resume=True) as agent:
            await say(agent, "two")
            assert said(agent) == ["heard one", "heard two"]
        prompts = [params for method, params in stage.asked if method == "session/prompt"]
        assert {one["sessionId"] for one in prompts} == {engine["session"]}
        resumed = [params for method, params in stage.asked if method == "session/resume"]
        assert resumed == [{"sessionId": engine["session"]}]

    asyncio.run(scene())


def test_a_copy_of_a_session_begins_anew_and_says_so(stage: Stage) -> None:
    async def scene() -> None:
        async with stage.agent() as agent:
            await say(agent, "one")
        context = stage.sessions.logs["s"].events
        for event in context:
            if event["type"] == "request/context":
                event["data"]["engine"]["of"] = "another"
        async with stage.agent(resume=True) as agent:
            await say(agent, "two")
        assert "session/resume" not in stage.methods()
        assert any("has not seen the earlier turns" in text for text in stage.host.warnings)

    asyncio.run(scene())


def test_a_warning_on_stdout_does_no_harm(stage: Stage) -> None:
    async def scene() -> None:
        stage.plan("noise")
        async with stage.agent() as agent:
            await say(agent, "one")
            assert reasons(agent) == [{"kind": "completed"}]

    asyncio.run(scene())


def test_a_cancelled_turn_ends_the_process_and_the_session_goes_on(stage: Stage) -> None:
    async def scene() -> None:
        stage.plan("hang", "answer")
        async with stage.agent() as agent:
            agent.listen(lambda event: _cancel(agent, event))
            await say(agent, "one", "two")
            assert reasons(agent) == [
                {"kind": "aborted", "reason": {"kind": "user"}},
                {"kind": "completed"},
            ]
            assert said(agent) == ["heard two"]
        assert stage.methods().count("session/resume") == 1

    def _cancel(agent, event):  # type: ignore[no-untyped-def]
        if event["type"] == "session/title" and event["data"]["title"] == "one":
            asyncio.get_running_loop().call_soon(agent.cancel)

    asyncio.run(scene())


def test_provider_model_and_limits_reach_it(stage: Stage) -> None:
    async def scene() -> None:
        stage.options = AgentOptions("p", "m", max_tokens=9, reasoning_effort="low")
        async with stage.agent() as agent:
            await say(agent, "one")
        (asked,) = [params for method, params in stage.asked if method == "initialize"]
        assert asked["cwd"] == str(stage.folder)
        del asked["cwd"]
        known = {"provider": "p", "model": "m", "maxTokens": 9, "reasoningEffort": "low"}
        assert asked == known

    asyncio.run(scene())


def test_another_model_starts_another_process_on_the_same_session(stage: Stage) -> None:
    async def scene() -> None:
        async with stage.agent() as agent:
            await say(agent, "one")

            async def other(_event, following):  # type: ignore[no-untyped-def]
                return {**await following(), "model": "other"}

            agent.hooks.on("agent/request", other)
            await say(agent, "two")
            assert said(agent) == ["heard one", "heard two"]
        models = [params["model"] for method, params in stage.asked if method == "initialize"]
        assert models == ["deepseek-flash", "other"]

    asyncio.run(scene())


def test_what_initialize_refuses_is_told_with_what_was_said(stage: Stage) -> None:
    async def scene() -> None:
        stage.options = AgentOptions("unknown", "m")
        async with stage.agent() as agent:
            await say(agent, "one")
            assert failure(agent)["code"] == "ENGINE_FAILED"
            assert "no adapter registered" in failure(agent)["message"]
            (prompt,) = of_type(agent, "user/message")
            assert prompt["data"]["content"][0]["text"] == "one"

    asyncio.run(scene())


def test_an_old_dsh_is_refused_before_a_session_is_there(stage: Stage) -> None:
    stage.variables["ENGINE_VERSION"] = "0.1.2-rc.1"

    async def scene() -> None:
        async with stage.agent():
            raise AssertionError("there is an agent")

    with pytest.raises(EngineVersionError) as caught:
        asyncio.run(scene())
    assert caught.value.details["version"] == "0.1.2-rc.1"
    assert stage.sessions.logs == {}


def test_without_dsh_it_says_how_to_get_one(stage: Stage) -> None:
    stage.variables["PATH"] = str(stage.folder)

    async def scene() -> None:
        async with stage.agent():
            raise AssertionError("there is an agent")

    with pytest.raises(EngineMissingError, match="no dsh on PATH") as caught:
        asyncio.run(scene())
    assert "dshloop[dsh]" in str(caught.value.hint)


def test_dsh_is_found_in_the_wheel_of_its_runtime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = tmp_path / "deepseek_harness_runtime" / "runtime"
    runtime.mkdir(parents=True)
    (runtime.parent / "__init__.py").touch()
    for name in ("linux-x64", "linux-x64-rg", "macos-arm64-spawn-helper"):
        (runtime / f"deepseek-harness-sdk-runtime-{name}").touch()
    monkeypatch.syspath_prepend(tmp_path)
    found = find_dsh({"PATH": ""})
    assert found is not None
    assert found.path == runtime / "deepseek-harness-sdk-runtime-linux-x64"
    assert "deepseek_harness_runtime" not in sys.modules


@pytest.mark.parametrize(
    ("given", "route"),
    [
        ((None, "a/b"), ("a", "b")),
        (("p", "a/b"), ("p", "a/b")),
        ((None, "m"), (None, "m")),
        ((None, None), (None, None)),
        (("deepseek", "m"), ("deepseek-official", "m")),
    ],
)
def test_a_model_may_name_its_provider(
    given: tuple[str | None, str | None], route: tuple[str | None, str | None]
) -> None:
    assert tuple(route_of(*given).values()) == route
