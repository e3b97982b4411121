"""Code of other authors: what it raises, and what it may not wait for."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from dshloop.errors import AgentFailedError
from dshloop.host.calling import ProcessExit, at_once, call


def test_what_may_be_async_is_called_and_awaited() -> None:
    async def later(value: int) -> int:
        await asyncio.sleep(0)
        return value

    assert asyncio.run(call(later, 3)) == 3
    assert asyncio.run(call(len, "abc")) == 3


@pytest.mark.parametrize("raised", [SystemExit(7), BaseException("x"), ValueError("no")])
def test_what_it_raises_never_ends_the_process(raised: BaseException) -> None:
    def author() -> None:
        raise raised

    with pytest.raises(Exception, match=r"SystemExit\(7\)|x|no"):
        asyncio.run(call(author))


def test_exits_in_a_task_of_its_own_end_only_that_task() -> None:
    async def author() -> None:
        await asyncio.sleep(0)
        sys.exit(7)

    async def run() -> Any:
        task = asyncio.ensure_future(call(author))
        await asyncio.wait([task])
        return task.exception()

    assert isinstance(asyncio.run(run()), ProcessExit)


def test_a_cancellation_that_was_asked_for_is_not_the_authors() -> None:
    async def author() -> None:
        await asyncio.sleep(60)

    async def run() -> None:
        task = asyncio.ensure_future(call(author))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_a_cancellation_that_nobody_asked_for_is_the_authors() -> None:
    async def forever() -> None:
        await asyncio.sleep(60)

    async def author() -> None:
        inner = asyncio.ensure_future(forever())
        inner.cancel()
        await inner

    def at_once() -> None:
        raise asyncio.CancelledError

    async def run() -> None:
        for one in (author, at_once):
            with pytest.raises(ProcessExit, match="CancelledError"):
                await call(one)

    asyncio.run(run())


def test_at_once_runs_what_waits_for_nothing() -> None:
    async def quick() -> int:
        return 3

    async def slow() -> None:
        await asyncio.sleep(0)

    assert at_once(quick(), "it") == 3
    assert at_once(3, "it") == 3
    with pytest.raises(AgentFailedError, match="it waits for something"):
        at_once(slow(), "it")
