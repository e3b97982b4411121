"""What the model sees of a session: its surface events in order (dsh-sessions 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dshloop.transcripts.vocabulary import Event

_BOUNDS = (("start", "end"), ("startSeq", "endSeq"))


def surface(events: Iterable[Event]) -> list[Event]:
    """Give the surface events; one that replaces others stands where they stood."""
    nodes: list[Event] = []
    for event in events:
        operation = event.get("surfaceOp")
        if operation == "append":
            nodes.append(event)
        elif isinstance(operation, Mapping):
            nodes = _replace(nodes, operation, event)
    return nodes


def model_history(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Give the messages of the surface, without answers that are empty."""
    messages = (_message(event) for event in surface(events))
    return [message for message in messages if message is not None]


def _message(event: Event) -> dict[str, Any] | None:
    data = event["data"]
    message: Any = data if event["type"] == "user/message" else data.get("message")
    if not isinstance(message, dict):
        return None
    if event["type"] == "assistant/message" and not message.get("content"):
        return None
    return message


def _replace(nodes: list[Event], operation: Mapping[str, Any], event: Event) -> list[Event]:
    bounds = next((pair for pair in _BOUNDS if pair[0] in operation), None)
    if bounds is None:
        return [*nodes, event]
    first, last = operation[bounds[0]], operation[bounds[1]]
    before = [node for node in nodes if node["seq"] < first]
    return [*before, event, *(node for node in nodes if node["seq"] > last)]
