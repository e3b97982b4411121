"""Who may ask: the secret, and the checks that keep web pages out (DNS rebinding, other origins).

A page in a browser can send requests to this machine. It can't choose the Host that its browser
names, nor leave out its Origin: so a Host that isn't ours and a foreign Origin are refused.
"""

from __future__ import annotations

import hmac
from ipaddress import ip_address
from urllib.parse import urlsplit

from dshloop.memory.server.settings import Settings, is_loopback

METHODS = "GET,POST,PUT,DELETE,OPTIONS"
_VIEWER = 2


def host_is_ours(settings: Settings, host: str | None) -> bool:
    """Tell whether a Host header names this server.

    Without one (HTTP/1.0) nobody is being misled. A server that other machines reach has names that
    it can't know: there the secret protects, unless names were given.
    """
    if host is None:
        return True
    name = _name(host)
    if is_loopback(name) or name == settings.host.strip("[]").lower() or name in settings.hosts:
        return True
    return not settings.loopback and (not settings.hosts or _is_address(name))


def origin_is_ours(settings: Settings, origin: str | None, host: str | None) -> bool:
    """Tell whether a request comes from no page, from one of ours, or from the server's own.

    Ours are those of this machine on the server's port and on its viewer's (agentmemory 1).
    """
    if origin is None:
        return True
    try:
        parts = urlsplit(origin)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return False
    name = (parts.hostname or "").lower()
    if parts.scheme not in ("http", "https") or not name:
        return False
    if is_loopback(name) and port in (settings.port, settings.port + _VIEWER):
        return True
    return not settings.loopback and host is not None and origin.partition("//")[2] == host


def bearer_is_right(settings: Settings, authorization: str | None) -> bool:
    """Check ``Authorization: Bearer SECRET`` to the letter, in constant time (agentmemory 2)."""
    if settings.secret is None:
        return True
    given = (authorization or "").encode("utf-8", "surrogateescape")
    return hmac.compare_digest(given, f"Bearer {settings.secret}".encode())


def _name(host: str) -> str:
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
