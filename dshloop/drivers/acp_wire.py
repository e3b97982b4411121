"""The messages between an ACP agent's process and the library; updates are taken out of them."""

from __future__ import annotations

from typing import Any

from dshloop.drivers.acp_updates import AcpUpdates
from dshloop.drivers.process import EngineProcess, Message

_UPDATE = "session/update"


class Wire:
    """A transport of the library. ``fault`` is what ended it.

    Updates never reach the library: it would hand them on in tasks of their own, and drop those
    of a kind that it doesn't know with a trace on stderr. Here each is recorded before the next
    message is read, so the answer to a prompt comes behind all of its updates.
    """

    def __init__(self, process: EngineProcess) -> None:
        self.process = process
        self.fault: Exception | None = None
        self._session: str | None = None
        self._updates: AcpUpdates | None = None

    def begin(self, session: str, updates: AcpUpdates) -> None:
        """Record the updates of a session from now on."""
        self._session, self._updates = session, updates

    def end(self) -> None:
        """Record no more updates: they belong to no turn of ours."""
        self._updates = None

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        await self.process.send(message)

    async def receive(self) -> Message | None:
        """Give the next message that is none of the updates, None at the end."""
        try:
            while (message := await self.process.receive()) is not None:
                if message.get("method") != _UPDATE:
                    return message
                await self._take(message.get("params"))
        except Exception as fault:  # also of the log; the library would only print it
            self.fault = fault
        return None

    async def _take(self, params: Any) -> None:
        about = params if isinstance(params, dict) else {}
        if self._updates is not None and about.get("sessionId") == self._session:
            await self._updates.take(about.get("update"))

    async def close(self) -> None:
        """Nothing: whoever started the process ends it."""
