"""Plugins, filters, routing, fan-out and time limits of the memory service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dshloop.host.abort import AbortSignal
from dshloop.host.host import Host
from dshloop.host.mount import Mount
from dshloop.host.rows import ABSENT
from dshloop.plugins.patchouli.memory_service import PatchouliService
from dshloop.plugins.patchouli.routing import read_service_config
from dshloop.plugins.patchouli.service import SERVICE, Call, MemoryService
from tests.plugins.patchouli.stand_ins import Recording

META = {
    "source": {"type": "agent-loop", "id": "x"},
    "scope": "/w",
    "attributes": {"point": "agent/pre-step", "deep": {"a": [1, True]}},
}
REQUEST = {"meta": META, "data": {"query": "q"}}


def run(body: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(body(), 30))


def service(*plugins: Any, **config: Any) -> MemoryService:
    made = MemoryService(read_service_config(config))
    for plugin in plugins:
        made.register(plugin)
    return made


def test_the_row_needs_nothing_and_offers_the_service() -> None:
    async def body() -> None:
        host = Host(None)  # type: ignore[arg-type]
        mount = Mount(host)
        assert PatchouliService.name == "dsh-patchouli"
        assert getattr(PatchouliService, "inject", ()) == ()
        await PatchouliService().apply(mount, read_service_config(ABSENT))
        assert host.service(SERVICE).plugins == []
        await mount.unwind()
        assert host.service(SERVICE) is None

    run(body)


def test_every_plugin_has_an_outcome_in_the_order_of_registration() -> None:
    async def body() -> None:
        a, b, c = Recording("a", 1), Recording("b", ValueError("no")), Recording("c", None)
        signal = AbortSignal()
        outcomes = await service(a, b, c).retrieve(REQUEST, signal=signal)
        assert outcomes == [
            {"pluginId": "a", "ok": True, "value": 1},
            {"pluginId": "b", "ok": False, "error": "no"},
            {"pluginId": "c", "ok": True, "value": None},
        ]
        assert a.retrieves[0] is REQUEST
        assert a.signals[0] is signal

    run(body)


def test_a_slow_plugin_times_out_and_the_fast_one_answers() -> None:
    async def body() -> None:
        ended: list[int] = []

        async def slow() -> int:
            await asyncio.sleep(0.1)
            ended.append(1)
            return 1

        made = service(
            Recording("slow", slow), Recording("fast", 2),
            routing={"slow": {"retrieveTimeoutMs": 20}},
        )  # fmt: skip
        first, second = await made.retrieve(REQUEST)
        assert first["error"] == 'memory provider "slow retrieve" timed out after 20ms'
        assert second["value"] == 2
        await asyncio.sleep(0.2)
        assert ended == [1]

    run(body)


def test_an_abort_ends_the_whole_call_with_its_reason() -> None:
    async def body() -> None:
        signal = AbortSignal()
        made = service(Recording("a", lambda: asyncio.sleep(20)))
        waiting = asyncio.ensure_future(made.retrieve(REQUEST, signal=signal))
        await asyncio.sleep(0.01)
        signal.abort({"kind": "user", "reason": KeyError("mine")})
        with pytest.raises(KeyError, match="mine"):
            await waiting
        with pytest.raises(KeyError):
            await made.update(REQUEST, signal=signal)

    run(body)


def test_filters_choose_and_one_that_raises_is_a_failure_of_its_plugin() -> None:
    async def body() -> None:
        seen: list[Call] = []

        class Own(Recording):
            def filter(self, call: Call) -> bool:
                seen.append(call)
                return call.operation == "retrieve"

        def wrong(_call: Call) -> bool:
            raise ValueError("broken filter")

        made = MemoryService()
        made.register(Own("own", 1))
        made.register(Recording("b", 2), lambda call: call.meta["scope"] == "/other")
        made.register(Recording("c", 3), wrong)
        assert await made.retrieve(REQUEST) == [
            {"pluginId": "own", "ok": True, "value": 1},
            {"pluginId": "c", "ok": False, "error": "broken filter"},
        ]
        assert seen == [Call("retrieve", META)]
        assert [each["pluginId"] for each in await made.update(REQUEST)] == ["c"]

    run(body)


@pytest.mark.parametrize(
    ("route", "reached"),
    [
        ({}, True),
        ({"enabled": False}, False),
        ({"operations": ["update"]}, False),
        ({"operations": ["update", "retrieve"]}, True),
        ({"sourceTypes": ["cron"]}, False),
        ({"sourceIds": ["x"]}, True),
        ({"scopes": ["/v"]}, False),
        ({"attributes": {"point": "agent/pre-step"}}, True),
        ({"attributes": {"deep": {"a": [1, True]}}}, True),
        ({"attributes": {"deep": {"a": [1, 1]}}}, False),
        ({"attributes": {"missing": None}}, False),
    ],
)
def test_the_users_routing_decides(route: dict[str, Any], reached: bool) -> None:
    async def body() -> None:
        outcomes = await service(Recording("a"), routing={"a": route}).retrieve(REQUEST)
        assert bool(outcomes) is reached

    run(body)


def test_filters_of_a_plugin_that_is_off_are_not_run() -> None:
    async def body() -> None:
        made = service(routing={"a": {"enabled": False}})

        def wrong(_call: Call) -> bool:
            raise AssertionError

        made.register(Recording("a"), wrong)
        assert await made.retrieve(REQUEST) == []

    run(body)


def test_ids_are_texts_and_unique_until_the_plugin_is_gone() -> None:
    made = MemoryService()
    with pytest.raises(ValueError, match="memory plugin id must be a non-empty string"):
        made.register(Recording(" "))
    gone = made.register(Recording("a"))
    with pytest.raises(ValueError, match='memory plugin "a" is already registered'):
        made.register(Recording("a"))
    gone()
    gone()
    made.register(Recording("a"))


def test_time_limits_that_are_no_numbers_fall_back() -> None:
    for wrong in (0, -1, "5", None, True, float("inf")):
        assert read_service_config({"retrieveTimeoutMs": wrong}).retrieve_timeout_ms == 30_000
    config = read_service_config({"retrieveTimeoutMs": 5, "routing": {"a": {}}})
    assert config.retrieve_limit("a") == config.retrieve_limit("b") == 5


@pytest.mark.parametrize(
    "config",
    [
        {"routing": []},
        {"routing": {"a": {"operations": ["forget"]}}},
        {"routing": {"a": {"scopes": "x"}}},
        {"updateTimeoutMs": -1},
        {"store": "yes"},
        {"rooting": {}},
    ],
)
def test_wrong_configs_are_refused(config: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_service_config(config)
