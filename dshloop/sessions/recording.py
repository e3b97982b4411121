"""What a log holds for playing its session again: what came in, what models and tools said. Pure.

Events are as v0 has them (`to_v0`). An input is a message that came from outside through the
inbox, or stands in the log without one; what plugins put before the model is no input.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dshloop.sessions.answers import Answer, Cause, Chunk, Summaries, made_chunks, with_failure
from dshloop.transcripts.vocabulary import Event

Message = dict[str, Any]


class ToolAnswer(NamedTuple):
    """The data of a ``tool/result``, with the call it is for."""

    name: str
    arguments: str
    result: Mapping[str, Any]


class Offered(NamedTuple):
    """A tool as a request offered it to the model."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = {"type": "object"}


@dataclass(slots=True)
class RecordedTurn:
    """One turn: ``inputs`` by the step that took them, answers in order, results by call id.

    ``entered`` has what entered a step in order: None for an input, else what memory recalled.
    ``cause`` is what aborted it; ``stopped_at`` the last call of one that was aborted behind its
    last answer; ``compacted`` says how often a person had the history summarised behind it.
    ``config`` is what its requests were made with from then on, None where that stayed as it was.
    """

    number: int
    inputs: dict[int, list[Message]] = field(default_factory=dict)
    entered: dict[int, list[Message | None]] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    results: dict[str, ToolAnswer] = field(default_factory=dict)
    cause: Cause | None = None
    stopped_at: str | None = None
    compacted: int = 0
    config: Mapping[str, Any] | None = None


class Recording(NamedTuple):
    """A session's turns, the config of its first request, and the names of all tools called.

    ``summaries`` are what models said when they were asked for one, in order; ``offered`` are the
    tools of all requests, as they were offered last.
    """

    turns: Sequence[RecordedTurn]
    config: Mapping[str, Any]
    tools: Sequence[str]
    summaries: Sequence[Answer] = ()
    offered: Sequence[Offered] = ()


def read_recording(events: Iterable[Event]) -> Recording:
    """Take a log apart."""
    reader = _Reader()
    for event in events:
        reader.see(event)
    offered = tuple(reader.offered.values())
    summaries = reader.summaries.found
    return Recording(reader.turns, reader.config, sorted(reader.tools), summaries, offered)


class _Reader:
    """Goes through a log once."""

    def __init__(self) -> None:
        self.turns: list[RecordedTurn] = []
        self._config: Mapping[str, Any] = {}
        self._route: Mapping[str, Any] = {}
        self.tools: set[str] = set()
        self.summaries = Summaries()
        self.offered: dict[str, Offered] = {}
        self._inbox: dict[str, list[Message]] = {}
        self._taken: set[str] = set()  # ids of messages that came through the inbox
        self._step = 0
        self._asked = False
        self._chunks: list[Chunk] = []
        self._calls: dict[str, tuple[str, str]] = {}

    @property
    def config(self) -> Mapping[str, Any]:
        """What the first request was made with, as far as that is recorded."""
        return self._config or self._route

    def see(self, event: Event) -> None:
        """Take one event in; what has no data is left out."""
        handle = _HANDLERS.get(event["type"])
        if handle is not None and isinstance(event["data"], Mapping):
            handle(self, event["data"])

    def start_turn(self, _data: Mapping[str, Any]) -> None:
        self.summaries.killed(within=False)
        self.turns.append(RecordedTurn(len(self.turns) + 1))
        self._step, self._asked, self._chunks = 0, False, []

    def start_step(self, _data: Mapping[str, Any]) -> None:
        self._step += 1
        self._ask()

    def retry(self, _data: Mapping[str, Any]) -> None:
        self._ask()

    def splice(self, data: Mapping[str, Any]) -> None:
        """Follow the inbox; what is taken out within a turn is its input."""
        waiting = self._inbox.setdefault(str(data.get("target")), [])
        start, count = _count(data.get("start")), _count(data.get("removedCount"))
        inserted = [each for each in data.get("inserted") or () if isinstance(each, dict)]
        removed = waiting[start : start + count]
        waiting[start : start + count] = inserted
        self._taken |= {str(each.get("id")) for each in inserted}
        if removed and data.get("outcome") != "canceled" and self.turns:
            outside = [each for each in removed if is_from_outside(each)]
            self._input(outside, self._step + 1)

    def said(self, data: Mapping[str, Any]) -> None:
        """Take a message that the inbox of the log doesn't know; note in which order all came."""
        if not self.turns:
            return
        entered = self.turns[-1].entered.setdefault(max(self._step, 1), [])
        if _is_recalled(data):
            entered.append(dict(data))
        elif is_from_outside(data):
            entered.append(None)
        if str(data.get("id")) not in self._taken and is_from_outside(data):
            self._input([dict(data)], max(self._step, 1))

    def header(self, data: Mapping[str, Any]) -> None:
        header = data.get("header")
        config = header.get("config") if isinstance(header, Mapping) else None
        if isinstance(config, Mapping):
            self._config = self._config or config
            if self.turns:
                self.turns[-1].config = config
        tools = header.get("tools") if isinstance(header, Mapping) else None
        for tool in filter(None, map(_offered, tools if isinstance(tools, list) else ())):
            self.offered[tool.name] = tool

    def context(self, data: Mapping[str, Any]) -> None:
        """Take the model of a session that records no more of its requests."""
        if not self._route:
            self._route = {name: data[name] for name in ("provider", "model") if name in data}

    def chunk(self, data: Mapping[str, Any]) -> None:
        chunk = data.get("chunk")
        if not isinstance(chunk, dict):
            return
        if not self._asked:  # in the same step, without a word: the history was made shorter
            self._ask()
        self._chunks.append(chunk)
        if chunk.get("type") == "finish":
            self._finish(chunk)

    def _finish(self, finish: Chunk) -> None:
        reason = finish.get("reason")
        cut = isinstance(reason, Mapping) and reason.get("kind") == "aborted"
        chunks = self._chunks[:-1] if cut else self._chunks
        self._answered(chunks, {"kind": "user"} if cut else None)

    def answer(self, data: Mapping[str, Any]) -> None:
        """Take a message whose stream had no end of its own."""
        made = list(made_chunks(data))
        if data.get("interrupted"):
            self._answered(self._chunks or made[:-1], {"kind": "user"})
        else:
            self._answered(made)

    def failed(self, data: Mapping[str, Any]) -> None:
        self._answered(with_failure(self._chunks, data.get("failure")))

    def call(self, data: Mapping[str, Any]) -> None:
        name, arguments = str(data.get("name")), str(data.get("arguments"))
        self._calls[str(data.get("callId"))] = (name, arguments)
        self.tools.add(name)

    def result(self, data: Mapping[str, Any]) -> None:
        message = data.get("message")
        source = message.get("source") if isinstance(message, Mapping) else None
        call_id = str(source.get("callId")) if isinstance(source, Mapping) else ""
        if self.turns and call_id in self._calls:
            name, arguments = self._calls.pop(call_id)
            self.turns[-1].results[call_id] = ToolAnswer(name, arguments, data)

    def compaction(self, data: Mapping[str, Any]) -> None:
        self.summaries.begin()
        if self.turns and data.get("turn") is None:
            self.turns[-1].compacted += 1

    def summary(self, data: Mapping[str, Any]) -> None:
        self.summaries.came(data)

    def end_compaction(self, data: Mapping[str, Any]) -> None:
        self.summaries.end(data)

    def end_turn(self, data: Mapping[str, Any]) -> None:
        given = data.get("reason")
        reason: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        if not self.turns:
            return
        self.summaries.killed(within=True)
        turn = self.turns[-1]
        if reason.get("kind") in ("aborted", "interrupted"):
            cause = reason.get("reason")
            turn.cause = cause if isinstance(cause, Mapping) else {"kind": "user"}
        if self._asked:
            chunks = self._chunks
            if turn.cause is None:
                chunks = with_failure(chunks, reason.get("error"))
            self._answered(chunks, turn.cause)
        elif turn.cause is not None and turn.answers:
            self._stop_at(turn)

    def _stop_at(self, turn: RecordedTurn) -> None:
        """Say where an abort came whose answer was whole: with its answer or its last call."""
        last = turn.answers[-1]
        if last.aborted is not None:
            turn.answers[-1] = last._replace(aborted=turn.cause)
        elif turn.results:
            turn.stopped_at = next(reversed(turn.results))

    def _ask(self) -> None:
        self._asked, self._chunks = True, []

    def _answered(self, chunks: Sequence[Chunk], aborted: Cause | None = None) -> None:
        if self._asked and self.turns:
            self.turns[-1].answers.append(Answer(list(chunks), aborted))
        self._asked, self._chunks = False, []

    def _input(self, messages: Sequence[Message], step: int) -> None:
        if messages:
            self.turns[-1].inputs.setdefault(step, []).extend(messages)


_HANDLERS = {
    "turn/start": _Reader.start_turn,
    "step/start": _Reader.start_step,
    "llm/retry-started": _Reader.retry,
    "agent/inbox/spliced": _Reader.splice,
    "user/message": _Reader.said,
    "request/header": _Reader.header,
    "request/context": _Reader.context,
    "assistant/chunk": _Reader.chunk,
    "assistant/message": _Reader.answer,
    "llm/retry": _Reader.failed,
    "tool/call": _Reader.call,
    "tool/result": _Reader.result,
    "compaction/start": _Reader.compaction,
    "compaction/summary": _Reader.summary,
    "compaction/end": _Reader.end_compaction,
    "turn/end": _Reader.end_turn,
}


def is_from_outside(message: Mapping[str, Any]) -> bool:
    """Whether a message is a person's, and no plugin's."""
    source = message.get("source")
    return isinstance(source, Mapping) and source.get("kind") == "user"


def _offered(tool: object) -> Offered | None:
    """Read a tool of a request's header."""
    if not isinstance(tool, Mapping) or not isinstance(tool.get("name"), str):
        return None
    parameters = tool.get("parameters")
    known = parameters if isinstance(parameters, Mapping) else {"type": "object"}
    return Offered(tool["name"], str(tool.get("description", "")), known)


def _is_recalled(message: Mapping[str, Any]) -> bool:
    source = message.get("source")
    return isinstance(source, Mapping) and source.get("form") in ("recall", "semantic")


def _count(value: object) -> int:
    return value if type(value) is int and value > 0 else 0
