"""Events of a session as calls to a daemon: the mapping registry (dsh-agentmemory-bridge 4, 5).

Pure but for what it remembers of one session: open calls, inputs, the number of the last event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dshloop.plugins.agentmemory import calls
from dshloop.plugins.agentmemory.calls import About, Call
from dshloop.plugins.agentmemory.config import BridgeConfig
from dshloop.plugins.agentmemory.content import cleaned, member, said, string
from dshloop.plugins.agentmemory.repeats import Repeats
from dshloop.times import iso_time

PLUGIN = "agentmemory"
PROMPT, RESULT, FAILURE, NOTICE = (
    "prompt_submit",
    "post_tool_use",
    "post_tool_failure",
    "notification",
)
OPEN_CALLS = 1000
SUMMARY = 6000
"""Characters of a compaction's summary."""

OWN_TOOLS = "memory_"
"""How the names of memory's tools begin: what they answer is no news."""

_SHORT = 2000
_RECALLED = ("recall", "semantic")

Event = Mapping[str, Any]
Data = dict[str, Any]


class OpenCall(NamedTuple):
    """A call of a tool that has no result yet."""

    name: str
    arguments: str


def is_recall(message: Any) -> bool:
    """Whether a message was put there by a memory: it is neither recorded nor searched for."""
    source = member(message, "source")
    if member(source, "kind") != "plugin":
        return False
    return member(source, "plugin") == PLUGIN or member(source, "form") in _RECALLED


class Scribe:
    """Writes one session down, event by event."""

    def __init__(self, about: About, config: BridgeConfig) -> None:
        self.about = about
        self.number = 0
        """The number of the last event: it grows by one with each of the session's."""
        self._config = config
        self._open: dict[str, OpenCall] = {}
        self._repeats = Repeats()
        self._by_type: Mapping[str, Callable[[Event, Any], Call | None]] = {
            "user/message": self._prompt,
            "assistant/message": self._answer,
            "tool/call": self._called,
            "tool/result": self._result,
            "turn/end": self._turn,
            "approval/asked": self._approval,
            "compaction/summary": self._summary,
        }

    def write(self, event: Event) -> Call | None:
        """Give the call that an event makes, if any."""
        seq = event.get("seq")
        self.number = seq + 1 if type(seq) is int else self.number + 1
        writer = self._by_type.get(event["type"])
        return None if writer is None else writer(event, event.get("data"))

    # --- each type -----------------------------------------------------------------------------

    def _prompt(self, event: Event, data: Any) -> Call | None:
        if is_recall(data):
            return None
        text = self._content(member(data, "content"))
        kind = self._short(member(data, "source", "kind")) or "user"
        told = self._repeats.told(PROMPT, text, "")
        return self._row(
            event, PROMPT, {"source": kind, "prompt": text, "tool_input": told, "content": text}
        )

    def _answer(self, event: Event, data: Any) -> Call:
        message = member(data, "message") or data
        text = self._content(member(message, "content"))
        row = {"tool_name": "assistant_message", "tool_output": text}
        row |= {"tool_input": f"#{self.number}", "content": text}
        for name in ("provider", "model"):
            found = string(member(message, "source", name)) or string(member(data, name))
            row |= {name: self._short(found)} if found else {}
        return self._row(event, RESULT, row)

    def _called(self, _event: Event, data: Any) -> None:
        id_, arguments = string(member(data, "callId")), member(data, "arguments")
        if not isinstance(arguments, str):
            import json

            arguments = "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
        text = self._cleaned(arguments, self._config.max_args_chars)
        self._open[id_] = OpenCall(self._short(member(data, "name")), text)
        if len(self._open) > OPEN_CALLS:
            del self._open[next(iter(self._open))]

    def _result(self, event: Event, data: Any) -> Call | None:
        message = member(data, "message") or data
        block = _result_block(message)
        id_ = _call_id(data, message, block)
        call = self._open.pop(id_, None) if id_ else None
        name = (call.name if call else "") or self._short(member(data, "name")) or "tool"
        if name.startswith(OWN_TOOLS):
            return None
        error = member(data, "error")
        failed = bool(error) or any(member(one, "isError") is True for one in (message, block))
        text = self._content(member(message, "content"))
        named = self._short(member(error, "name")) if failed else ""
        told = call.arguments if call else f"result#{self._short(id_) or self.number}"
        told = self._repeats.told(name, told, f"{failed}\0{named}\0{text}")
        row: Data = {"tool_name": name, "tool_input": told, "tool_output": text}
        row |= {"callId": self._short(id_)} if id_ else {}
        row |= {"content": text, "isError": failed, "errorName": named}
        return self._row(event, FAILURE if failed else RESULT, row)

    def _turn(self, event: Event, data: Any) -> Call:
        reason = self._short(member(data, "reason", "kind") or member(data, "reason"))
        row = {"tool_name": "turn_end", "tool_input": f"turn#{self.number}"}
        reason = reason or "completed"
        return self._row(event, RESULT, {**row, "tool_output": reason, "reason": reason})

    def _approval(self, event: Event, data: Any) -> Call:
        row = {"notification_type": "permission_prompt"}
        for name, key in (
            ("tool_name", "toolName"),
            ("request_id", "id"),
            ("call_id", "callId"),
            ("reason", "reason"),
        ):
            text = self._short(member(data, key))
            row |= {name: text} if text else {}
        return self._row(event, NOTICE, row)

    def _summary(self, _event: Event, data: Any) -> Call | None:
        summary = self._cleaned(said(member(data, "summary")), SUMMARY)
        if not self._config.compaction_bridge or not summary.strip():
            return None
        body = {"content": f"[dsh compaction] {summary}", "type": "fact"}
        about = {"project": self.about.project, "agentId": self.about.agent}
        return Call(calls.REMEMBER, {**body, "concepts": ["compaction"], **about})

    # --- both ----------------------------------------------------------------------------------

    def _row(self, event: Event, hook: str, data: Data) -> Call:
        time = event.get("time")
        at = iso_time(time / 1000 if isinstance(time, int | float) else 0.0)
        return calls.observe(self.about, hook, at, data)

    def _content(self, content: Any) -> str:
        return self._cleaned(said(content), self._config.max_content_chars)

    def _short(self, value: Any) -> str:
        return self._cleaned(string(value), _SHORT)

    def _cleaned(self, text: str, limit: int) -> str:
        return cleaned(text, limit, self._config.secret)


def _result_block(message: Any) -> Any:
    content = member(message, "content")
    blocks = content if isinstance(content, list) else []
    return next((one for one in blocks if member(one, "type") == "tool-result"), None)


def _call_id(data: Any, message: Any, block: Any) -> str:
    found = (
        member(data, "callId"),
        member(block, "toolCallId"),
        member(message, "toolCallId"),
        member(message, "source", "callId"),
    )
    return next((one for one in found if isinstance(one, str) and one), "")
