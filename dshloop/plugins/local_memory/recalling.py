"""What is remembered of a prompt, put before the model at the first step of its turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dshloop.llm.messages import Message, plain_text, user_message
from dshloop.memory.answers import Filters, Hit
from dshloop.memory.recalled import recalled
from dshloop.memory.store import MemoryStore
from dshloop.plugins.local_memory.lane import StoreLane
from dshloop.plugins.local_memory.tools import Project

if TYPE_CHECKING:
    from dshloop.host.agent import Agent

SOURCE: Mapping[str, str] = {"kind": "plugin", "plugin": "dshloop/memory", "form": "recall"}
_MOST = 12
_QUERY = 2000

SERVICE = "recalls"
"""The service that says why something was recalled: a `Recalling`."""

Step = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Recall:
    """Why a message was put before the model: what was asked, and the hits that it tells of."""

    query: str
    project: str
    hits: Sequence[Hit]


class Recalling:
    """Listens to agent/pre-step; nothing is told twice in a session."""

    def __init__(
        self, lane: StoreLane, project: Project, budget: int, warn: Callable[[str], object]
    ) -> None:
        self._lane, self._project, self._budget, self._warn = lane, project, budget, warn
        self._told: dict[str, set[str]] = {}
        self._recalls: dict[str, dict[str, Recall]] = {}  # by session and message
        self._apart: set[str] = set()

    async def step(
        self, event: Step, following: Callable[[], Awaitable[Mapping[str, Any]]]
    ) -> Mapping[str, Any]:
        """Add what is remembered behind the prompt; a store that fails is a warning."""
        answer = await following()
        messages = answer.get("messages")
        if (
            event["step"] != 1
            or answer.get("kind") != "enter"
            or not isinstance(messages, list | tuple)
        ):
            return answer
        query = query_of(messages)
        if not query:
            return answer
        try:
            recalled = await self._message(event["agent"], query)
        except Exception as error:
            self._warn(f"memory: nothing was recalled: {error}")
            return answer
        return answer if recalled is None else {**answer, "messages": [*messages, recalled]}

    async def _message(self, agent: Agent, query: str) -> Message | None:
        project, told = self._project(agent), self._told.setdefault(agent.id, set())
        header = agent.session.header
        others = {header.id, header.parent_session, *self._apart}
        hits = await self._lane.ask(lambda store: _found(store, query, project, others, told))
        text, ids = recalled(project, hits, self._budget)
        told.update(ids)
        if not text:
            return None
        message = user_message(text, source=SOURCE)
        recall = Recall(query, project, [hit for hit in hits if hit.entry.id in ids])
        self._recalls.setdefault(agent.id, {})[message["id"]] = recall
        return message

    def leave_out(self, session: str) -> None:
        """Recall nothing more of a session, because what was said there is said again or undone."""
        self._apart.add(session)

    def recall(self, session: str, message: object) -> Recall | None:
        """Give why a message is in a session; None where that isn't known any more."""
        return self._recalls.get(session, {}).get(str(message))

    def forget(self, event: Step) -> None:
        """Let go of an agent that has ended."""
        self._told.pop(event["agent"].id, None)
        self._recalls.pop(event["agent"].id, None)


def query_of(messages: Sequence[Message]) -> str:
    """Give what the person said: never what plugins did, recalls least of all."""
    said = (
        plain_text(message.get("content"))
        for message in messages
        if isinstance(message, Mapping) and (message.get("source") or {}).get("kind") == "user"
    )
    return "\n".join(text for text in said if text.strip())[:_QUERY]


def _found(
    store: MemoryStore, query: str, project: str, apart: Set[str | None], told: Set[str]
) -> list[Hit]:
    """Give what answers a query, but nothing of sessions that say the same as this one."""
    hits = store.recall(query, Filters(project=project), limit=_MOST)
    return [
        hit
        for hit in hits
        if hit.entry.id not in told and (not hit.entry.session or hit.entry.session not in apart)
    ]
