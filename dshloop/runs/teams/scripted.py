"""The model behind the fake driver when the agents of a team have scripts of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from dshloop.drivers.fake import FAKE_PROVIDER, FAKE_REPLY
from dshloop.drivers.script import Script
from dshloop.drivers.scripted import ScriptedAdapter
from dshloop.llm.messages import Chunk, ModelAdapter, ModelRequest
from dshloop.llm.ping import PingAdapter


class TeamScripts:
    """Follows each session's own script; the others say what the fake driver always says.

    ``earlier`` is as for `ScriptedAdapter`.
    """

    provider = FAKE_PROVIDER

    def __init__(self, earlier: Callable[[str], int]) -> None:
        self._earlier = earlier
        self._own: dict[str | None, ModelAdapter] = {}
        self._usual: ModelAdapter = PingAdapter(FAKE_PROVIDER, FAKE_REPLY)

    def follow(self, session_id: str, script: Script) -> None:
        """Have a session follow a script from now on."""
        self._own[session_id] = ScriptedAdapter(script, earlier=self._earlier)

    def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Yield the chunks of the session's next reply."""
        return self._own.get(request.session_id, self._usual).stream(request)
