"""The model behind the fake driver when it follows a script: same script, same chunks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from random import Random

from dshloop.drivers.fake import FAKE_PROVIDER
from dshloop.drivers.script import Failure, Reply, Script
from dshloop.llm.messages import Chunk, ModelRequest, text_block
from dshloop.llm.ping import utf16_length

LONGEST_PIECE = 8  # characters of a delta


class ScriptedAdapter:
    """Gives each session the replies of a script in order, one a request.

    Every draw comes from the script's seed and the number of the request, so that sessions that
    run at once don't change each other's answers.
    """

    def __init__(self, script: Script, provider: str = FAKE_PROVIDER) -> None:
        self.provider = provider
        self._script = script
        self._next: dict[str | None, int] = {}
        self._failed: dict[str | None, int] = {}

    def resolve_model(self, provider: str, model: str) -> dict[str, str]:
        """Accept any model name."""
        return {"provider": provider, "id": model, "name": model}

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Yield the chunks of the session's next reply."""
        number = self._next.get(request.session_id, 0)
        reply = self._reply(number)
        if reply is None:
            yield _failed(Failure(f"the script has no reply number {number + 1}", "SCRIPT_ENDED"))
            return
        draw = Random(f"{self._script.seed}/{number}")
        await asyncio.sleep(draw.uniform(*reply.delay))
        failure = self._failure(request.session_id, reply)
        if failure is not None and failure.times is not None:
            yield _failed(failure)
            return
        self._next[request.session_id] = number + 1
        for chunk in reply_chunks(reply, number, draw):
            await asyncio.sleep(draw.uniform(*reply.pace))
            yield chunk
        if failure is not None:
            yield _failed(failure)
        elif reply.end == "disconnect":
            raise Disconnected("the connection was closed in the middle of the answer")
        else:
            yield {"type": "finish", "reason": {"kind": reply.end}}

    def _reply(self, number: int) -> Reply | None:
        replies, after = self._script.replies, self._script.after
        if number < len(replies):
            return replies[number]
        if after == "fail":
            return None
        return replies[-1] if after == "last" else replies[number % len(replies)]

    def _failure(self, session: str | None, reply: Reply) -> Failure | None:
        """Give the failure of this request: for good, or one of those before the answer."""
        if reply.failure is None or reply.failure.times is None:
            return reply.failure
        done = self._failed.get(session, 0)
        if done >= reply.failure.times:
            self._failed[session] = 0
            return None
        self._failed[session] = done + 1
        return reply.failure


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
