"""What the model sees of a session: its surface events in order (dsh-sessions 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dshloop.transcripts.vocabulary import Event

_BOUNDS = (("start", "end"), ("startSeq", "endSeq"))


class Surface:
    """The surface nodes of the events seen so far; a replacement takes the place of others."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.nodes: list[Event] = []
        self._messages: list[dict[str, Any]] = []
        for event in events:
            self.see(event)

    def see(self, event: Event) -> None:
        """Take one event, in order, into account."""
        operation = event.get("surfaceOp")
        if operation == "append":
            self.nodes.append(event)
            self._messages += _message(event)
        elif isinstance(operation, Mapping):
            self.nodes = _replace(self.nodes, operation, event)
            self._messages = [message for node in self.nodes for message in _message(node)]

    def messages(self) -> list[dict[str, Any]]:
        """Give the messages that the model is shown: all but answers that are empty."""
        return [*self._messages]


def _message(event: Event) -> Sequence[dict[str, Any]]:
    message = event["data"]
    if event["type"] != "user/message" and isinstance(message, dict):
        message = message.get("message")
    if not isinstance(message, dict):
        return ()
    if event["type"] == "assistant/message" and not message.get("content"):
        return ()
    return (message,)


def _replace(nodes: list[Event], operation: Mapping[str, Any], event: Event) -> list[Event]:
    bounds = next((pair for pair in _BOUNDS if pair[0] in operation), None)
    if bounds is None:
        return [*nodes, event]
    places = {node["seq"]: at for at, node in enumerate(nodes)}
    first, last = (places.get(operation.get(name)) for name in bounds)
    if first is None or last is None or last < first:
        return [*nodes, event]
    return [*nodes[:first], event, *nodes[last + 1 :]]
