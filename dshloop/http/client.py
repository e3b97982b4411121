"""The client for code that waits."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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


class Streamed:
    """An answer that is read while it comes; valid inside the block of `Client.stream`."""

    def __init__(self, peer: Peer, response: httpx.Response) -> None:
        self.peer = peer
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._response = response

    def lines(self) -> Iterator[str]:
        """Yield lines without their ends, each as soon as it is whole; raises PEER_*."""
        buffer = LineBuffer()
        for chunk in self.chunks():
            yield from buffer.feed(chunk)
        yield from buffer.rest()

    def chunks(self) -> Iterator[bytes]:
        """Yield bytes as they come; raises PEER_*."""
        try:
            yield from self._response.iter_bytes()
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise fault(self.peer, error) from None


class Client:
    """Requests to one server over kept-alive connections; close it, or use it in a ``with``."""

    def __init__(self, peer: Peer, variables: Mapping[str, str]) -> None:
        self.peer = peer
        chosen = settings(peer, variables)
        try:
            self._client = httpx.Client(**chosen)
        except (ValueError, ImportError, httpx.InvalidURL) as error:
            raise unusable(peer, error) from None

    def request(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        params: Mapping[str, str] | None = None,
        accept: tuple[int, ...] = (),
        retry: Retry | None = None,
    ) -> Answer:
        """Make a request and give the whole answer: 2xx, or a status that ``accept`` names.

        ``retry`` takes the place of the peer's. Raises PEER_DOWN, PEER_TIMEOUT, PEER_DENIED,
        PEER_FAILED, PEER_ANSWER.
        """
        with self.stream(
            method, path, json=json, params=params, accept=accept, retry=retry
        ) as streamed:
            body = Body(self.peer)
            for chunk in streamed.chunks():
                body.add(chunk)
            return Answer(self.peer, streamed.status, streamed.headers, bytes(body))

    @contextmanager
    def stream(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        params: Mapping[str, str] | None = None,
        accept: tuple[int, ...] = (),
        retry: Retry | None = None,
    ) -> Iterator[Streamed]:
        """Make a request and lend its answer, to be read as it comes.

        Tried again only until the answer begins. Raises as `request`.
        """
        request = self._client.build_request(method, path, params=params, **json_parts(json))
        response = self._begun(request, accept, retry or self.peer.retry)
        try:
            yield Streamed(self.peer, response)
        finally:
            response.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _begun(
        self, request: httpx.Request, accept: tuple[int, ...], retry: Retry
    ) -> httpx.Response:
        attempts = Attempts(retry)
        while True:
            try:
                response = self._client.send(request, stream=True)
            except httpx.HTTPError as error:
                pause = attempts.after(fault(self.peer, error))
            else:
                if response.is_success or response.status_code in accept:
                    return response
                pause = attempts.after(self._refused(response), response)
            time.sleep(pause)

    def _refused(self, response: httpx.Response) -> DshloopError:
        """Read what a refusal says, as far as it comes."""
        said = b""
        try:
            for chunk in response.iter_bytes():
                said += chunk
                if len(said) > self.peer.most_bytes // 1024:
                    break
        except httpx.HTTPError:
            pass
        finally:
            response.close()
        return refusal(self.peer, response.status_code, said)
