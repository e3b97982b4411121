"""When a failed request to a model is made again (dsh-sessions 7 and 10)."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dshloop.host.abort import AbortSignal
    from dshloop.host.agent import Agent

EVENT = "agent/request-error"
CODES = frozenset({"EMPTY_RESPONSE", "RATE_LIMIT", "SERVER", "TIMEOUT", "TRANSPORT"})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Which failures are tried again, how often, and after what time in milliseconds.

    The delay doubles from ``first_ms`` to ``longest_ms``, each time up to ``jitter`` more or less.
    What the provider asks for is waited for at least; one that asks for more than ``patience_ms``
    is not tried again.
    """

    retries: int = 5
    codes: frozenset[str] = CODES
    first_ms: float = 500
    longest_ms: float = 10_000
    jitter: float = 0.1
    patience_ms: float = 300_000
    chance: Callable[[], float] | None = field(default=None, repr=False)

    def wants(self, retry: int, failure: Mapping[str, Any]) -> bool:
        """Whether the retry of a number, counted from 1, is to be made."""
        asked = failure.get("providerRetryAfterMs")
        patient = not isinstance(asked, int | float) or asked <= self.patience_ms
        return patient and failure.get("code") in self.codes and retry <= self.retries

    def delay(self, retry: int, failure: Mapping[str, Any]) -> float:
        """Give the milliseconds to wait before the retry of a number, counted from 1."""
        doubled: float = min(self.first_ms * 2 ** (retry - 1), self.longest_ms)
        varied = doubled * (1 + self.jitter * (2 * (self.chance or _chance)() - 1))
        asked = failure.get("providerRetryAfterMs")
        return max(varied, float(asked)) if isinstance(asked, int | float) else varied


def _chance() -> float:
    from random import random

    return random()


def retry_listener(policy: RetryPolicy) -> Callable[..., Awaitable[Any]]:
    """Make the listener on agent/request-error of one agent; it counts anew for each step."""
    counted: dict[tuple[int, int], int] = {}

    async def on_error(event: Mapping[str, Any], following: Callable[[], Awaitable[Any]]) -> Any:
        decided = await following()
        place = (event["turn"], event["step"])
        retry = counted.get(place, 0) + 1
        wanted = policy.wants(retry, event["failure"])
        if decided is not None or not wanted or event["signal"].aborted:
            return decided
        counted.clear()
        counted[place] = retry
        return await _wait(event, retry, policy)

    return on_error


async def _wait(event: Mapping[str, Any], retry: int, policy: RetryPolicy) -> Any:
    """Record the retry, wait, record that it begins; an abort ends the wait without one."""
    agent: Agent = event["agent"]
    failure, signal = event["failure"], event["signal"]
    about = {"retryId": str(uuid.uuid4()), "turn": event["turn"], "step": event["step"]}
    delay = policy.delay(retry, failure)
    agent.append(
        "llm/retry",
        {
            **about,
            "provider": event["provider"],
            "mode": "normal",
            "policyKey": failure["code"],
            "retry": retry,
            "maxRetries": policy.retries,
            "delayMs": float(delay),
            "failure": dict(failure),
        },
    )
    await _sleep(delay / 1000, signal)
    if signal.aborted:
        return None
    agent.append("llm/retry-started", {**about, "retry": retry})
    return {"kind": "retry"}


async def _sleep(seconds: float, signal: AbortSignal) -> None:
    import asyncio

    woken = asyncio.Event()
    signal.on_abort(woken.set)
    try:
        async with asyncio.timeout(seconds):
            await woken.wait()
    except TimeoutError:
        pass
