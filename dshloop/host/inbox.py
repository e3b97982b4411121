"""An agent's inbox: two lists of messages, each change an event (dsh-sessions 5, 10)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from dshloop.errors import SessionUnreadableError
from dshloop.llm.messages import Message

Target = Literal["next-turn", "next-step"]
EVENT = "agent/inbox/spliced"


class Inbox:
    """What waits for the next turn and for the next step; ``append`` records every splice."""

    def __init__(self, append: Callable[[str, Any], object]) -> None:
        self._append = append
        self._lists: dict[str, list[Message]] = {"next-turn": [], "next-step": []}
        self._waking: set[str] = set()

    @property
    def wakes(self) -> bool:
        """Whether something waits that starts a turn."""
        pending = {message["id"] for message in self._lists["next-step"]}
        return bool(self._lists["next-turn"]) or bool(pending & self._waking)

    def pending(self, target: Target) -> list[Message]:
        """Give a copy of one list."""
        return list(self._lists[target])

    def insert(self, target: Target, message: Message, *, wakeup: bool) -> None:
        """Add a message at the end. Raises ValueError when its id waits already."""
        if any(message["id"] == other["id"] for each in self._lists.values() for other in each):
            raise ValueError(f"message {message['id']} is pending already")
        self._splice(target, len(self._lists[target]), 0, [message])
        if wakeup:
            self._waking.add(message["id"])

    def claim_first(self) -> list[Message]:
        """Take what a turn begins with: all for the next step, then one for the next turn."""
        return [*self._take("next-step", None), *self._take("next-turn", 1)]

    def claim_step(self) -> list[Message]:
        """Take what a later step of a turn begins with."""
        return self._take("next-step", None)

    def clear(self) -> list[Message]:
        """Drop everything that waits, and give it; recorded as cancelled."""
        dropped = []
        for target, waiting in self._lists.items():
            if waiting:
                dropped += waiting
                self._splice(target, 0, len(waiting), [], outcome="canceled")
        return dropped

    def park(self) -> None:
        """Let what waits for the next step wait until something else starts a turn."""
        self._waking.clear()

    def restore(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Bring the lists to where a log's splices left them.

        Raises SESSION_UNREADABLE for a splice that doesn't fit, as DSH does.
        """
        for event in events:
            if event["type"] == EVENT and not self._replay(event["data"]):
                raise SessionUnreadableError(
                    f"the session's log has an invalid {EVENT} (seq {event['seq']})",
                    seq=event["seq"],
                )

    def _replay(self, data: Any) -> bool:
        waiting = self._lists.get(str(data.get("target"))) if isinstance(data, Mapping) else None
        if waiting is None:
            return False
        start, count = data.get("start"), data.get("removedCount", 0)
        inserted = data.get("inserted", [])
        if not (type(start) is type(count) is int and isinstance(inserted, list)):
            return False
        if not (0 <= start <= len(waiting) and 0 <= count <= len(waiting) - start):
            return False
        waiting[start : start + count] = inserted
        return True

    def _take(self, target: Target, limit: int | None) -> list[Message]:
        taken = self._lists[target][:limit]
        if taken:
            self._splice(target, 0, len(taken), [])
        return taken

    def _splice(
        self, target: str, start: int, count: int, inserted: list[Message], **outcome: str
    ) -> None:
        data: dict[str, Any] = {"target": target, "start": start}
        if count:
            data["removedCount"] = count
        self._append(EVENT, {**data, "inserted": inserted, **outcome})
        self._lists[target][start : start + count] = inserted
