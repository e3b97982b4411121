"""One turn: steps, requests and their events, in DSH's order (dsh-sessions 7 and 10)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dshloop.host.abort import AbortSignal
from dshloop.host.agent import Agent
from dshloop.host.request import Answer, ask
from dshloop.llm.messages import Message, text_block

Reason = Mapping[str, Any]


def begin_turn(agent: Agent, signal: AbortSignal) -> Turn:
    """Start the next turn of an agent and claim its input; `Turn.finish` does the rest."""
    number = _next_number(agent)
    agent.append("turn/start", {"turn": number})
    return Turn(agent, signal, number, agent.inbox.claim_first())


@dataclass(slots=True)
class Turn:
    """A turn under way; ``batch`` is what its next step begins with."""

    agent: Agent
    signal: AbortSignal
    number: int
    batch: Sequence[Message]
    step: int = 0
    cut: bool = False  # some answer ended for want of tokens

    async def finish(self) -> None:
        """Run the turn to its end; all that was appended lasts when this returns."""
        reason = await self._steps()
        self.agent.append("turn/end", {"turn": self.number, "reason": reason})
        self.agent.session.flush()

    async def _steps(self) -> Reason:
        """Make steps until nothing is left to answer; give the reason for the end."""
        more = bool(self.batch)
        while more and self.signal.cause is None:
            answer = await self._make_step()
            if answer.failure is not None:
                return self._aborted() or {"kind": "error", "error": answer.failure}
            self.cut = self.cut or answer.cut
            self.batch = [] if self._aborted() else self.agent.inbox.claim_step()
            more = bool(self.batch or answer.calls)
        return self._aborted() or {"kind": "max-tokens" if self.cut else "completed"}

    def _aborted(self) -> Reason | None:
        cause = self.signal.cause
        return None if cause is None else {"kind": "aborted", "reason": dict(cause)}

    async def _make_step(self) -> Answer:
        self.step += 1
        place = {"turn": self.number, "step": self.step}
        self.agent.append("step/start", place)
        for message in self.batch:
            self.agent.append("user/message", message)
        answer = await ask(self.agent, self.signal, place)
        for call in answer.calls:
            self._refuse_call(call)
        self.agent.append("step/end", place)
        return answer

    def _refuse_call(self, call: Mapping[str, Any]) -> None:
        """Answer a call of a tool that isn't there: a normal pair of events with an error."""
        place = {"turn": self.number, "step": self.step}
        logged = self.agent.append(
            "tool/call",
            {**place, "callId": call["id"], "name": call["name"], "arguments": call["arguments"]},
        )
        block = {
            "type": "tool-result",
            "toolCallId": call["id"],
            "content": [text_block(f'Error: unknown tool "{call["name"]}"')],
            "isError": True,
        }
        source = {"kind": "tool", "callId": call["id"]}
        message = {"source": source, "content": [block], "role": "user", "id": str(uuid.uuid4())}
        error = {"name": "ToolNotFoundError", "code": "UNKNOWN_TOOL"}
        self.agent.append(
            "tool/result",
            {**place, "message": message, "error": error},
            sources=[logged["seq"]],
        )


def _next_number(agent: Agent) -> int:
    last = agent.latest.get("turn/start", {}).get("turn")
    return last + 1 if type(last) is int else 1
