"""The one place that makes HTTP clients: what is waited for, trusted, tried again and never said.

    with connect(Peer("the endpoint", url, secrets=bearer(key)), env.variables) as client:
        client.request("POST", "/v1/embeddings", json=body).json()

Every failure is an error of ours that names the peer (PEER_*, exit code 5), with no secret in it.
`connect_async` gives the same for asyncio. Redirects are not followed: an answer that moves is an
error, so that a secret never goes where it wasn't sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dshloop.http.peer import Peer, Retry, Timeouts, bearer

if TYPE_CHECKING:
    from dshloop.http.async_client import AsyncClient
    from dshloop.http.client import Client

__all__ = ["Peer", "Retry", "Timeouts", "bearer", "connect", "connect_async"]


def connect(peer: Peer, variables: Mapping[str, str]) -> Client:
    """Give a client for one server; proxies and certificates are those that ``variables`` name.

    Nothing is sent yet. Raises PEER_CONFIG and INSECURE_HTTP.
    """
    from dshloop.http.client import Client

    return Client(peer, variables)


def connect_async(peer: Peer, variables: Mapping[str, str]) -> AsyncClient:
    """Give a client for asyncio, otherwise as `connect`."""
    from dshloop.http.async_client import AsyncClient

    return AsyncClient(peer, variables)
