"""What events become for a person who watches: words as they come, one line for all the rest."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from dshloop.runs.watching.reply import Reply, failure_of, failure_text, reason_of, retry_text
from dshloop.sessions.calls import answered_call
from dshloop.sessions.export.pieces import content_text, context_label, is_error, is_recalled
from dshloop.terminal import one_line
from dshloop.transcripts.vocabulary import Event

Kind = Literal["text", "thought", "fold", "context", "notice", "failure", "busy"]
Data = Mapping[str, Any]

_THOUGHT = "thought: "
_ARGUMENTS, _OUTCOME, _BEGINNING = 60, 70, 60  # characters of what stands in one line


class Told(NamedTuple):
    """One thing to tell.

    ``text`` and ``thought`` are pieces of an answer and of the thinking before it, as they come.
    ``fold`` is one line that stands for ``body``; ``context`` is what memory recalled, a label and
    the whole text in ``body``; ``busy`` says what is waited for, ``""`` for nothing.
    """

    kind: Kind
    text: str
    body: str = ""
    failed: bool = False


class Narrator:
    """Tells one event after the other; keeps what a line is made of until it is complete.

    ``model`` is the one that was asked last before.
    """

    def __init__(self, model: str = "") -> None:
        self._reply = Reply()
        self._thought: list[str] = []
        self._thought_told = False  # of the message that is coming in
        self._calls: dict[str, Event] = {}
        self._model = one_line(model, _BEGINNING)

    def tell(self, event: Event) -> Iterator[Told]:
        """Give what an event adds, in order; nothing for what is only for machines."""
        kind, data = event["type"], event["data"]
        if not isinstance(data, Mapping):
            return
        if not _is_thinking(event):
            yield from self._end_thought()
        said = self._reply.text_of(event)
        if said:
            yield Told("text", said)
        teller = _TELLERS.get(kind)
        if teller is not None:
            yield from teller(self, event, data)

    # --- the model -----------------------------------------------------------------------------

    def _waiting(self) -> Told:
        return Told("busy", f"waiting for {self._model}" if self._model else "waiting")

    def _begun(self, _event: Event, _data: Data) -> Iterator[Told]:
        yield self._waiting()

    def _context(self, _event: Event, data: Data) -> Iterator[Told]:
        model = data.get("model")
        self._model = one_line(model, _BEGINNING) if isinstance(model, str) else ""
        yield self._waiting()

    def _chunk(self, _event: Event, data: Data) -> Iterator[Told]:
        chunk = data["chunk"]
        if chunk["type"] == "reasoning-delta" and chunk["text"]:
            self._thought.append(chunk["text"])
            yield Told("thought", chunk["text"])
            yield Told("busy", "thinking")
        elif chunk["type"] == "tool-call-delta" and chunk.get("name"):
            yield Told("busy", f"calling {one_line(str(chunk['name']), _BEGINNING)}")

    def _message(self, _event: Event, data: Data) -> Iterator[Told]:
        message = data.get("message")
        content = message.get("content") if isinstance(message, Mapping) else None
        if not self._thought_told:
            yield from _thought_fold("\n".join(_thoughts(content)))
        self._thought_told = False

    def _end_thought(self) -> Iterator[Told]:
        if self._thought:
            yield from _thought_fold("".join(self._thought))
            self._thought, self._thought_told = [], True

    def _retry(self, event: Event, data: Data) -> Iterator[Told]:
        self._thought_told = False
        broken_off = self._reply.notice_of(event)
        yield Told("notice", broken_off or retry_text(data))
        yield Told("busy", "waiting before it is asked again")

    # --- tools, added context, ends ------------------------------------------------------------

    def _user(self, _event: Event, data: Data) -> Iterator[Told]:
        source = data.get("source")
        source = source if isinstance(source, Mapping) else {}
        if source.get("kind") == "user":
            return
        label, text = f"context added by {context_label(source)}", content_text(data)
        if is_recalled(source):
            yield Told("context", label, text)
        else:
            yield Told("fold", f"[{label}] {one_line(text, _BEGINNING)}", text)

    def _call(self, event: Event, data: Data) -> Iterator[Told]:
        self._calls[str(data.get("callId"))] = event
        yield self._running()

    def _result(self, event: Event, data: Data) -> Iterator[Told]:
        call = self._calls.pop(answered_call(data) or "", None)
        yield call_fold(call, event)
        yield self._running()

    def _running(self) -> Told:
        if not self._calls:
            return self._waiting()
        names = [one_line(str(call["data"].get("name")), 40) for call in self._calls.values()]
        return Told("busy", f"running {', '.join(names)}")

    def _asked(self, _event: Event, _data: Data) -> Iterator[Told]:
        yield Told("busy", "")

    def _step_end(self, _event: Event, _data: Data) -> Iterator[Told]:
        self._calls.clear()
        self._thought_told = False
        yield self._waiting()

    def _turn_end(self, event: Event, _data: Data) -> Iterator[Told]:
        yield Told("busy", "")
        reason = reason_of(event)
        failure = failure_of(reason)
        if failure is not None:
            yield Told("failure", failure_text(failure), failed=True)
        elif reason["kind"] not in ("completed", "interrupted"):
            yield Told("notice", str(reason["kind"]))

    def _compacting(self, _event: Event, _data: Data) -> Iterator[Told]:
        yield Told("busy", "summarising the history")

    def _compacted(self, _event: Event, data: Data) -> Iterator[Told]:
        if data.get("turn") is not None and data.get("error") is None:
            yield Told("notice", "the history was getting long: a summary took the place of it")
        yield self._waiting()


_TELLERS: dict[str, Callable[[Narrator, Event, Data], Iterator[Told]]] = {
    "turn/start": Narrator._begun,
    "step/start": Narrator._begun,
    "request/context": Narrator._context,
    "assistant/chunk": Narrator._chunk,
    "assistant/message": Narrator._message,
    "llm/retry": Narrator._retry,
    "llm/retry-started": Narrator._begun,
    "user/message": Narrator._user,
    "tool/call": Narrator._call,
    "tool/result": Narrator._result,
    "approval/asked": Narrator._asked,
    "step/end": Narrator._step_end,
    "turn/end": Narrator._turn_end,
    "compaction/start": Narrator._compacting,
    "compaction/end": Narrator._compacted,
}


def _is_thinking(event: Event) -> bool:
    """Whether a thought that is under way may go on behind this event."""
    if event["type"] != "assistant/chunk":
        return False
    chunk = event["data"]["chunk"]
    return "reasoning" in (chunk.get("blockType"), chunk["type"].removesuffix("-delta"))


def _thoughts(content: object) -> Iterator[str]:
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping) and block.get("type") == "reasoning":
            yield str(block.get("text") or "")


def _thought_fold(thought: str) -> Iterator[Told]:
    if thought.strip():
        words = len(thought.split())
        count = "1 word" if words == 1 else f"{words} words"
        yield Told("fold", f"{_THOUGHT}{one_line(thought, _BEGINNING)} ({count})", thought)


class Asides:
    """What a run that nobody talks to tells beside the answer: thoughts whole, calls in a line.

    How a turn ended is left to whoever ends the run.
    """

    def __init__(self) -> None:
        self._narrator = Narrator()

    def of(self, event: Event) -> str | None:
        """Give the lines of an event, None for none."""
        told = [*self._narrator.tell(event)] if event["type"] != "turn/end" else []
        return "\n".join(filter(None, map(_aside, told))) or None


def _aside(told: Told) -> str | None:
    if told.kind == "notice":
        return told.text
    if told.kind == "context":
        return f"[{told.text}]\n{told.body}"
    if told.kind == "fold":
        if told.text.startswith(_THOUGHT):
            return f"{_THOUGHT}{told.body}"
        return told.text if told.text.startswith("[") else f"tool {told.text}"
    return None


# --- calls ---------------------------------------------------------------------------------------


def call_fold(call: Event | None, result: Event) -> Told:
    """Put a call and its result into one line, and all of both into its body."""
    asked: Data = {} if call is None else call["data"]
    message = result["data"].get("message")
    failed = "error" in result["data"] or is_error(message)
    name, given = one_line(str(asked.get("name", "a tool"))), str(asked.get("arguments", ""))
    text = content_text(message)
    took = "" if call is None else _took(result["time"] - call["time"])
    line = f"{name} {one_line(given, _ARGUMENTS)} → {_outcome(text, failed)}{took}"
    return Told("fold", line, f"{name} {_laid_out(given)}\n→\n{text}", failed)


def _outcome(text: str, failed: bool) -> str:
    stripped = text.strip()
    if failed:
        return f"failed: {one_line(stripped.removeprefix('Error: '), _OUTCOME)}"
    if not stripped:
        return "done"
    lines = stripped.count("\n") + 1
    return one_line(stripped, _OUTCOME) if lines == 1 else f"{lines} lines"


def _took(milliseconds: int) -> str:
    return f" ({milliseconds / 1000:.1f} s)" if milliseconds >= 1000 else ""


def _laid_out(arguments: str) -> str:
    """Give JSON with a line for each member; anything else as it is."""
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return arguments
