"""Where a daemon is, and what it is told to let us in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dshloop.errors import PeerConfigError
from dshloop.http.peer import Peer, Timeouts, bearer

DEFAULT_URL = "http://localhost:3111"
URL_VARIABLE = "AGENTMEMORY_URL"
SECRET_VARIABLE = "AGENTMEMORY_SECRET"

_WHOLE = 4
"""How many times as long as for its next piece is waited for a whole answer: an export is long."""


def peer_of(
    url: str, secret: str = "", *, seconds: float = 30.0, allow_insecure_http: bool = False
) -> Peer:
    """Give the daemon at an address; ``seconds`` are for each request.

    ``allow_insecure_http`` lets the secret go over plain HTTP to another machine: INSECURE_HTTP is
    raised otherwise, by the client.
    """
    return Peer(
        "agentmemory",
        url,
        secrets=bearer(secret),
        timeouts=Timeouts(min(5.0, seconds), seconds, seconds, whole=_WHOLE * seconds),
        allow_insecure_http=allow_insecure_http,
    )


def shown_url(url: str) -> str:
    """Give an address without what may be secret in it; one that is none as it is."""
    try:
        return peer_of(url).shown if "://" in url else url
    except ValueError:
        return url.partition("://")[0] + "://…"


def configured_url(setting: Callable[[str], Any], variables: Mapping[str, str]) -> str:
    """Give $AGENTMEMORY_URL, else memory.agentmemory.url, else the daemon's own port."""
    named = variables.get(URL_VARIABLE, "").strip()
    return named or setting("memory.agentmemory.url") or DEFAULT_URL


def configured_secret(setting: Callable[[str], Any], variables: Mapping[str, str]) -> str:
    """Give the secret that stands in the variable memory.agentmemory.secret_variable names, else in
    $AGENTMEMORY_SECRET. Raises PEER_CONFIG when the named one is empty."""
    name = setting("memory.agentmemory.secret_variable")
    secret = variables.get(name or SECRET_VARIABLE, "").strip()
    if name and not secret:
        raise PeerConfigError(
            f"${name}, which should hold agentmemory's secret, is empty",
            hint="Set it, or: dshloop config unset memory.agentmemory.secret_variable",
            variable=name,
        )
    return secret
