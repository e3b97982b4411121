"""What the two wires of models share: how a provider is asked, and an answer taken apart."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from dshloop.llm.failures import WireError
from dshloop.llm.messages import Chunk, ModelRequest
from dshloop.llm.sse import ServerEvent

Kind = Literal["openai", "anthropic"]
Dialect = Literal["plain", "deepseek", "openai", "anthropic"]
"""Whose extensions of the wire a provider understands."""

DONE = "[DONE]"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider as a wire sees it; ``max_tokens`` is used where a request names none."""

    name: str
    url: str
    dialect: Dialect = "plain"
    max_tokens: int | None = None


class AnswerReader(Protocol):
    """Makes the chunks of one answer out of the events of its stream.

    ``done`` is true once the answer is whole; what follows is of no interest.
    """

    done: bool

    def read(self, event: ServerEvent) -> Sequence[Chunk]:
        """Take one event. Raises WireError for what breaks the wire's rules."""
        ...

    def end(self) -> Sequence[Chunk]:
        """Say that the stream is over. Raises WireError, STREAM_CLOSED when that is too early."""
        ...


class Wire(Protocol):
    """One way of talking to models; all of it is pure."""

    def url(self, base: str) -> str:
        """Give where requests are posted, below a provider's base URL."""
        ...

    def headers(self, key: str | None) -> dict[str, str]:
        """Give the headers that carry the key, and those that the wire asks for."""
        ...

    def body(self, request: ModelRequest, endpoint: Endpoint) -> dict[str, Any]:
        """Give the body of a request. Raises WireError, UNSUPPORTED_CONTENT."""
        ...

    def reader(self, request: ModelRequest) -> AnswerReader:
        """Give what reads the answer to a request."""
        ...


def closed_early() -> WireError:
    """Make the error of a stream that ended before its answer did."""
    return WireError("the model's stream ended before its answer did", "STREAM_CLOSED")


def empty_answer() -> WireError:
    """Make the error of an answer without anything in it."""
    return WireError("the model gave an empty answer", "EMPTY_RESPONSE")


def refused(why: str) -> WireError:
    """Make the error of an answer that a filter of the provider's stopped."""
    return WireError(f"the provider stopped the answer: {why}", "INVALID_REQUEST")


def read_object(data: str) -> dict[str, Any]:
    """Read the JSON object of an event. Raises WireError, MALFORMED_RESPONSE."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise WireError(f"the model's stream holds no JSON: {error}") from None
    if not isinstance(value, dict):
        raise WireError("an event of the model's stream is no JSON object")
    return value


def encode_body(body: Mapping[str, Any]) -> bytes:
    """Give a body as UTF-8 JSON; halves of characters, which are no text, become U+FFFD."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def count(value: object) -> int:
    """Give a token count that makes sense, 0 for any other value."""
    return value if type(value) is int and value > 0 else 0


@dataclass(slots=True)
class TextBlock:
    """A text or reasoning block that is coming in.

    A character that is cut into halves between two deltas is given with the second.
    """

    index: int
    kind: Literal["text", "reasoning"]
    _pieces: list[str] = field(default_factory=list)
    _half: str = ""

    def start(self) -> Chunk:
        """Give the chunk the block begins with."""
        return {"type": "block-start", "index": self.index, "blockType": self.kind}

    def add(self, text: str) -> list[Chunk]:
        """Take a delta in; give its chunk, none for an empty one."""
        if self._half:
            text = _joined(self._half + text)
            self._half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        if not text:
            return []
        self._pieces.append(text)
        return [{"type": f"{self.kind}-delta", "index": self.index, "text": text}]

    def finish(self) -> list[Chunk]:
        """Give the chunks the block ends with."""
        last: list[Chunk] = []
        if self._half:
            self._pieces.append(self._half)
            last = [{"type": f"{self.kind}-delta", "index": self.index, "text": self._half}]
        block = {"type": self.kind, "text": "".join(self._pieces)}
        return [*last, {"type": "block-end", "index": self.index, "block": block}]


@dataclass(slots=True)
class CallBlock:
    """A tool call that is coming in; nothing of it is given before its id and name are known."""

    index: int
    id: str
    name: str = ""
    _pieces: list[str] = field(default_factory=list)
    _told: bool = False

    def add(self, arguments: str) -> list[Chunk]:
        """Take a piece of the arguments in; the first chunk of a call carries its name."""
        if not self.name:
            self._pieces.append(arguments)
            return []
        if not self._told:
            self._told = True
            arguments = "".join([*self._pieces, arguments])
            self._pieces = [arguments]
            start = {"type": "block-start", "index": self.index, "blockType": "tool-call"}
            return [start, {**self._delta(arguments), "name": self.name}]
        self._pieces.append(arguments)
        return [self._delta(arguments)] if arguments else []

    def _delta(self, arguments: str) -> Chunk:
        return {
            "type": "tool-call-delta",
            "index": self.index,
            "id": self.id,
            "argumentsDelta": arguments,
        }

    @property
    def arguments(self) -> str:
        """The arguments so far, as raw text."""
        return "".join(self._pieces)

    def finish(self, arguments: str) -> Chunk:
        """Give the chunk the block ends with."""
        block = {"type": "tool-call", "id": self.id, "name": self.name, "arguments": arguments}
        return {"type": "block-end", "index": self.index, "block": block}


def _joined(text: str) -> str:
    """Make whole characters of surrogate pairs; halves without a partner stay."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
