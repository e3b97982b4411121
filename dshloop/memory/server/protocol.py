"""Uvicorn's HTTP protocol with deadlines: who sends a request head too slowly, or takes no answer,
is given up.

Uvicorn itself waits for ever for the first request of a connection and for the rest of a head.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 20.0
"""How long the head of a request may take from its first byte, or from the connection on."""

_CHECK_SECONDS = 5.0


class PatientProtocol(H11Protocol):
    """A connection that is looked at every few seconds."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._waiting_since: float | None = None
        self._closing_since: float | None = None
        self._said_all = False
        self._check: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._waiting_since = self.loop.time()
        self._look_again()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._check is not None:
            self._check.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._waiting_since is None and self._idle():
            self._waiting_since = self.loop.time()
        super().data_received(data)
        if not self._idle():
            self._waiting_since = None

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Keep a connection whose client has said all and still waits for the answer."""
        self._said_all = not self._idle() and not self.cycle.more_body
        return self._said_all or None

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._said_all and self._idle():
            self.transport.close()

    def _look_again(self) -> None:
        self._check = self.loop.call_later(_CHECK_SECONDS, self._look)

    def _look(self) -> None:
        now = self.loop.time()
        if self.transport.is_closing():
            # What is still to be sent keeps a closed connection open, if nobody takes it.
            self._closing_since = self._closing_since or now
            if now - self._closing_since >= HEAD_SECONDS:
                self.transport.abort()
                return
        elif self._waiting_since is not None and now - self._waiting_since >= HEAD_SECONDS:
            self.transport.close()
        self._look_again()

    def _idle(self) -> bool:
        """Tell whether no request is at work: then what comes is the head of the next one."""
        return self.cycle is None or bool(self.cycle.response_complete)
