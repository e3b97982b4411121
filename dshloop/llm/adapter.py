"""The adapter of a provider: its wire, over a connection that is kept for the whole run."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from dshloop.errors import DshloopError
from dshloop.http import Peer, Timeouts, connect_async
from dshloop.http.peer import check
from dshloop.llm.anthropic import MessagesWire
from dshloop.llm.credentials import Key
from dshloop.llm.failures import WireError, of_error, of_status, without_secrets
from dshloop.llm.messages import Chunk, ModelRequest
from dshloop.llm.openai import ChatWire
from dshloop.llm.providers import Provider, missing_credential
from dshloop.llm.sse import EventParser, EventTooLargeError
from dshloop.llm.wire import Endpoint, Kind, Wire, encode_body
from dshloop.redact import is_telling

if TYPE_CHECKING:
    from dshloop.http.async_client import AsyncClient, AsyncStreamed

WIRES: Mapping[Kind, Wire] = {"openai": ChatWire(), "anthropic": MessagesWire()}
REFUSALS = range(300, 600)
LARGEST_REFUSAL = 1 << 20  # bytes that are read of an error's body
AFTERWORD = 0.25  # seconds for the end of a stream whose answer is whole
_HEADERS = {"Accept": "text/event-stream", "Accept-Encoding": "identity"}


class ProviderAdapter:
    """Asks one provider. A failure is the last chunk of its answer, never an exception.

    The key is looked for when the first request is made, so that a provider without one can be
    registered; ``name`` is what requests call it, its own name or an alias.
    """

    def __init__(
        self,
        provider: Provider,
        key: Callable[[], Key | None],
        variables: Mapping[str, str],
        *,
        name: str | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.provider = name or provider.name
        self.settings = provider
        self._find_key, self._variables, self._now = key, variables, now
        self._wire = WIRES[provider.kind]
        self._endpoint = Endpoint(
            self.provider, provider.url, provider.dialect, provider.max_tokens
        )
        self._key: Key | None = None
        self._client: AsyncClient | None = None

    def resolve_model(self, provider: str, model: str) -> dict[str, str | int]:
        """Accept any model name: only the server knows what it has. ``contextWindow`` is in tokens,
        where it is known."""
        window = self.settings.window_of(model)
        known = {} if window is None else {"contextWindow": window}
        return {"provider": provider, "id": model, "name": model, **known}

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Answer one request."""
        try:
            async for chunk in self._answer(request):
                yield chunk
        except (WireError, EventTooLargeError, DshloopError) as error:
            failure = without_secrets(of_error(error), *self._secrets())
            yield {"type": "finish", "reason": {"kind": "error", "failure": failure}}

    async def close(self) -> None:
        """Let go of the connections. May be called twice."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _answer(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        if not self.settings.takes_images:
            request = request._replace(attachments=None)
        body = encode_body(self._wire.body(request, self._endpoint))
        url = self._wire.url(self.settings.url)
        reader = self._wire.reader(request)
        client = self._connected()
        async with client.stream("POST", url, content=body, accept=REFUSALS) as streamed:
            await _require_stream(streamed, self._now)
            parser = EventParser()
            pieces = streamed.chunks()
            async for piece in pieces:
                for event in parser.feed(piece):
                    for chunk in reader.read(event):
                        yield chunk
                    if reader.done:
                        await _finish(pieces)
                        return
        for chunk in reader.end():
            yield chunk

    def _connected(self) -> AsyncClient:
        """Give the client of this run, made with the first request (TLS takes its time)."""
        if self._client is None:
            self._key = self._find_key()
            if self._key is None and self.settings.key_variable is not None:
                raise missing_credential(self.settings)
            self._client = connect_async(peer_of(self.settings, self._key), self._variables)
        return self._client

    def _secrets(self) -> list[str]:
        key = [] if self._key is None else [self._key.value]
        return [*key, *(value for value in self.settings.headers.values() if len(value) > 7)]


def peer_of(provider: Provider, key: Key | None) -> Peer:
    """Give a provider as a server; headers that carry a key or are named for one are secret."""
    headers = {
        **WIRES[provider.kind].headers(None if key is None else key.value),
        **provider.headers,
    }
    secrets = {
        name: value
        for name, value in headers.items()
        if (key is not None and key.value in value) or _is_secret(name)
    }
    plain = {name: value for name, value in headers.items() if name not in secrets}
    return Peer(
        f'provider "{provider.name}"',
        provider.url,
        secrets=secrets,
        headers={"Content-Type": "application/json", **_HEADERS, **plain},
        timeouts=Timeouts(provider.connect_timeout, provider.idle_timeout),
        allow_insecure_http=provider.allow_insecure_http,
    )


def require_sendable(provider: Provider, key: Key | None) -> None:
    """Raise, before anything is sent, PEER_CONFIG or INSECURE_HTTP for what can't be."""
    check(peer_of(provider, key))


def _is_secret(name: str) -> bool:
    return is_telling(name) or name.lower() in ("authorization", "cookie", "proxy-authorization")


async def _require_stream(streamed: AsyncStreamed, now: Callable[[], float]) -> None:
    """Raise for an answer that is none: an error status, or a page where a stream should be."""
    kind = streamed.headers.get("content-type", "").partition(";")[0].strip().lower()
    if streamed.status in REFUSALS:
        raise WireError.of(of_status(streamed.status, await _read(streamed), streamed.headers, now))
    if kind in ("application/json", "text/html"):
        body = await _read(streamed)
        if isinstance(body, dict) and body.get("error"):
            raise WireError.of(of_status(streamed.status, body, streamed.headers, now))
        raise WireError(f"the server answered with {kind} where a stream was expected")


async def _read(streamed: AsyncStreamed) -> Any:
    """Give the JSON value of a body, or its text; what can't be read of it is left out."""
    body = b""
    try:
        async for piece in streamed.chunks():
            body += piece
            if len(body) > LARGEST_REFUSAL:
                break
    except DshloopError:
        pass
    text = body.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return "" if text.lstrip().startswith("<") else text


async def _finish(pieces: AsyncIterator[bytes]) -> None:
    """Read the last bytes of a stream, so that its connection can be used again."""
    try:
        async with asyncio.timeout(AFTERWORD):
            async for _ in pieces:
                pass
    except (TimeoutError, DshloopError):
        pass
