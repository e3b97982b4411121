"""What an ACP agent tells of a turn, as events of our log.

ACP knows no steps: one begins with the first words after all tool calls before were answered.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dshloop.drivers.peer import PeerTurn
from dshloop.errors import EngineAnswerError
from dshloop.llm.messages import Assembly, assistant_message, text_block

PROVIDER = "acp"
_WORDS = {"agent_message_chunk": "text", "agent_thought_chunk": "reasoning"}
_OVER = ("completed", "failed")
_TODO = ("pending", "in_progress", "completed")
_FAILED = {"name": "ToolError", "code": "TOOL_FAILED"}

Update = Mapping[str, Any]


class AcpUpdates:
    """Takes the updates of one turn; ``model`` is what the log calls the agent.

    Words are recorded as they come. The message they make is recorded, with its tool calls, when
    the first of these is answered, or other words follow, or the turn ends.
    """

    def __init__(self, turn: PeerTurn, model: str) -> None:
        self._turn, self._model = turn, model
        self._message: _Message | None = None
        self._said = False  # whether the step has a message
        self._calls: dict[str, dict[str, Any]] = {}  # as far as they are told of, by id
        self._logged: dict[str, int] = {}  # calls without a result: the seq of their tool/call

    async def take(self, update: Any) -> None:
        """Record an update; kinds that say nothing of the turn are left out.

        Raises ENGINE_ANSWER for one that is malformed.
        """
        if not isinstance(update, Mapping):
            raise EngineAnswerError("the agent sent an update that is no object")
        kind = update.get("sessionUpdate")
        try:
            if kind in _WORDS:
                await self._say(_WORDS[kind], update)
            elif kind in ("tool_call", "tool_call_update"):
                await self._call(update)
            elif kind == "plan":
                self._plan(update)
        except (KeyError, TypeError, ValueError, AttributeError) as fault:
            raise EngineAnswerError(
                f"the agent sent a malformed {kind}: {type(fault).__name__}: {fault}"
            ) from fault

    async def _say(self, block: str, update: Update) -> None:
        content = update["content"]
        text = content["text"] if content["type"] == "text" else f"[{content['type']}]"
        named = update.get("messageId")
        message = self._message
        if message is not None and named is not None and message.named not in (None, named):
            self._close_message()
        message = await self._opened(named)
        message.say(block, text)

    async def _opened(self, named: str | None = None) -> _Message:
        """Give the message under way, or begin one: in a new step unless calls are unanswered."""
        if self._message is None:
            if self._said and not self._logged:
                self._turn.close_step()
                await self._turn.begin_step()
                self._said = False
            self._message = _Message(self._turn, self._model, named)
        return self._message

    async def _call(self, update: Update) -> None:
        call_id = update["toolCallId"]
        if not isinstance(call_id, str):
            raise TypeError("its toolCallId is no string")
        known = self._calls.get(call_id)
        told = {key: value for key, value in update.items() if value is not None}
        self._calls[call_id] = call = {**(known or {}), **told}
        if known is None:
            (await self._opened()).calls.append(call_id)
        if call.get("status") in _OVER:
            self._close_message()
            self._answer(call_id, call)

    def _answer(self, call_id: str, call: Update) -> None:
        logged = self._logged.pop(call_id, None)
        if logged is None:  # it was answered before
            return
        failed = call["status"] == "failed"
        block: dict[str, Any] = {"type": "tool-result", "toolCallId": call_id}
        block["content"] = _content(call)
        if failed:
            block["isError"] = True
        source = {"kind": "tool", "callId": call_id}
        message = {"source": source, "content": [block], "role": "user", "id": f"result-{call_id}"}
        data: dict[str, Any] = {**self._turn.place, "message": message, "meta": _about(call)}
        if failed:
            data["error"] = _FAILED
        self._turn.record("tool/result", data, sources=[logged])

    def _plan(self, update: Update) -> None:
        todos = [
            {"content": str(entry["content"]), "status": entry["status"]}
            for entry in update["entries"]
            if entry["status"] in _TODO
        ]
        self._turn.record("todo/write", {"todos": todos})

    def _close_message(self, usage: Mapping[str, Any] | None = None) -> None:
        message, self._message = self._message, None
        if message is None:
            return
        self._said = True
        calls = [(call_id, self._calls[call_id]) for call_id in message.calls]
        message.close([_call_block(call_id, call) for call_id, call in calls], usage)
        for call_id, call in calls:
            block = _call_block(call_id, call)
            named = {"callId": call_id, "name": block["name"], "arguments": block["arguments"]}
            event = self._turn.record("tool/call", {**self._turn.place, **named})
            self._logged[call_id] = event["seq"]

    def finish(self, usage: Mapping[str, Any] | None) -> None:
        """Record what is open at the end of a turn."""
        self._close_message(usage)

    def break_off(self, failure: Mapping[str, Any] | None) -> None:
        """Record what could be seen of a turn that was aborted, or failed."""
        message = self._message
        if message is not None and not message.calls:
            self._message = None
            message.break_off(failure)
        self._close_message()

    def call(self, call_id: str, told: Update) -> tuple[str, Any]:
        """Give the name and the input of a call, by all that was told of it."""
        call = {**self._calls.get(call_id, {}), **told}
        return _name(call), call.get("rawInput", {})


class _Message:
    """Words that come in, as chunks; blocks of one kind are one as long as no other comes."""

    def __init__(self, turn: PeerTurn, model: str, named: str | None) -> None:
        self.named = named
        self.calls: list[str] = []
        self._turn, self._model = turn, model
        self._chunks: list[int] = []
        self._assembly = Assembly()
        self._open: str | None = None
        self._index = -1

    def say(self, block: str, text: str) -> None:
        if block != self._open:
            self._end_block()
            self._begin_block(block)
        self._chunk({"type": f"{block}-delta", "index": self._index, "text": text})

    def _begin_block(self, block: str) -> None:
        self._index += 1
        self._open = block
        self._chunk({"type": "block-start", "index": self._index, "blockType": block})

    def _end_block(self) -> None:
        if self._open is not None:
            block = self._assembly.content()[-1]
            self._chunk({"type": "block-end", "index": self._index, "block": block})
            self._open = None

    def close(
        self, calls: Sequence[Mapping[str, Any]], usage: Mapping[str, Any] | None = None
    ) -> None:
        self._end_block()
        for call in calls:
            self._begin_block("tool-call")
            index = self._index
            delta = {"id": call["id"], "name": call["name"], "argumentsDelta": call["arguments"]}
            self._chunk({"type": "tool-call-delta", "index": index, **delta})
            self._end_block()
        if usage is not None:
            self._chunk({"type": "usage", "usage": dict(usage)})
        self._chunk({"type": "finish", "reason": {"kind": "tool-calls" if calls else "stop"}})
        self._record(self._assembly.content(), {} if usage is None else {"usage": dict(usage)})

    def break_off(self, failure: Mapping[str, Any] | None) -> None:
        if failure is not None:
            reason = {"kind": "error", "failure": dict(failure)}
            self._chunk({"type": "finish", "reason": reason})
        elif self._assembly.visible():
            self._record(self._assembly.visible(), {"interrupted": True})

    def _chunk(self, chunk: dict[str, Any]) -> None:
        event = self._turn.record("assistant/chunk", {**self._turn.place, "chunk": chunk})
        self._chunks.append(event["seq"])
        self._assembly.add(chunk)

    def _record(self, content: Sequence[Any], more: Mapping[str, Any]) -> None:
        message = assistant_message(content, PROVIDER, self._model)
        data = {**self._turn.place, "message": message, **more}
        self._turn.record("assistant/message", data, sources=self._chunks)


def _call_block(call_id: str, call: Update) -> dict[str, Any]:
    arguments = json.dumps(call.get("rawInput", {}), ensure_ascii=False)
    return {"type": "tool-call", "id": call_id, "name": _name(call), "arguments": arguments}


def _name(call: Update) -> str:
    """Give a tool's name: ACP has a title, which may be a sentence, and a kind."""
    title = call.get("title")
    if isinstance(title, str) and title and len(title) <= 64 and not any(map(str.isspace, title)):
        return title
    kind = call.get("kind")
    return kind if isinstance(kind, str) and kind else "tool"


def _about(call: Update) -> dict[str, Any]:
    return {key: call[key] for key in ("title", "kind", "locations") if key in call}


def _content(call: Update) -> list[dict[str, Any]]:
    """Give what a call came to as blocks; without any, its raw output."""
    parts = call.get("content") or []
    found = [text_block(text) for part in parts if (text := _part(part))]
    if not found and "rawOutput" in call:
        raw = call["rawOutput"]
        found = [text_block(raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False))]
    return found


def _part(part: Update) -> str:
    kind = part["type"]
    if kind == "content":
        content = part["content"]
        return str(content["text"]) if content["type"] == "text" else f"[{content['type']}]"
    if kind == "diff":
        return f"[diff of {part['path']}]"
    return f"[{kind}]"
