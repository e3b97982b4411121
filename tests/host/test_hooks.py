"""Listeners: the four ways of calling them, their order, scopes and failures."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dshloop.host.hooks import Hooks

Next = Callable[[], Awaitable[Any]]


def noting(log: list[str], name: str) -> Callable[..., None]:
    return lambda *_: log.append(name)


def around(log: list[str], name: str) -> Callable[..., Awaitable[Any]]:
    async def listener(_event: Any, following: Next) -> Any:
        log.append(f"{name} in")
        result = await following()
        log.append(f"{name} out")
        return f"{name}({result})"

    return listener


def test_listeners_run_in_the_order_they_came_and_prepended_ones_first() -> None:
    hooks, log = Hooks(), []
    hooks.on("e", noting(log, "a"))
    hooks.on("e", noting(log, "b"), prepend=True)
    hooks.on("e", noting(log, "c"))
    hooks.on("e", noting(log, "d"), prepend=True)
    hooks.emit("e")
    assert log == ["d", "b", "a", "c"]


def test_a_scope_hears_the_host_and_itself_only() -> None:
    host, log = Hooks(), []
    one, two = host.scope(), host.scope()
    one.on("e", noting(log, "one"))
    host.on("e", noting(log, "host"))
    two.on("e", noting(log, "two"))
    one.on("e", noting(log, "one first"), prepend=True)
    one.emit("e")
    assert log == ["one first", "one", "host"]
    log.clear()
    host.emit("e")
    assert log == ["host"]


def test_a_disposer_takes_its_listener_away_however_often_it_is_called() -> None:
    hooks, log = Hooks(), []
    dispose = hooks.on("e", noting(log, "a"))
    hooks.on("e", noting(log, "b"))
    dispose()
    dispose()
    hooks.emit("e")
    assert log == ["b"]


def test_a_closed_scope_leaves_the_hosts_listeners() -> None:
    host, log = Hooks(), []
    scope = host.scope()
    host.on("e", noting(log, "host"))
    scope.on("e", noting(log, "scope"))
    scope.close()
    scope.emit("e")
    assert log == ["host"]


def test_emit_contains_failures_and_waits_for_nobody() -> None:
    failures: list[tuple[str, str]] = []
    hooks, log = Hooks(lambda event, error: failures.append((event, str(error)))), []

    def broken(*_: Any) -> None:
        raise ValueError("now")

    async def later(*_: Any) -> None:
        await asyncio.sleep(0)
        log.append("late")
        raise ValueError("later")

    async def run() -> None:
        hooks.on("e", broken)
        hooks.on("e", later)
        hooks.on("e", noting(log, "last"))
        hooks.emit("e")
        assert log == ["last"]
        await hooks.settle()

    asyncio.run(run())
    assert log == ["last", "late"]
    assert failures == [("e", "now"), ("e", "later")]


def test_a_veto_ends_an_announcement() -> None:
    hooks, log = Hooks(), []

    def veto(*_: Any) -> None:
        raise ValueError("no")

    hooks.on("e", noting(log, "a"))
    hooks.on("e", veto)
    hooks.on("e", noting(log, "b"))
    with pytest.raises(ValueError, match="no"):
        hooks.announce("e")
    assert log == ["a"]


def test_serial_awaits_one_after_the_other_and_parallel_all_together() -> None:
    log: list[str] = []

    def slow(name: str, rounds: int) -> Callable[..., Awaitable[None]]:
        async def listener(*_: Any) -> None:
            for _round in range(rounds):
                await asyncio.sleep(0)
            log.append(name)

        return listener

    async def run() -> None:
        hooks = Hooks()
        hooks.on("e", slow("a", 5))
        hooks.on("e", slow("b", 1))
        await hooks.serial("e")
        await hooks.parallel("e")

    asyncio.run(run())
    assert log == ["a", "b", "b", "a"]


def test_parallel_runs_all_though_one_raises() -> None:
    hooks, log = Hooks(), []

    async def broken(*_: Any) -> None:
        raise ValueError("no")

    hooks.on("e", broken)
    hooks.on("e", noting(log, "b"))
    with pytest.raises(ValueError, match="no"):
        asyncio.run(hooks.parallel("e"))
    assert log == ["b"]


def test_a_waterfall_goes_in_from_the_outside_and_out_again() -> None:
    hooks, log = Hooks(), []
    hooks.on("e", around(log, "a"))
    hooks.on("e", around(log, "b"))
    hooks.on("e", around(log, "first"), prepend=True)
    result = asyncio.run(hooks.waterfall("e", {}, last=lambda: "core"))
    assert result == "first(a(b(core)))"
    assert log == ["first in", "a in", "b in", "b out", "a out", "first out"]


def test_a_listener_that_does_not_go_on_answers_alone() -> None:
    hooks, log = Hooks(), []
    hooks.on("e", lambda _event, _following: "mine")
    hooks.on("e", around(log, "inner"))
    assert asyncio.run(hooks.waterfall("e", {}, last=lambda: "core")) == "mine"
    assert log == []
