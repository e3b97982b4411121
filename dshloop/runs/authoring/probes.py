"""Listeners around those of a loop, which see what a loop's listeners do with what they get."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dshloop.host.agent import Agent

WATERFALLS = (
    "system-prompt/assemble",
    "agent/pre-step",
    "agent/request",
    "agent/request-error",
    "tools/pre-execute",
    "tools/execute",
    "tools/post-execute",
)
DECIDES = frozenset({"reject", "retry", "deny", "ask", "block"})
"""Answers that a listener may give alone."""


@dataclass(slots=True)
class Probes:
    """Two listeners on each waterfall of an agent, the outermost and the innermost one.

    ``seen`` counts dispatches, ``swallowed`` those that never reached the innermost listener
    though nothing was refused.
    """

    seen: dict[str, int] = field(default_factory=dict)
    swallowed: set[str] = field(default_factory=set)
    shapeless: dict[str, Any] = field(default_factory=dict)
    _reached: bool = False

    @classmethod
    def on(cls, agent: Agent) -> Probes:
        """Watch an agent that is set up."""
        probes = cls()
        for event in WATERFALLS:
            agent.hooks.on(event, probes._outer(event), prepend=True)
            agent.hooks.on(event, probes._inner)
        return probes

    def _outer(self, event: str) -> Callable[..., Awaitable[Any]]:
        async def outer(*args: Any) -> Any:
            before, self._reached = self._reached, False
            answer = await args[-1]()
            kind = answer.get("kind") if isinstance(answer, Mapping) else None
            self.seen[event] = self.seen.get(event, 0) + 1
            if not self._reached and kind not in DECIDES:
                self.swallowed.add(event)
            if not _fits(event, answer):
                self.shapeless[event] = answer
            self._reached = before
            return answer

        return outer

    async def _inner(self, *args: Any) -> Any:
        self._reached = True
        return await args[-1]()


def _fits(event: str, answer: Any) -> bool:
    """Whether what the listeners of a waterfall gave back can be used."""
    if event == "system-prompt/assemble":
        return isinstance(answer, list | tuple)
    if event in ("agent/request-error", "tools/execute"):
        return True
    return isinstance(answer, Mapping)
