"""Finding the daemon: its address, and what it is told to let us in."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dshloop.memory.agentmemory.daemon import Daemon
from dshloop.memory.agentmemory.store import AgentmemoryStore
from dshloop.memory.agentmemory_client.address import configured_secret, configured_url, peer_of
from dshloop.memory.agentmemory_client.client import Agentmemory

if TYPE_CHECKING:
    from dshloop.memory.stores import Opening


def open_agentmemory(
    where: str | None,
    setting: Callable[[str], Any],
    variables: Mapping[str, str],
    opening: Opening,
) -> AgentmemoryStore:
    """Open the daemon at an address, or the one that is configured; nothing is sent yet.

    Raises PEER_CONFIG, INSECURE_HTTP.
    """
    daemon = Daemon(client_of(where, setting, variables), opening.get("clock", time.time))
    readonly = opening.get("readonly", False)
    return AgentmemoryStore(daemon, opening.get("notice"), readonly=readonly)


def client_of(
    where: str | None, setting: Callable[[str], Any], variables: Mapping[str, str]
) -> Agentmemory:
    """Give the client for an address, or for the configured one. Raises PEER_CONFIG."""
    peer = peer_of(
        where or configured_url(setting, variables),
        configured_secret(setting, variables),
        allow_insecure_http=bool(setting("memory.agentmemory.allow_insecure_http")),
    )
    return Agentmemory(peer, variables)
