"""JSON-RPC 2.0 with an engine: requests out, answers and news in."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from dshloop.drivers.process import EngineProcess
from dshloop.errors import DshloopError, EngineFailedError
from dshloop.redact import redact_text


class News(NamedTuple):
    """What an engine tells by itself."""

    method: str
    params: dict[str, Any]


class Calls:
    """Sends requests to a process and sorts what comes back; ``patience`` is in seconds."""

    def __init__(self, process: EngineProcess, patience: float) -> None:
        self.process = process
        self.patience = patience
        self._number = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._news: asyncio.Queue[News] = asyncio.Queue()
        self._reading = asyncio.ensure_future(self._read())

    async def request(self, method: str, **params: Any) -> Any:
        """Ask something and give the result.

        Raises ENGINE_FAILED for an error, and ENGINE_DIED, ENGINE_SILENT and ENGINE_ANSWER.
        """
        self._number += 1
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[self._number] = answer
        await self.process.send(
            {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        )
        return await self._patiently(answer)

    async def news(self) -> News:
        """Give the next thing that it tells by itself; raises like `request`."""
        if self._news.empty():
            getting = asyncio.ensure_future(self._news.get())
            try:
                found: News = await self._patiently(getting)
                return found
            finally:
                getting.cancel()
        return self._news.get_nowait()

    def forget_news(self) -> None:
        """Drop what it has told so far."""
        while not self._news.empty():
            self._news.get_nowait()

    async def _patiently(self, wanted: asyncio.Future[Any]) -> Any:
        """Wait for something as long as the process lives and says anything at all."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        while not wanted.done():
            left = max(self.process.heard, begun) + self.patience - loop.time()
            if left <= 0:
                fault = self.process.silent(self.patience)
                await self.process.kill()
                raise fault
            await asyncio.wait(
                {wanted, self._reading}, timeout=left, return_when=asyncio.FIRST_COMPLETED
            )
            if self._reading.done() and not wanted.done():
                await asyncio.sleep(0)  # what came last may be on its way
                if not wanted.done():
                    raise await self._over()
        return wanted.result()

    async def _over(self) -> DshloopError:
        """Give the reason why nothing will come any more."""
        fault = None if self._reading.cancelled() else self._reading.exception()
        if isinstance(fault, DshloopError):
            await self.process.kill()
            return fault
        return await self.process.died()

    async def _read(self) -> None:
        while (message := await self.process.receive()) is not None:
            method, number = message.get("method"), message.get("id")
            if isinstance(method, str):
                params = message.get("params")
                self._news.put_nowait(News(method, params if isinstance(params, dict) else {}))
            elif isinstance(number, int) and number in self._waiting:
                self._answer(self._waiting.pop(number), message)

    def _answer(self, answer: asyncio.Future[Any], message: dict[str, Any]) -> None:
        if answer.done():
            return
        error = message.get("error")
        if error is None:
            answer.set_result(message.get("result"))
            return
        about = error if isinstance(error, dict) else {}
        said = redact_text(str(about.get("message", "no reason is given")))
        text = f"{self.process.name}: {said}"
        answer.set_exception(
            EngineFailedError(text, rpc_code=about.get("code"), words=self.process.last_words)
        )

    async def close(self) -> None:
        """End the process and stop listening."""
        await self.process.end()
        self._reading.cancel()
