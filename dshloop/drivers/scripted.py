"""The model behind the fake driver when it follows a script: same script, same chunks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from random import Random
from typing import NamedTuple

from dshloop.drivers.fake import FAKE_PROVIDER
from dshloop.drivers.script import Failure, Reply, Script
from dshloop.llm.messages import Chunk, ModelRequest, text_block
from dshloop.llm.ping import utf16_length
from dshloop.transcripts.vocabulary import Event

LONGEST_PIECE = 8  # characters of a delta


class Place(NamedTuple):
    """How far a session is: the number of its next reply, and how often that failed already."""

    number: int = 0
    failed: int = 0

    def behind(self, reply: Reply | None) -> Place:
        """Give the place behind one more request, which got this reply or its failure."""
        if reply is None:
            return self
        failure = reply.failure
        if failure is not None and failure.times is not None and self.failed < failure.times:
            return Place(self.number, self.failed + 1)
        return Place(self.number + 1)


class ScriptedAdapter:
    """Gives each session the replies of a script in order, one a request.

    Every draw comes from the script's seed and the number of the request, so that sessions that
    run at once don't change each other's answers. ``earlier`` says how many requests a session
    made before this process; its replies go on behind those.
    """

    def __init__(
        self,
        script: Script,
        provider: str = FAKE_PROVIDER,
        earlier: Callable[[str], int] | None = None,
    ) -> None:
        self.provider = provider
        self._script = script
        self._earlier = earlier
        self._places: dict[str | None, Place] = {}

    def resolve_model(self, provider: str, model: str) -> dict[str, str]:
        """Accept any model name."""
        return {"provider": provider, "id": model, "name": model}

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Yield the chunks of the session's next reply."""
        session = request.session_id
        place = self._places.get(session) or self._begin(session)
        number, reply = place.number, self._reply(place.number)
        if reply is None:
            yield _failed(Failure(f"the script has no reply number {number + 1}", "SCRIPT_ENDED"))
            return
        draw = Random(f"{self._script.seed}/{number}")
        await asyncio.sleep(draw.uniform(*reply.delay))
        self._places[session] = following = place.behind(reply)
        if reply.failure is not None and following.number == number:
            yield _failed(reply.failure)
            return
        for chunk in reply_chunks(reply, number, draw):
            await asyncio.sleep(draw.uniform(*reply.pace))
            yield chunk
        if reply.failure is not None and reply.failure.times is None:
            yield _failed(reply.failure)
        elif reply.end == "disconnect":
            raise Disconnected("the connection was closed in the middle of the answer")
        else:
            yield {"type": "finish", "reason": {"kind": reply.end}}

    def _begin(self, session: str | None) -> Place:
        """Find the place of a session that earlier processes may have gone on with."""
        made = 0 if self._earlier is None or session is None else self._earlier(session)
        place = Place()
        for _ in range(made):
            place = place.behind(self._reply(place.number))
        return place

    def _reply(self, number: int) -> Reply | None:
        replies, after = self._script.replies, self._script.after
        if number < len(replies):
            return replies[number]
        if after == "fail":
            return None
        return replies[-1] if after == "last" else replies[number % len(replies)]


def requests_in(events: Iterable[Event]) -> int:
    """Count the requests that a log records an answer or a failure of."""
    count, asked = 0, False
    for event in events:
        if event["type"] in ("step/start", "llm/retry-started"):
            asked = True
        elif asked and _is_answer(event):
            count, asked = count + 1, False
    return count


def _is_answer(event: Event) -> bool:
    if event["type"] == "turn/end":
        data = event["data"]
        reason = data.get("reason") if isinstance(data, dict) else None
        return isinstance(reason, dict) and reason.get("kind") == "error"
    return event["type"] in ("assistant/chunk", "assistant/message", "llm/retry")


class Disconnected(Exception):  # noqa: N818 - told to the engine, never to people
    """A script cuts the connection; the turn ends with an error, as with a real provider."""

    code = "TRANSPORT"


def reply_chunks(reply: Reply, number: int, draw: Random) -> Iterator[Chunk]:
    """Yield blocks in pieces of drawn length, then the usage; how it ends is not said here."""
    index = 0
    for kind, text in (("reasoning", reply.reasoning), ("text", reply.text)):
        if not text:
            continue
        yield {"type": "block-start", "index": index, "blockType": kind}
        for piece in _pieces(text, draw):
            yield {"type": f"{kind}-delta", "index": index, "text": piece}
        if reply.end == "disconnect" and not reply.calls and kind == "text":
            return
        block = text_block(text) if kind == "text" else {"type": kind, "text": text}
        yield {"type": "block-end", "index": index, "block": block}
        index += 1
    for place, call in enumerate(reply.calls):
        call_id = f"call-{number + 1}-{place + 1}"
        about = {"id": call_id, "name": call.name}
        yield {"type": "block-start", "index": index, "blockType": "tool-call"}
        yield {
            "type": "tool-call-delta", "index": index, **about, "argumentsDelta": call.arguments
        }  # fmt: skip
        block = {"type": "tool-call", **about, "arguments": call.arguments}
        yield {"type": "block-end", "index": index, "block": block}
        index += 1
    output = reply.output_tokens
    if output is None:
        output = utf16_length(reply.reasoning + reply.text)
    usage = {"inputTokens": reply.input_tokens, "outputTokens": output}
    yield {"type": "usage", "usage": usage}


def _pieces(text: str, draw: Random) -> Iterator[str]:
    at = 0
    while at < len(text):
        size = draw.randint(1, LONGEST_PIECE)
        yield text[at : at + size]
        at += size


def _failed(failure: Failure) -> Chunk:
    told: dict[str, object] = {"message": failure.message, "code": failure.code}
    if failure.retry_after is not None:
        told["providerRetryAfterMs"] = failure.retry_after
    return {"type": "finish", "reason": {"kind": "error", "failure": told}}
