"""Setups, which prepare an agent before anybody sees it, and what is left for its publication.

A setup is a function, async or not, that may give back a commit: a function, or something with a
``commit``. It may also be a generator, async or not, whose code after ``yield`` is the commit
(loop-dock 10 and 17).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from typing import Any

from dshloop.errors import AgentFailedError
from dshloop.host.calling import at_once, call, contained

Commit = Callable[[], object]


async def prepare(setup: Callable[[Any], Any], agent: Any) -> Commit | None:
    """Run a setup on an agent; what comes back is to be called when the agent is published."""
    result = await call(setup, agent)
    if isinstance(result, Generator):
        return _begun_at_once(result)
    if isinstance(result, AsyncGenerator):
        return await _begun(result)
    return commit_of(result)


def commit_of(result: object) -> Commit | None:
    """Find the commit in what a setup gave back: {commit}, something with one, a function."""
    if isinstance(result, Mapping):
        found = result.get("commit")
    else:
        found = getattr(result, "commit", result)
    return found if callable(found) else None


def run_commit(commit: Commit) -> None:
    """Call a commit; whatever it raises is its veto.

    It stands between the setup and the moment when the agent can be seen, so it may be async only
    as far as it waits for nothing. Raises AGENT_FAILED otherwise.
    """
    try:
        at_once(commit(), "a commit")
    except BaseException as raised:
        raise contained(raised) from raised


async def _begun(steps: AsyncGenerator[Any, Any]) -> Commit | None:
    """Run an async generator to its yield; its commit is the rest."""
    if await call(anext, steps, _OVER) is _OVER:
        return None

    async def rest() -> None:
        if await anext(steps, _OVER) is not _OVER:
            raise AgentFailedError(_TWICE)

    return rest


def _begun_at_once(steps: Generator[Any, Any, Any]) -> Commit | None:
    """The same for a generator that is not async."""
    try:
        over = next(steps, _OVER)
    except BaseException as raised:
        raise contained(raised) from raised
    if over is _OVER:
        return None

    def rest() -> None:
        if next(steps, _OVER) is not _OVER:
            raise AgentFailedError(_TWICE)

    return rest


_OVER = object()
_TWICE = "a setup yields twice, and has only one publication to wait for"
