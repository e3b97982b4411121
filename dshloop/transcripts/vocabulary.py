"""The event types of DSH's log formats and an event's envelope (dsh-sessions 3, 5, 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Event = dict[str, Any]

V0, V4 = 0, 4
VERSIONS = (V0, V4)

LOG_NAMES = ("session.v4.jsonl.zstd", "session.v4.jsonl", "session.jsonl.zstd", "session.jsonl")
"""What a log is called, the newest format first."""

V0_TYPES = frozenset(
    """
    turn/start turn/end step/start step/end user/message assistant/chunk assistant/message
    tool/call tool/result request/header request/context session/end-seed session/title
    session/title-llm-request agent/inbox/spliced agent-preset/selected approval/asked
    approval/decided approval/policy permission/preset sandbox/mode plan/mode todo/write
    command/run command/done feedback/record compaction/start compaction/summary compaction/prune
    compaction/end goal/change schedule/change hook/invoked hook/result llm/retry
    llm/retry-started subagent/descriptor team/member team/task team/message/queued
    team/message/delivered tool/code-dispatch-start tool/code-dispatch tool-workflow/run-start
    tool-workflow/agent-start tool-workflow/agent-end tool-workflow/run-end
    web/deepseek-search-llm-request
    """.split()  # noqa: SIM905
)
V4_TYPES = V0_TYPES - {"assistant/chunk", "tool/code-dispatch-start", "tool/code-dispatch"} | {
    "system/message",
    "developer/message",
    "assistant/attempt",
    "tool/ptc-dispatch-start",
    "tool/ptc-dispatch",
    "session-log-deepseek/delivery-accepted",
    "model/selection",
    "working-directory/change",
    "workspace/changes",
    "deliverables/presented",
    "job/registered",
    "job/settled",
    "feedback/message-put",
    "feedback/message-delete",
    "image/offload",
    "subagent/catalog",
    "subagent/model-selection-policy",
}
SURFACE_V0 = frozenset({"user/message", "assistant/message", "tool/result"})
SURFACE_V4 = SURFACE_V0 | {"system/message", "developer/message"}

_WITHDRAWN = {"request/header", "request/header-delta"}
_PLAIN = {V0: V0_TYPES - SURFACE_V0 - _WITHDRAWN, V4: V4_TYPES - SURFACE_V4 - _WITHDRAWN}
_ENVELOPE = frozenset({"type", "seq", "time", "data", "surfaceOp", "sourceEventSeqs", "ignorable"})
_REQUIRED = frozenset({"type", "seq", "time", "data"})
_LARGEST = 2**53 - 1


def known_types(version: int) -> frozenset[str]:
    """Give the types that a reader of this format version understands."""
    return V0_TYPES if version == V0 else V4_TYPES


def plain_types(version: int) -> frozenset[str]:
    """Give the known types that are no part of what the model sees and never withdrawn."""
    return _PLAIN[version]


def surface_types(version: int) -> frozenset[str]:
    """Give the types whose events make up what the model sees."""
    return SURFACE_V0 if version == V0 else SURFACE_V4


def is_integer(value: object) -> bool:
    """Whether a JSON value is a safe integer (true and false are none)."""
    return type(value) is int and -_LARGEST <= value <= _LARGEST


def is_count(value: object) -> bool:
    """Whether a JSON value is a safe integer from 0."""
    return type(value) is int and 0 <= value <= _LARGEST


def envelope_fault(event: Mapping[str, Any]) -> str | None:
    """Say what is wrong with an event's envelope, None when nothing is."""
    keys = event.keys()
    if not keys >= _REQUIRED:
        return f"it has no {', '.join(sorted(_REQUIRED - keys))}"
    if len(keys) > len(_REQUIRED) and not keys <= _ENVELOPE:
        return f"unknown keys {', '.join(sorted(keys - _ENVELOPE))}"
    if type(event["type"]) is not str:
        return "its type is not a string"
    seq, time = event["seq"], event["time"]
    numbers = type(seq) is int and type(time) is int
    if not numbers or not 0 <= seq <= _LARGEST or not -_LARGEST <= time <= _LARGEST:
        return "its seq or time is not an integer"
    if "ignorable" in keys and event["ignorable"] is not True:
        return "ignorable is not true"
    return None


def surface_fault(event: Mapping[str, Any], version: int) -> str | None:
    """Say whether an event lacks, or wrongly has, a ``surfaceOp``."""
    wanted = event["type"] in surface_types(version)
    if wanted == ("surfaceOp" in event):
        return None
    return f"{event['type']} {'needs a' if wanted else 'must not have a'} surfaceOp"


def is_retired(event: Mapping[str, Any]) -> bool:
    """Whether an event is of a kind that DSH has withdrawn and refuses."""
    if event["type"] == "request/header-delta":
        return True
    data = event["data"]
    return (
        event["type"] == "request/header"
        and isinstance(data, dict)
        and data.get("reason") == "fallback"
    )
