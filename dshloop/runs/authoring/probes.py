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
    """Listeners on each waterfall of an agent: the outermost, one just outside the loop's own (the
    dock and the fake driver have some around them), and the innermost.

    ``swallowed`` are events of which a dispatch never reached the innermost listener though
    nothing was refused; ``shapeless`` those whose answer can't be used.
    """

    swallowed: set[str] = field(default_factory=set)
    shapeless: dict[str, Any] = field(default_factory=dict)
    _reached: bool = False

    def before(self, agent: Agent) -> None:
        """Watch from just outside the loop: the setup of whoever makes the agent."""
        for event in WATERFALLS:
            agent.hooks.on(event, self._shaped(event))

    def around(self, agent: Agent) -> None:
        """Watch from both ends, when the agent is set up."""
        for event in WATERFALLS:
            agent.hooks.on(event, self._outer(event), prepend=True)
            agent.hooks.on(event, self._inner)

    def _shaped(self, event: str) -> Callable[..., Awaitable[Any]]:
        async def shaped(*args: Any) -> Any:
            answer = await args[-1]()
            if not _fits(event, answer):
                self.shapeless[event] = answer
            return answer

        return shaped

    def _outer(self, event: str) -> Callable[..., Awaitable[Any]]:
        shaped = self._shaped(event)

        async def outer(*args: Any) -> Any:
            before, self._reached = self._reached, False
            answer = await shaped(*args)
            kind = answer.get("kind") if isinstance(answer, Mapping) else None
            if not self._reached and kind not in DECIDES:
                self.swallowed.add(event)
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
