"""Every form of a setup: what runs before the agent can be seen, and what at that moment."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from dshloop.host.setup import prepare, run_commit


async def _async_generator(log: list[str]) -> AsyncIterator[None]:
    log.append("setup")
    await asyncio.sleep(0)
    yield
    log.append("commit")


def _generator(log: list[str]) -> Iterator[None]:
    log.append("setup")
    yield
    log.append("commit")


async def _async_commit(log: list[str]) -> Any:
    async def commit() -> None:
        log.append("commit")

    log.append("setup")
    return commit


def _mapping(log: list[str]) -> Any:
    log.append("setup")
    return {"commit": lambda: log.append("commit")}


@pytest.mark.parametrize("setup", [_async_generator, _generator, _async_commit, _mapping])
def test_the_commit_runs_at_publication(setup: Callable[[list[str]], Any]) -> None:
    async def run() -> None:
        log: list[str] = []
        commit = await prepare(setup, log)
        assert log == ["setup"]
        assert commit is not None
        run_commit(commit)
        assert log == ["setup", "commit"]

    asyncio.run(run())


def test_generators_that_end_at_once_have_no_commit() -> None:
    async def ends(log: list[str]) -> AsyncIterator[None]:
        log.append("setup")
        return
        yield

    log: list[str] = []
    assert asyncio.run(prepare(ends, log)) is None
    assert log == ["setup"]


def test_a_veto_of_any_form_is_raised() -> None:
    async def generator(_agent: Any) -> AsyncIterator[None]:
        yield
        raise ValueError("no")

    def function(_agent: Any) -> Any:
        async def commit() -> None:
            raise ValueError("no")

        return commit

    async def run(setup: Callable[[Any], Any]) -> None:
        commit = await prepare(setup, None)
        assert commit is not None
        with pytest.raises(ValueError, match="no"):
            run_commit(commit)

    asyncio.run(run(generator))
    asyncio.run(run(function))


def test_a_commit_that_waits_or_a_second_yield_is_refused() -> None:
    async def waits(_agent: Any) -> AsyncIterator[None]:
        yield
        await asyncio.sleep(0)

    async def twice(_agent: Any) -> AsyncIterator[None]:
        yield
        yield

    def twice_at_once(_agent: Any) -> Iterator[None]:
        yield
        yield

    async def run(setup: Any, said: str) -> None:
        commit = await prepare(setup, None)
        assert commit is not None
        with pytest.raises(Exception, match=said):
            run_commit(commit)

    asyncio.run(run(waits, "waits for something"))
    asyncio.run(run(twice, "yields twice"))
    asyncio.run(run(twice_at_once, "yields twice"))


def test_exits_are_errors_like_any_other() -> None:
    def at_once(_agent: Any) -> Iterator[None]:
        sys.exit(7)
        yield

    with pytest.raises(Exception, match=r"SystemExit\(7\)"):
        asyncio.run(prepare(at_once, None))
