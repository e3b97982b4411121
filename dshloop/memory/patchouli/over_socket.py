"""Entities from the storage daemon, in one scope."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dshloop.files import shown
from dshloop.memory.patchouli.found import ENTITIES, Found, Head, Scope
from dshloop.memory.patchouli_socket.artifacts import download
from dshloop.memory.patchouli_socket.client import Client
from dshloop.memory.patchouli_socket.querying import instruction
from dshloop.memory.patchouli_socket.wire import Change


class SocketSource:
    """Asks the daemon; a scope is what every call is about."""

    def __init__(self, endpoint: Path, scope: Scope) -> None:
        self.client = Client(endpoint)
        self.where = shown(endpoint)
        self._scope = scope

    def entities(
        self, *, text: str | None = None, ids: Sequence[str] = (), oldest_first: bool = False
    ) -> Iterator[Found]:
        """Give active entities, page by page."""
        order = "oldest" if oldest_first else "newest"
        asked = instruction(text=text, ids=ids, order=order)
        for page in self.client.pages(self._scope, asked, types=ENTITIES):
            for hit in page:
                yield self._found(hit["variants"])

    def versions(self, type_: str, id_: str) -> Sequence[Head]:
        """Give the heads: older versions aren't told over the socket."""
        return [_head(each) for each in self.client.read(self._scope, type_, id_)["variants"]]

    def changes(self, after: str | None, *, follow: bool) -> Iterator[Change]:
        """Subscribe; the daemon prunes old changes when one does."""
        from dshloop.errors import PeerDownError

        subscription = self.client.subscribe(self._scope, after=after)
        try:
            while True:
                change = subscription.get(0.5)
                if change is not None:
                    yield change
                elif subscription.closed == "connection-lost":
                    raise PeerDownError(
                        f"the connection to Patchouli at {self.where} was lost",
                        hint="Go on with --after and the last cursor.",
                    )
                elif not follow:
                    return
        finally:
            subscription.unsubscribe()

    def artifact(self, id_: str) -> Iterator[bytes]:
        """Download an artifact."""
        return download(self.client, self._scope, id_)

    def scopes(self) -> Sequence[Scope]:
        """Give the one scope."""
        return [self._scope]

    def version(self, seconds: float) -> str:
        """Shake hands."""
        limit, self.client.timeout = self.client.timeout, seconds
        try:
            told = self.client.handshake()
        finally:
            self.client.timeout = limit
        server = told.get("server")
        named = server if isinstance(server, Mapping) else {}
        name = " ".join(str(named[key]) for key in ("name", "version") if named.get(key))
        return name or f"protocol {told['protocol_version']}"

    def size(self) -> int | None:
        """Tell nothing: the daemon doesn't."""
        return None

    def close(self) -> None:
        """Close the connection."""
        self.client.close()

    def _found(self, variants: Sequence[Mapping[str, Any]]) -> Found:
        ref = variants[0]["ref"]
        return Found(ref["type"], ref["id"], [_head(each) for each in variants], self._scope)


def _head(entity: Mapping[str, Any]) -> Head:
    return Head(entity["version"], entity["state"], entity.get("value"))
