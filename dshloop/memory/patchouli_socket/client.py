"""Calls to the storage daemon, each with a time limit; a lost connection is made again."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
from typing import Any, NamedTuple

from dshloop.errors import PeerAnswerError, PeerDownError, PeerTimeoutError
from dshloop.files import shown
from dshloop.memory.patchouli_socket.connection import Connection, ConnectionLostError
from dshloop.memory.patchouli_socket.subscription import Subscription
from dshloop.memory.patchouli_socket.wire import (
    CAPABILITIES,
    HANDSHAKE,
    READS,
    VERSION,
    checked_handshake,
)

DEFAULT_ENDPOINT = "~/.patchouli/run/patchouli.sock"
TIMEOUT = 10.0
PAGE = 100

Meta = Mapping[str, Any]
Entity = Mapping[str, Any]


class Answer(NamedTuple):
    """What a method gave: ``{meta, data}``."""

    meta: Mapping[str, Any]
    data: Mapping[str, Any]


class Client:
    """A client of one daemon, for use by several threads; it connects with the first call.

    Calls raise PEER_DOWN, PEER_TIMEOUT, PEER_ANSWER, and PATCHOULI_FAILED with the daemon's
    ``reason``. A reading call is asked once more on a new connection when the first is lost;
    others are not, because they may have been done.
    """

    def __init__(self, endpoint: Path, *, timeout: float = TIMEOUT, name: str = "dshloop") -> None:
        self.endpoint = endpoint
        self.timeout = timeout
        self.server: Mapping[str, Any] = {}
        self._name = name
        self._instance = str(uuid.uuid4())
        self._lock = threading.RLock()
        self._connection: Connection | None = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. The next call would connect again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def handshake(self) -> Mapping[str, Any]:
        """Connect unless connected; give protocol_version, server, capabilities and limits."""
        self._connected()
        return self.server

    def call(
        self, method: str, meta: Meta, data: Mapping[str, Any], *, timeout: float | None = None
    ) -> Answer:
        """Call a method by its short name, as in ``entity.read``."""
        limit = self.timeout if timeout is None else timeout
        params = {"meta": dict(meta), "data": dict(data)}
        try:
            return _answer(method, self._once(method, params, limit))
        except ConnectionLostError as lost:
            if method not in READS:
                raise self._down(method, lost) from None
        try:
            return _answer(method, self._once(method, params, limit))
        except ConnectionLostError as lost:
            raise self._down(method, lost) from None

    def status(self) -> Mapping[str, Any]:
        """Ask how the daemon is."""
        return self.call("control.status", {}, {}).data

    def checkpoint(self) -> bool:
        """Have the daemon move its log into its database."""
        return bool(self.call("control.checkpoint", {}, {}).data.get("completed"))

    def read(self, meta: Meta, type_: str, id_: str) -> Mapping[str, Any]:
        """Read an entity: its state and all heads."""
        return self.call("entity.read", meta, {"ref": {"type": type_, "id": id_}}).data

    def retrieve(
        self, meta: Meta, query: str, *, types: Sequence[str] = (), limit: int = 10
    ) -> Answer:
        """Find entities by a query's text (querying.instruction writes one): one page."""
        data: dict[str, Any] = {"query": query, "limit": limit}
        if types:
            data["types"] = list(types)
        return self.call("entity.retrieve", meta, data)

    def pages(
        self, meta: Meta, instruction: Mapping[str, Any], *, types: Sequence[str] = (),
        size: int = PAGE,
    ) -> Iterator[Sequence[Mapping[str, Any]]]:  # fmt: skip
        """Give the hits page by page. Raises PEER_ANSWER for a cursor that is none."""
        from dshloop.memory.patchouli_socket.querying import query_text

        cursor: Any = None
        while True:
            asked = instruction if cursor is None else {**instruction, "cursor": cursor}
            answer = self.retrieve(meta, query_text(asked), types=types, limit=size)
            yield answer.data["hits"]
            following = answer.meta.get("next_cursor")
            if following is None:
                return
            if not isinstance(following, str) or following == cursor:
                raise PeerAnswerError("Patchouli's next_cursor is no text, or the one before again")
            cursor = following

    def subscribe(
        self, meta: Meta, *, after: str | None = None, types: Sequence[str] = (),
        ids: Sequence[str] = (),
    ) -> Subscription:  # fmt: skip
        """Have changes told: from now on, or strictly after a cursor."""
        wanted = {name: list(each) for name, each in (("types", types), ("ids", ids)) if each}
        data: dict[str, Any] = {"filter": wanted} if wanted else {}
        if after is not None:
            data["after_cursor"] = after
        made: list[Subscription] = []
        connection = self._connected()

        def register(result: Mapping[str, Any]) -> None:
            found = result["data"]
            one = Subscription(found["subscription_id"], found["cursor"], self._unsubscribe)
            connection.subscriptions[one.id] = one
            made.append(one)

        params = {"meta": dict(meta), "data": data}
        try:
            future = connection.send("changes.subscribe", params, register)
            self._wait("changes.subscribe", connection, future, self.timeout)
        except ConnectionLostError as lost:
            raise self._down("changes.subscribe", lost) from None
        return made[0]

    def _unsubscribe(self, name: str) -> None:
        connection = self._connection
        if connection is None or connection.lost:
            return
        connection.subscriptions.pop(name, None)
        params = {"meta": {}, "data": {"subscription_id": name}}
        try:
            future = connection.send("changes.unsubscribe", params)
            self._wait("changes.unsubscribe", connection, future, self.timeout)
        except ConnectionLostError:
            pass  # subscriptions end with their connection

    # --- the connection ------------------------------------------------------------------------

    def _once(self, method: str, params: Mapping[str, Any], limit: float) -> Mapping[str, Any]:
        connection = self._connected()
        return self._wait(method, connection, connection.send(method, params), limit)

    def _wait(
        self, method: str, connection: Connection, future: Future[Any], limit: float
    ) -> Mapping[str, Any]:
        try:
            result: Mapping[str, Any] = future.result(timeout=limit)
            return result
        except FutureTimeoutError:
            connection.forget(future)
            broken = connection.broken_lines
            aside = f"; {broken} lines of it could not be read" if broken else ""
            raise PeerTimeoutError(
                f"Patchouli at {shown(self.endpoint)} did not answer {method} within "
                f"{limit:g} s{aside}",
                endpoint=str(self.endpoint),
                method=method,
            ) from None

    def _connected(self) -> Connection:
        """Give the connection, made anew with its handshake when it is lost."""
        with self._lock:
            if self._connection is None or self._connection.lost:
                made = Connection(self.endpoint, self.timeout)
                try:
                    self.server = self._shake_hands(made)
                except ConnectionLostError as lost:
                    raise self._down(HANDSHAKE, lost) from None
                except BaseException:
                    made.close()
                    raise
                self._connection = made
            return self._connection

    def _shake_hands(self, made: Connection) -> Mapping[str, Any]:
        from dshloop import __version__

        client = {"name": self._name, "version": __version__, "instance_id": self._instance}
        params = {
            "client": client,
            "protocol_versions": [VERSION],
            "capabilities": list(CAPABILITIES),
        }
        future = made.send(HANDSHAKE, params)
        return checked_handshake(self._wait(HANDSHAKE, made, future, self.timeout))

    def _down(self, method: str, lost: ConnectionLostError) -> PeerDownError:
        return PeerDownError(
            f"the connection to Patchouli was lost during {method}: {lost}",
            endpoint=str(self.endpoint),
            method=method,
        )


def _answer(method: str, result: Mapping[str, Any]) -> Answer:
    meta, data = result.get("meta"), result.get("data")
    if not isinstance(meta, dict) or not isinstance(data, dict):
        raise PeerAnswerError(f"Patchouli's answer to {method} is not {{meta, data}}")
    return Answer(meta, data)
