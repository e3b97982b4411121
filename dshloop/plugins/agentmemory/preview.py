"""The calls that the events of a stored session would make (dsh-agentmemory-bridge 4). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from dshloop.plugins.agentmemory import calls
from dshloop.plugins.agentmemory.calls import About, Call
from dshloop.plugins.agentmemory.config import BridgeConfig
from dshloop.plugins.agentmemory.reading import query_of
from dshloop.plugins.agentmemory.scribe import Scribe, is_recall

CREATED, DISPOSED = "session/created", "session/disposed"
POINTS = (
    CREATED,
    "user/message",
    "assistant/message",
    "tool/result",
    "turn/end",
    "approval/asked",
    "compaction/start",
    "compaction/summary",
    DISPOSED,
)
"""What makes calls, in the order of the mapping registry."""


class Previewed(NamedTuple):
    """A call, the point that makes it, and the event's seq where it is one."""

    point: str
    call: Call
    seq: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows."""
        return {"point": self.point, "seq": self.seq, **self.call.as_json()}


def previewed(
    about: About, events: Iterable[Mapping[str, Any]], config: BridgeConfig
) -> Iterator[Previewed]:
    """Yield the calls of a whole session in their order; ``enabled`` and ``readOnly`` hold."""
    if not config.enabled:
        return
    scribe = Scribe(about, config)
    starts = config.session_rows and bool(about.cwd)
    if starts:
        yield Previewed(CREATED, calls.start(about))
    elif config.recalls:
        yield Previewed(CREATED, calls.context(about, config))
    for event in events:
        written = scribe.write(event)
        point, seq = event["type"], event.get("seq")
        if written is not None and config.writes and about.cwd:
            yield Previewed(point, written, seq)
        for call in _read(about, event, config):
            yield Previewed(point, call, seq)
    if starts:
        yield Previewed(DISPOSED, calls.end(about))


def _read(about: About, event: Mapping[str, Any], config: BridgeConfig) -> Iterator[Call]:
    data = event.get("data")
    if event["type"] == "compaction/start" and config.recalls_again:
        yield calls.context(about, config)
    elif event["type"] == "user/message" and not is_recall(data):
        if config.recalls:
            yield calls.context(about, config)
        query = query_of(data, config)
        if query:
            yield calls.smart_search(about, query, config)
