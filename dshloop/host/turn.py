"""One turn: steps, requests and their events, in DSH's order (dsh-sessions 7 and 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dshloop.host.abort import AbortSignal
from dshloop.host.agent import Agent
from dshloop.host.calling import contained
from dshloop.host.hooks import decision
from dshloop.host.prompt import assemble
from dshloop.host.request import Answer, ask
from dshloop.llm.messages import Message, failure

Reason = Mapping[str, Any]
PRE_STEP = "agent/pre-step"


def begin_turn(agent: Agent, signal: AbortSignal) -> Turn:
    """Start the next turn of an agent and claim its input; `Turn.finish` does the rest."""
    return Turn(agent, signal, *open_turn(agent))


def open_turn(agent: Agent) -> tuple[int, Sequence[Message]]:
    """Record the start of a turn; gives its number and the input it has claimed."""
    number = _next_number(agent)
    agent.append("turn/start", {"turn": number})
    return number, _claimed(agent, agent.inbox.claim_first(), number)


@dataclass(slots=True)
class Turn:
    """A turn under way; ``batch`` is what its next step begins with."""

    agent: Agent
    signal: AbortSignal
    number: int
    batch: Sequence[Message]
    step: int = 0
    cut: bool = False  # some answer ended for want of tokens
    open: bool = False  # a step has begun and not ended

    async def finish(self) -> None:
        """Run the turn to its end; all that was appended lasts when this returns."""
        reason = await self._guarded()
        self.agent.append("turn/end", {"turn": self.number, "reason": reason})
        await self.agent.hooks.parallel("session/flush", self.agent.session)
        self.agent.session.flush()

    async def _guarded(self) -> Reason:
        """Make the steps; what a listener raises ends the turn, what the log raises goes on."""
        try:
            return await self._steps()
        except BaseException as raised:
            error = contained(raised)
            if error is self.agent.log_fault:
                raise
            if self.open:
                self._end_step()
            return self._aborted() or self._failed(failure(str(error) or type(error).__name__))

    async def _steps(self) -> Reason:
        """Make steps until nothing is left to answer; give the reason for the end."""
        while self.signal.cause is None:
            system = await assemble(self.agent)
            messages = await self._enter()
            if self.signal.aborted:
                break
            if messages is None:
                self.agent.inbox.park()
                return {"kind": "blocked"}
            if not messages and not self.step:
                break
            answer, live = await self._make_step(messages, system)
            if answer.failure is not None:
                return self._aborted() or self._failed(answer.failure)
            self.cut = self.cut or answer.cut
            if not await self._goes_on(live):
                break
        return self._aborted() or {"kind": "max-tokens" if self.cut else "completed"}

    async def _goes_on(self, live: bool) -> bool:
        """Claim what the next step begins with; without any, listeners may still steer."""
        if self.signal.aborted:
            return False
        self.batch = _claimed(self.agent, self.agent.inbox.claim_step(), self.number)
        if self.batch or live:
            return True
        place = {"agent": self.agent, "turn": self.number, "signal": self.signal}
        await self.agent.hooks.serial("agent/turn-stopping", place)
        if self._aborted() is not None:
            return False
        self.batch = _claimed(self.agent, self.agent.inbox.claim_step(), self.number)
        return bool(self.batch)

    async def _enter(self) -> Sequence[Message] | None:
        """Ask the listeners with what the next step begins; None when they reject it."""
        event = {
            "agent": self.agent,
            "messages": list(self.batch),
            "turn": self.number,
            "step": self.step + 1,
            "signal": self.signal,
        }
        answer = await self.agent.hooks.waterfall(
            PRE_STEP, event, last=lambda: {"kind": "enter", "messages": self.batch}
        )
        decided = decision(PRE_STEP, answer)
        if decided.get("kind") == "reject":
            return None
        messages = decided.get("messages")
        if not isinstance(messages, list | tuple):
            raise TypeError(f"a listener on {PRE_STEP} lets a step begin without its messages")
        return list(messages)

    async def _make_step(
        self, messages: Sequence[Message], system: str | None
    ) -> tuple[Answer, bool]:
        """Make one step; gives the answer, and whether its calls ask for another one."""
        self.step += 1
        place = {"turn": self.number, "step": self.step}
        self.agent.append("step/start", place)
        self.open = True
        for message in messages:
            self.agent.append("user/message", message)
        answer = await ask(self.agent, self.signal, place, system)
        live = bool(answer.calls)
        if live:
            from dshloop.host.calls import run_calls

            live = not await run_calls(self.agent, answer.calls, self.signal, place)
        self._end_step()
        return answer, live

    def _end_step(self) -> None:
        self.open = False
        self.agent.append("step/end", {"turn": self.number, "step": self.step})

    def _aborted(self) -> Reason | None:
        cause = self.signal.cause
        return None if cause is None else {"kind": "aborted", "reason": dict(cause)}

    def _failed(self, error: Mapping[str, Any]) -> Reason:
        event = {"agent": self.agent, "turn": self.number, "step": self.step, "error": error}
        self.agent.hooks.emit("agent/error", event)
        return {"kind": "error", "error": error}


def _claimed(agent: Agent, messages: Sequence[Message], turn: int) -> Sequence[Message]:
    """Tell the listeners what a turn has taken from the inbox."""
    for message in messages:
        event = {"agent": agent, "message": message, "turn": turn}
        agent.hooks.emit("agent/inbox/claimed", event)
    return messages


def _next_number(agent: Agent) -> int:
    last = agent.latest.get("turn/start", {}).get("turn")
    return last + 1 if type(last) is int else 1
