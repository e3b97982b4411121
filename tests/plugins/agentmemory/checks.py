"""The 47 checks of the bridge's conformance list, for any home (dsh-agentmemory-bridge 9).

A module that runs them has a fixture ``home``: the address of a daemon without a secret. Faults
are put in by a proxy before it.
"""

from __future__ import annotations

import asyncio
import json
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import BridgeSecretError, BridgeUnreachableError
from dshloop.host.abort import AbortSignal
from dshloop.plugins import find_plugin
from dshloop.plugins.agentmemory.config import KEYS, BridgeConfig, read_bridge_config
from tests.plugins.agentmemory.stand_ins import (
    Answerer,
    Asked,
    Bridged,
    Daemon,
    Played,
    message,
    run,
    text,
)

PROJECT = "dsh-smoke-test"
PROMPT = "Refactor the auth middleware to use async verify."
DEFAULTS = {
    "baseUrl": "http://localhost:3111",
    "secret": "",
    "enabled": True,
    "enableTools": True,
    "enableSessionStartEnd": True,
    "compactionBridge": True,
    "agentId": "dsh",
    "curlTimeoutMs": 4000,
    "observeBatchLimit": 20,
    "maxContentChars": 4000,
    "maxArgsChars": 2000,
    "injectContext": True,
    "injectContextMaxChars": 6000,
    "injectContextOnCompaction": True,
    "injectSemantic": False,
    "injectSemanticMaxResults": 8,
    "injectSemanticMaxChars": 3000,
}


def new_id() -> str:
    return f"s-{uuid.uuid4()}"


@pytest.fixture
def proxy(home: str) -> Iterator[Daemon]:
    """Give a proxy that notes what is asked, and can answer in the place of the daemon."""
    one = Daemon(upstream=home)
    yield one
    one.close()


def got(home: str, path: str, body: Any = None) -> Any:
    """Ask the home itself."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{home}/agentmemory{path}", data, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def rows(home: str, session: str) -> list[Any]:
    found: list[Any] = got(home, f"/observations?sessionId={session}")["observations"]
    return found


def narratives(home: str, session: str) -> list[str]:
    return [row["narrative"] for row in rows(home, session)]


@dataclass(frozen=True)
class Smoke:
    """What the session of the smoke test left."""

    id: str
    rows: list[Any]
    sessions: list[Any]
    asked: list[Asked]


@pytest.fixture(scope="module")
def smoke(home: str, tmp_path_factory: pytest.TempPathFactory) -> Smoke:
    """Play the session of the smoke test."""
    id_, data, proxy = new_id(), tmp_path_factory.mktemp("smoke"), Daemon(upstream=home)

    async def body() -> None:
        async with Bridged(proxy.url, data) as bridged:
            played = bridged.session(id_, f"/nowhere/{PROJECT}")
            play(played)
            await played.flush()
            played.dispose()

    run(body)
    proxy.close()
    return Smoke(id_, rows(home, id_), got(home, "/sessions")["sessions"], proxy.asked)


def play(played: Played) -> None:
    played.append("turn/start", {"turn": 1}) if played.log.events else None
    played.append("session/title", {"title": "x"})  # an event that is not mapped
    played.prompt(PROMPT)
    played.called("bash", '{"command":"ls"}', "lib index.js")
    played.answered("Done.")
    played.append(
        "approval/asked", {"id": new_id(), "toolName": "bash", "reason": "runs a command"}
    )
    played.ended()
    for number, told in enumerate((text("The harbour gate was painted."), "Plain quay summary.")):
        about = {"compactionId": f"c{number}", "provider": "p", "model": "m"}
        played.append("compaction/summary", {**about, "summary": told})


# --- load -----------------------------------------------------------------------------------------


def test_01_the_plugin_offers_its_name_its_config_and_apply(home: str) -> None:
    plugin = find_plugin("dsh-agentmemory")
    assert plugin is not None
    assert (plugin.name, callable(plugin.Config)) == ("dsh-agentmemory", True)
    assert asyncio.iscoroutinefunction(plugin.apply)


def test_02_it_asks_the_host_for_tools(home: str) -> None:
    plugin: Any = find_plugin("dsh-agentmemory")
    assert plugin.inject == ("tools",)  # it reaches the daemon without a shell


def test_03_a_time_out_below_one_is_refused_with_its_key(home: str) -> None:
    with pytest.raises(ValueError, match=r"^\$\.curlTimeoutMs expected number >= 1 but got -5$"):
        read_bridge_config({"curlTimeoutMs": -5})


def test_04_an_empty_config_has_all_defaults(home: str) -> None:
    config = read_bridge_config({})
    assert config == BridgeConfig() == read_bridge_config(dict.fromkeys(DEFAULTS))
    values = [getattr(config, name) for name in config.__slots__]  # type: ignore[attr-defined]
    assert dict(zip(KEYS, values, strict=True)).items() >= DEFAULTS.items()


def test_05_06_it_starts_listens_and_offers_two_tools(home: str, tmp_path: Path) -> None:
    async def body() -> None:
        async with Bridged(home, tmp_path) as bridged:
            names = [tool.name for tool in bridged.host.tools.offered]
            assert names == ["memory_recall", "memory_remember"]
            for event in ("session/created", "session/event", "session/flush", "agent/pre-step"):
                assert bridged.host.hooks.listeners(event)
            await asyncio.sleep(0)
            assert bridged.said == [
                f"[agentmemory] bridge active: {home} "
                "(enabled=true, tools=true, injectContext=true, injectSemantic=false)"
            ]
        assert not bridged.listening

    run(body)


# --- tools ----------------------------------------------------------------------------------------


def test_07_08_09_both_tools_answer_with_objects_that_can_be_shown(
    home: str, tmp_path: Path
) -> None:
    async def body() -> None:
        async with Bridged(home, tmp_path) as bridged:
            played = bridged.session(new_id(), f"/nowhere/{PROJECT}")
            kept = await bridged.result(
                "memory_remember", played, content="  The lighthouse is white.  ",
                type="bug", concepts=["light"], ttlDays=2.9,
            )  # fmt: skip
            assert kept.value["success"] is True
            memory = kept.value["memory"]
            assert (memory["content"], memory["type"]) == ("The lighthouse is white.", "bug")
            assert (memory["project"], memory["agentId"]) == (PROJECT, "dsh")
            found = await bridged.result("memory_recall", played, query="lighthouse", limit=3.7)
            assert found.value["format"] == "full"
            assert "lighthouse" in json.dumps(found.value["results"])
            for result in (kept, found):
                (block,) = result.content
                assert (block["type"], json.loads(block["text"])) == ("text", result.value)
                assert block["text"].startswith('{\n  "')

    run(body)


@pytest.mark.parametrize(
    ("tool", "arguments", "error"),
    [
        ("memory_remember", {"content": "  "}, "content must be non-empty"),
        ("memory_remember", {}, "content must be non-empty"),
        ("memory_recall", {"query": ""}, "query must be non-empty"),
        ("memory_recall", {"query": 5}, "query must be non-empty"),
    ],
)
def test_10_11_a_tool_without_words_asks_nothing(
    tool: str, arguments: Mapping[str, Any], error: str, proxy: Daemon, tmp_path: Path
) -> None:
    async def body() -> None:
        async with Bridged(proxy.url, tmp_path) as bridged:
            assert await bridged.tool(tool, **arguments) == {"ok": False, "error": error}

    run(body)
    assert proxy.paths() == []


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("memory_recall", {"query": "q"}), ("memory_remember", {"content": "c"})],
)
def test_12_13_an_aborted_call_asks_nothing(
    tool: str, arguments: Mapping[str, Any], proxy: Daemon, tmp_path: Path
) -> None:
    async def body() -> None:
        signal = AbortSignal()
        signal.abort({"kind": "user"})
        async with Bridged(proxy.url, tmp_path) as bridged:
            told = await bridged.tool(tool, signal=signal, **arguments)
            assert told == {"ok": False, "error": "agentmemory request cancelled"}

    run(body)
    assert proxy.paths() == []


# --- secret ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("secret", "sent"),
    [
        ("plain-word", "plain-word"),
        ("${VAR}", "of-the-variable"),
        ("${UNSET:fallback}", "fallback"),
        ("${EMPTY:-d}", "-d"),
        ("${VAR:?gone}", "of-the-variable"),
        ("x${VAR}", "x${VAR}"),
    ],
)
def test_14_15_46_the_secret_goes_with_every_request(
    secret: str, sent: str, proxy: Daemon, tmp_path: Path
) -> None:
    async def body() -> None:
        variables = {"VAR": "of-the-variable", "EMPTY": ""}
        async with Bridged(proxy.url, tmp_path, variables, secret=secret) as bridged:
            played = bridged.session(new_id())
            played.prompt("hello")
            await played.flush()
            await bridged.tool("memory_recall", played, query="hello")
        assert not [line for line in bridged.said if sent in line]

    run(body)
    assert {one.headers.get("Authorization") for one in proxy.asked} == {f"Bearer {sent}"}
    assert len(proxy.asked) >= 5


@pytest.mark.parametrize(
    ("secret", "said"),
    [
        ("${NO:?set NO first}", "set NO first"),
        (
            "${NO}",
            "[agentmemory] secret env NO is unset and the reference declares no default",
        ),
    ],
)
def test_16_a_secret_that_is_not_there_fails_the_start(
    secret: str, said: str, proxy: Daemon, tmp_path: Path
) -> None:
    async def body() -> None:
        with pytest.raises(BridgeSecretError) as raised:
            async with Bridged(proxy.url, tmp_path, secret=secret):
                pass
        assert raised.value.message == said

    run(body)
    assert proxy.asked == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "daemon unreachable at {}: "),
        ((200, b"hello"), "daemon at {} returned a malformed livez payload"),
        ((200, [1]), "daemon at {} returned a malformed livez payload"),
        ((200, {"status": "ill"}), "daemon at {} did not report a healthy livez"),
        ((404, b""), "daemon unreachable at {}: "),
    ],
)
def test_17_without_a_daemon_nothing_is_registered(
    answer: tuple[int, Any] | None, said: str, proxy: Daemon, tmp_path: Path
) -> None:
    proxy.answer = lambda _asked: answer
    if answer is None:
        proxy.close()

    async def body() -> None:
        bridged = Bridged(proxy.url, tmp_path)
        with pytest.raises(BridgeUnreachableError) as raised:
            await bridged.__aenter__()
        assert raised.value.message.startswith(f"[agentmemory] {said.format(proxy.url)}")
        assert raised.value.exit_code == 5
        assert not bridged.listening

    run(body)
    if answer is None:
        proxy.reopen()


# --- one session ----------------------------------------------------------------------------------


def titled(smoke: Smoke, title: str) -> list[Any]:
    return [row for row in smoke.rows if row["title"] == title]


def test_18_19_20_prompt_and_call_have_a_row_each(smoke: Smoke) -> None:
    (prompt,) = titled(smoke, "prompt_submit")
    assert prompt["narrative"].startswith(PROMPT)
    assert len(titled(smoke, "bash")) == 1
    assert not titled(smoke, "dsh_call")
    assert not titled(smoke, "dsh_tool_call")


def test_21_22_23_24_results_answers_approvals_and_turn_ends_are_rows(smoke: Smoke) -> None:
    told = json.dumps(smoke.rows)
    assert "lib index.js" in told
    (answer,) = titled(smoke, "assistant_message")
    assert "Done." in answer["narrative"]
    assert answer["subtitle"] == "#5"  # an event before the prompt was counted too
    assert [row for row in smoke.rows if row["type"] == "notification"]
    (end,) = titled(smoke, "turn_end")
    assert "completed" in end["narrative"]
    assert end["subtitle"] == "turn#7"


def test_25_the_session_has_one_row_and_is_completed(smoke: Smoke) -> None:
    (row,) = [row for row in smoke.sessions if row.get("id") == smoke.id]
    assert (row["status"], row["project"]) == ("completed", PROJECT)


def test_26_27_both_summaries_are_found(home: str, smoke: Smoke) -> None:
    for words in ("dsh compaction harbour gate painted", "plain quay summary"):
        found = got(home, "/search", {"query": words, "project": PROJECT})
        assert "[dsh compaction]" in json.dumps(found["results"])
    assert "Plain quay summary." in json.dumps(found["results"])
    kept = [one.body for one in smoke.asked if one.path == "/remember"]
    assert kept[0] == {
        "content": "[dsh compaction] The harbour gate was painted.",
        "type": "fact",
        "concepts": ["compaction"],
        "project": PROJECT,
        "agentId": "dsh",
    }


def test_the_requests_of_a_session_have_exactly_the_bodies_of_the_contract(smoke: Smoke) -> None:
    place = {"project": PROJECT, "cwd": f"/nowhere/{PROJECT}"}
    (start,) = [one.body for one in smoke.asked if one.path == "/session/start"]
    assert start == {"sessionId": smoke.id, **place, "agentId": "dsh"}
    (end,) = [one.body for one in smoke.asked if one.path == "/session/end"]
    assert end == {"sessionId": smoke.id}
    (context,) = [one.body for one in smoke.asked if one.path == "/context"]
    assert context == {"sessionId": smoke.id, "project": PROJECT}
    observed = [one.body for one in smoke.asked if one.path == "/observe"]
    envelope = {"sessionId": smoke.id, **place, "agentId": "dsh"}
    envelope["timestamp"] = "2026-01-01T00:00:00.000Z"
    request_id = observed[3]["data"]["request_id"]
    assert [(one.pop("hookType"), one.pop("data")) for one in observed] == [
        (
            "prompt_submit",
            {"source": "user", "prompt": PROMPT, "tool_input": PROMPT, "content": PROMPT},
        ),
        (
            "post_tool_use",
            {
                "tool_name": "bash",
                "tool_input": '{"command":"ls"}',
                "tool_output": "lib index.js",
                "callId": "call1",
                "content": "lib index.js",
                "isError": False,
                "errorName": "",
            },
        ),
        (
            "post_tool_use",
            {
                "tool_name": "assistant_message",
                "tool_output": "Done.",
                "tool_input": "#5",
                "content": "Done.",
                "provider": "p",
                "model": "m",
            },
        ),
        (
            "notification",
            {
                "notification_type": "permission_prompt",
                "tool_name": "bash",
                "request_id": request_id,
                "reason": "runs a command",
            },
        ),
        (
            "post_tool_use",
            {
                "tool_name": "turn_end",
                "tool_input": "turn#7",
                "tool_output": "completed",
                "reason": "completed",
            },
        ),
    ]
    assert all(one == envelope for one in observed)


# --- injection ------------------------------------------------------------------------------------


def test_28_to_31_a_window_enters_behind_the_messages_once(
    home: str, smoke: Smoke, tmp_path: Path
) -> None:
    async def body() -> None:
        async with Bridged(home, tmp_path) as bridged:
            played = bridged.session(new_id(), f"/nowhere/{PROJECT}")
            mine = message("hello")
            decision = await played.step(mine)
            assert decision["kind"] == "enter"
            first, window = decision["messages"]
            assert first == mine
            assert window["role"] == "user"
            source = {"kind": "plugin", "plugin": "agentmemory", "form": "recall"}
            assert window["source"] == source
            said = window["content"][0]["text"]
            assert (
                said
                == got(home, "/context", {"sessionId": played.id, "project": PROJECT})[
                    "context"
                ].rstrip()
            )
            assert said.startswith(f'<agentmemory-context project="{PROJECT}">\n')
            assert said.endswith("\n</agentmemory-context>")
            # 35: none at later steps, and none because a prompt refreshed the window
            played.prompt("hello")
            await played.flush()
            assert await played.injected() == []
            assert await played.injected() == []

    run(body)


def test_32_a_rejected_or_aborted_step_passes_unchanged(
    home: str, smoke: Smoke, tmp_path: Path
) -> None:
    async def body() -> None:
        async with Bridged(home, tmp_path) as bridged:
            played = bridged.session(new_id(), f"/nowhere/{PROJECT}")
            assert await played.step(kind="reject") == {"kind": "reject", "messages": []}
            aborted = AbortSignal()
            aborted.abort({"kind": "user"})
            assert (await played.step(signal=aborted))["messages"] == []
            assert len(await played.injected()) == 1  # none was used up

    run(body)


def test_33_a_failed_call_is_a_failure(proxy: Daemon, home: str, tmp_path: Path) -> None:
    id_ = new_id()

    async def body() -> None:
        async with Bridged(proxy.url, tmp_path) as bridged:
            played = bridged.session(id_)
            error = {"name": "ToolError", "code": "FAILED"}
            played.called("bash", '{"command":"false"}', "it broke", error=error)
            played.called("bash", '{"command":"no"}', "no such", failed=True)
            await played.flush()

    run(body)
    one, two = proxy.bodies("/observe")
    assert one["hookType"] == two["hookType"] == "post_tool_failure"
    assert (one["data"]["isError"], one["data"]["errorName"]) == (True, "ToolError")
    assert (two["data"]["isError"], two["data"]["errorName"]) == (True, "")
    assert [row["type"] for row in rows(home, id_)] == ["error", "error"]


def test_34_a_compaction_has_the_window_injected_again(
    home: str, smoke: Smoke, tmp_path: Path
) -> None:
    async def body() -> None:
        async with Bridged(home, tmp_path) as bridged:
            played = bridged.session(new_id(), f"/nowhere/{PROJECT}")
            ((form, first),) = await played.injected()
            assert await played.injected() == []
            played.append("compaction/start", {"compactionId": "c", "turn": 1})
            assert await played.injected() == [(form, first)]
            assert await played.injected() == []

        off = {"injectContextOnCompaction": False}
        async with Bridged(home, tmp_path, **off) as bridged:
            played = bridged.session(new_id(), f"/nowhere/{PROJECT}")
            assert len(await played.injected()) == 1
            played.append("compaction/start", {"compactionId": "c", "turn": 1})
            assert await played.injected() == []

    run(body)


def test_36_what_fits_a_message_enters_once_within_its_limits(
    proxy: Daemon, home: str, smoke: Smoke, tmp_path: Path
) -> None:
    project = f"semantic-{uuid.uuid4().hex[:8]}"
    for number in range(4):
        told = f"The windmill number {number} grinds rye, sort {'abcd'[number] * 9}."
        got(home, "/remember", {"content": told, "project": project})
        other = f"The windmill number {number} of the others grinds {'wxyz'[number] * 9}."
        got(home, "/remember", {"content": other, "project": f"not-{project}"})

    async def body() -> None:
        on = {"injectContext": False, "injectSemantic": True, "injectSemanticMaxResults": 3}
        async with Bridged(proxy.url, tmp_path, **on) as bridged:
            played = bridged.session(new_id(), f"/nowhere/{project}")
            played.prompt("Which windmill grinds rye?")
            ((form, said),) = await played.injected()
            assert form == "semantic"
            lines = said.split("\n")
            assert 1 <= len(lines) <= 3
            assert all(line.startswith("- ") for line in lines)
            assert "grinds rye" in said
            assert "others" not in said
            assert await played.injected() == []  # 35: nothing for a later step
            # A message that is about to enter is searched for at once, and only once.
            asked = len(searches())
            mine = message("Does a windmill grind rye?", "m-1")
            assert [form for form, _ in await played.injected(mine)] == ["semantic"]
            played.append("user/message", mine)
            assert await played.injected() == []
            assert len(searches()) == asked + 1
        short = {**on, "injectSemanticMaxChars": 12}
        async with Bridged(proxy.url, tmp_path, **short) as bridged:
            played = bridged.session(new_id(), f"/nowhere/{project}")
            played.prompt("windmill rye")
            ((_, said),) = await played.injected()
            assert 0 < len(said) <= 12

    def searches() -> list[Any]:
        return [one for one in proxy.bodies("/smart-search") if "query" in one]

    run(body)
    first = searches()[0]
    assert first == {
        "query": "Which windmill grinds rye?",
        "limit": 3,
        "project": project,
        "sessionId": first["sessionId"],
    }


def test_37_a_bridge_that_is_off_asks_livez_alone(proxy: Daemon, tmp_path: Path) -> None:
    async def body() -> None:
        on = {"enabled": False, "injectSemantic": True}
        async with Bridged(proxy.url, tmp_path, **on) as bridged:
            played = bridged.session(new_id())
            play(played)
            await played.flush()
            assert await played.injected() == []
            played.dispose()
            assert len(bridged.host.tools.offered) == 2

    run(body)
    assert [one.path for one in proxy.asked] == ["/livez"]


# --- delivery -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault", [(500, {"error": "x"}), (404, b""), (503, b""), None], ids=str
)  # fmt: skip
def test_38_what_could_not_be_delivered_keeps_its_order_and_goes_later_once(
    fault: tuple[int, Any] | None, proxy: Daemon, home: str, tmp_path: Path
) -> None:
    id_ = new_id()

    async def body() -> None:
        async with Bridged(proxy.url, tmp_path) as bridged:
            played = bridged.session(id_)
            played.prompt("number 0")
            await played.flush()
            if fault is None:
                proxy.close()
            else:
                proxy.answer = lambda _asked: fault
            for number in range(1, 4):
                played.prompt(f"number {number}")
                await played.flush()
            if fault is None:
                proxy.reopen()
            proxy.answer = lambda _asked: None
            played.prompt("number 4")
            await played.flush()
            assert any("observe failed, re-queuing tail" in line for line in bridged.said)

    run(body)
    told = [one.split(" | ")[0] for one in narratives(home, id_)]
    assert told == [f"number {number}" for number in range(5)]


def test_39_two_sessions_do_not_mix(home: str, tmp_path: Path) -> None:
    first, second = new_id(), new_id()

    async def body() -> None:
        async with Bridged(home, tmp_path) as bridged:
            one, two = bridged.session(first), bridged.session(second)
            for number in range(5):
                one.called("bash", '{"command":"ls"}', f"one {number}")
                two.called("bash", '{"command":"ls"}', f"two {number}")
            await one.flush()
            await two.flush()

    run(body)
    for id_, word in ((first, "one"), (second, "two")):
        told = narratives(home, id_)
        assert [one.split(" | ")[-1] for one in told] == [f"{word} {number}" for number in range(5)]


def test_40_events_during_a_flush_are_delivered_too(home: str, tmp_path: Path) -> None:
    id_ = new_id()

    async def body() -> None:
        async with Bridged(home, tmp_path) as bridged:
            played = bridged.session(id_)
            flushes = []
            for number in range(30):
                played.prompt(f"number {number}")
                flushes.append(asyncio.ensure_future(played.flush()))
                await asyncio.sleep(0)
            await asyncio.gather(*flushes)
            await played.flush()

    run(body)
    told = [one.split(" | ")[0] for one in narratives(home, id_)]
    assert told == [f"number {number}" for number in range(30)]


async def until(met: Callable[[], bool]) -> None:
    for _ in range(500):
        if met():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not come")


def test_41_a_batch_of_one_is_delivered_at_once(proxy: Daemon, tmp_path: Path) -> None:
    async def body() -> None:
        async with Bridged(proxy.url, tmp_path, observeBatchLimit=1) as bridged:
            played = bridged.session(new_id())
            played.prompt("now")
            await until(lambda: len(proxy.bodies("/observe")) == 1)
        async with Bridged(proxy.url, tmp_path, observeBatchLimit=3) as bridged:
            played = bridged.session(new_id())
            played.prompt("one")
            played.prompt("two")
            await until(lambda: len(proxy.bodies("/context")) >= 2)
            await asyncio.sleep(0.1)
            assert len(proxy.bodies("/observe")) == 1
            played.prompt("three")
            await until(lambda: len(proxy.bodies("/observe")) == 4)

    run(body)


def test_42_without_session_rows_the_window_comes_by_context(
    proxy: Daemon, smoke: Smoke, tmp_path: Path
) -> None:
    async def body() -> None:
        async with Bridged(proxy.url, tmp_path, enableSessionStartEnd=False) as bridged:
            played = bridged.session(new_id(), f"/nowhere/{PROJECT}")
            assert len(await played.injected()) == 1
            played.dispose()

    run(body)
    assert proxy.paths() == ["/context"]


def test_43_a_session_without_a_folder_is_told_and_not_recorded(
    proxy: Daemon, tmp_path: Path
) -> None:
    async def body() -> None:
        async with Bridged(proxy.url, tmp_path) as bridged:
            for cwd in (None, ""):
                played = bridged.session(id_ := new_id(), cwd)
                play(played)
                await played.flush()
                played.dispose()
                await bridged.tool("memory_recall", played, query="x")
            assert f"session {id_} has no working directory" in "".join(bridged.said)

    run(body)
    assert set(proxy.paths()) == {"/context", "/search"}
    assert {one["project"] for one in proxy.bodies("/context")} == {"DSH"}
    assert {one["project"] for one in proxy.bodies("/search")} == {"DSH"}


def test_44_the_variables_win(proxy: Daemon, tmp_path: Path) -> None:
    async def body() -> None:
        named = {"AGENT_ID": "claude", "AGENTMEMORY_PROJECT_NAME": "named"}
        async with Bridged(proxy.url, tmp_path, named, agentId="other") as bridged:
            played = bridged.session(new_id())
            played.prompt("x")
            await played.flush()
            await bridged.tool("memory_recall", played, query="x")
            await bridged.tool("memory_remember", played, content="x")

    run(body)
    for path in ("/session/start", "/observe", "/remember", "/search"):
        (one,) = proxy.bodies(path)
        assert one["project"] == "named"
        assert path == "/search" or one["agentId"] == "claude"


def test_45_content_and_arguments_are_cut(proxy: Daemon, tmp_path: Path) -> None:
    async def body() -> None:
        limits = {"maxContentChars": 10, "maxArgsChars": 7, "injectContextMaxChars": 20}
        async with Bridged(proxy.url, tmp_path, **limits) as bridged:
            played = bridged.session(new_id(), f"/nowhere/{PROJECT}")
            played.prompt("p" * 99)
            played.called("bash", "a" * 99, "o" * 99)
            played.append("compaction/summary", {"summary": "s" * 9000})
            await played.flush()
            ((_, window),) = await played.injected()
            assert len(window) <= 20

    proxy.context = ""
    proxy.answer = lambda asked: (
        (200, {"context": "w" * 99}) if asked.path == "/context" else None
    )  # fmt: skip
    run(body)
    prompt, result = (one["data"] for one in proxy.bodies("/observe"))
    assert prompt["content"] == prompt["tool_input"] == prompt["prompt"] == "p" * 10
    assert (result["tool_input"], result["content"]) == ("a" * 7, "o" * 10)
    assert proxy.bodies("/remember")[0]["content"] == "[dsh compaction] " + "s" * 6000


def refusing(status: int, said: Any, *paths: str) -> Answerer:
    return lambda asked: (status, said) if asked.path in paths else None


@pytest.mark.parametrize(
    ("status", "body_", "word"),
    [
        (401, {"error": "unauthorized"}, "secret"),
        (500, {"error": "disk is gone"}, "disk is gone"),
        (400, {"error": "hookType is required"}, "hookType is required"),
        (201, {"success": False, "error": "limit reached (500)"}, "limit reached (500)"),
    ],
)
def test_47_an_answer_that_is_no_success_is_told(
    status: int, body_: Any, word: str, proxy: Daemon, tmp_path: Path
) -> None:
    proxy.answer = refusing(status, body_, "/observe", "/search", "/remember")

    async def body() -> None:
        async with Bridged(proxy.url, tmp_path) as bridged:
            played = bridged.session(new_id())
            for number in range(3):
                played.prompt(f"x {number}")
                await played.flush()
            told = await bridged.tool("memory_remember", played, content="x")
            assert told["ok"] is False
            assert body_["error"] in told["error"]
            assert status < 300 or told["error"].endswith(f"(HTTP {status})")
        lines = [line for line in bridged.said if word in line and "remember" not in line]
        assert len(lines) == 1
        assert lines[0].startswith("[agentmemory] ")

    run(body)
