"""The client for asyncio; see client.py for what each method promises."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Container, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

import httpx

from dshloop.errors import DshloopError
from dshloop.http.peer import Peer, Retry
from dshloop.http.wire import (
    Answer,
    Attempts,
    Body,
    LineBuffer,
    fault,
    json_parts,
    refusal,
    settings,
    unusable,
)

_MOST_CANCELLED = 30
"""Requests that may be cancelled in a pool, which has room for 100."""


class AsyncStreamed:
    """An answer that is read while it comes; valid inside the block of `AsyncClient.stream`."""

    def __init__(self, peer: Peer, response: httpx.Response) -> None:
        self.peer = peer
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._response = response

    async def lines(self) -> AsyncIterator[str]:
        """Yield lines without their ends, each as soon as it is whole; raises PEER_*."""
        buffer = LineBuffer()
        async for chunk in self.chunks():
            for line in buffer.feed(chunk):
                yield line
        for line in buffer.rest():
            yield line

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield bytes as they come; raises PEER_*."""
        try:
            async for chunk in self._response.aiter_bytes():
                yield chunk
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise fault(self.peer, error) from None


class _Pool:
    """Connections that are shared: how many use them, and how many were cancelled doing so."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.lent = 0
        self.cancelled = 0


class AsyncClient:
    """Requests to one server over kept-alive connections; use it in an ``async with``.

    Cancelling a task that waits here closes its connection.
    """

    def __init__(self, peer: Peer, variables: Mapping[str, str]) -> None:
        self.peer = peer
        self._chosen = settings(peer, variables)
        self._pool = self._opened()
        self._closing: set[asyncio.Task[None]] = set()

    async def request(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        params: Mapping[str, str] | None = None,
        accept: tuple[int, ...] = (),
        retry: Retry | None = None,
    ) -> Answer:
        """Make a request and give the whole answer."""
        async with self.stream(
            method, path, json=json, params=params, accept=accept, retry=retry
        ) as streamed:
            body = Body(self.peer)
            async for chunk in streamed.chunks():
                body.add(chunk)
            return Answer(self.peer, streamed.status, streamed.headers, bytes(body))

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        content: bytes | None = None,
        params: Mapping[str, str] | None = None,
        accept: Container[int] = (),
        retry: Retry | None = None,
    ) -> AsyncIterator[AsyncStreamed]:
        """Make a request and lend its answer, to be read as it comes.

        ``content`` is a body that is encoded already; its type is one of the peer's headers.
        """
        async with self._lent() as client:
            request = client.build_request(method, path, params=params, **json_parts(json, content))
            response = await self._begun(client, request, accept, retry or self.peer.retry)
            try:
                yield AsyncStreamed(self.peer, response)
            finally:
                await response.aclose()

    async def close(self) -> None:
        """Let go of the connections."""
        await asyncio.gather(self._pool.client.aclose(), *self._closing)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def _opened(self) -> _Pool:
        try:
            return _Pool(httpx.AsyncClient(**self._chosen))
        except (ValueError, ImportError, httpx.InvalidURL) as error:
            raise unusable(self.peer, error) from None

    @asynccontextmanager
    async def _lent(self) -> AsyncIterator[httpx.AsyncClient]:
        """Lend the pool; one in which many were cancelled makes place for another.

        httpcore 1.0 keeps the place of a request that is cancelled just before it is sent, for
        ever: with all of them taken, every later one would wait in vain.
        """
        pool = self._pool
        pool.lent += 1
        try:
            yield pool.client
        except asyncio.CancelledError:
            pool.cancelled += 1
            if pool is self._pool and pool.cancelled == _MOST_CANCELLED:
                self._pool = self._opened()
            raise
        finally:
            pool.lent -= 1
            if pool is not self._pool and not pool.lent:
                self._close(pool)

    def _close(self, pool: _Pool) -> None:
        """Close a pool beside all else: a deadline that ends who used it last must not end this."""
        task = asyncio.create_task(pool.client.aclose())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _begun(
        self,
        client: httpx.AsyncClient,
        request: httpx.Request,
        accept: Container[int],
        retry: Retry,
    ) -> httpx.Response:
        attempts = Attempts(retry)
        while True:
            try:
                response = await client.send(request, stream=True)
            except httpx.HTTPError as error:
                pause = attempts.after(fault(self.peer, error))
            else:
                if response.is_success or response.status_code in accept:
                    return response
                pause = attempts.after(await self._refused(response), response)
            await asyncio.sleep(pause)

    async def _refused(self, response: httpx.Response) -> DshloopError:
        said = b""
        try:
            async for chunk in response.aiter_bytes():
                said += chunk
                if len(said) > self.peer.most_bytes // 1024:
                    break
        except httpx.HTTPError:
            pass
        finally:
            await response.aclose()
        return refusal(self.peer, response.status_code, said)
