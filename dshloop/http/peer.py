"""A server as a value: where it is, what it is told, how long it may take; and what is refused."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from dshloop.errors import InsecureHttpError, PeerConfigError

TRIED_AGAIN = frozenset({408, 429, 500, 502, 503, 504, 529})
"""Statuses that may be gone the next time."""


class Timeouts(NamedTuple):
    """Seconds to wait for a connection, for the next piece of an answer, and to send a piece.

    ``whole`` is how long the pieces of an answer that is read as a whole may come for.
    """

    connect: float = 5.0
    read: float = 60.0
    write: float = 30.0
    whole: float = math.inf


class Retry(NamedTuple):
    """How often a request is made in all, and the seconds between: doubled from ``first`` to
    ``longest``, never less than the server asks for, given up when it asks for more than that."""

    attempts: int = 1
    first: float = 0.5
    longest: float = 30.0

    def pause(self, attempt: int, asked: float | None, chance: float) -> float | None:
        """Give the seconds to wait after an attempt (the first is 1), None to give up.

        ``chance`` in 0..1 spreads the attempts of many clients: half of the pause is by chance.
        """
        if attempt >= self.attempts or (asked or 0.0) > self.longest:
            return None
        doubled = min(self.first * 2.0 ** min(attempt - 1, 30), self.longest)
        return max(doubled * (0.5 + chance / 2), asked or 0.0)


_TIMEOUTS = Timeouts()
_ONCE = Retry()


@dataclass(frozen=True, slots=True)
class Peer:
    """A server. ``name`` is how errors call it ("the embeddings endpoint").

    ``secrets`` are headers too, but ones that go over plain HTTP to this machine only, unless
    ``allow_insecure_http``. ``most_bytes`` is the longest answer that is taken.
    """

    name: str
    url: str
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    timeouts: Timeouts = _TIMEOUTS
    retry: Retry = _ONCE
    allow_insecure_http: bool = False
    most_bytes: int = 64 * 1024 * 1024

    @property
    def shown(self) -> str:
        """The address without what may be secret in it: no user, password, query or fragment."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")


def bearer(token: str | None) -> Mapping[str, str]:
    """Give the header that carries a token, none without one."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def check(peer: Peer) -> SplitResult:
    """Give the parts of the address when the peer can be used; PEER_CONFIG, INSECURE_HTTP."""
    parts = _address(peer)
    for name, value in (*peer.secrets.items(), *peer.headers.items()):
        if not value.isascii() or not value.isprintable() or value != value.strip():
            raise PeerConfigError(
                f"the {name} for {peer.name} can't be sent: it has blanks at an end, or "
                "characters that a header can't hold",
                hint="Look at the variable that it comes from.",
                peer=peer.name,
            )
    exposed = parts.scheme == "http" and not is_loopback(parts.hostname or "")
    if peer.secrets and exposed and not peer.allow_insecure_http:
        raise InsecureHttpError(
            f"the key for {peer.name} would go unencrypted to {parts.hostname}",
            peer=peer.name,
            url=peer.shown,
        )
    return parts


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address is this machine itself."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    from ipaddress import ip_address

    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def proxy_for(parts: SplitResult, variables: Mapping[str, str]) -> str | None:
    """Give the proxy that the environment names for an address, None for a direct way.

    ``http_proxy``, ``https_proxy``, ``all_proxy`` and ``no_proxy``, in small or capital letters.
    This machine is always reached directly: a proxy elsewhere would see its secrets.
    """
    host = parts.hostname or ""
    if is_loopback(host):
        return None
    named = {
        name.lower()[: -len("_proxy")]: value
        for name, value in sorted(variables.items())  # capitals first, so small letters win
        if name.lower().endswith("_proxy")
    }
    if "REQUEST_METHOD" in variables and "http_proxy" not in variables:
        named.pop("http", None)  # a CGI script: HTTP_PROXY is a header its caller sent
    if _is_left_out(host, parts.port, named.get("no", "")):
        return None
    proxy = named.get(parts.scheme) or named.get("all") or None
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


def _is_left_out(host: str, port: int | None, no_proxy: str) -> bool:
    """Match ``no_proxy``: domains with all below them, each with or without a port, or ``*``."""
    for entry in no_proxy.lower().split(","):
        domain = entry.strip().lstrip(".")
        if domain == "*":
            return True
        for name in (host.lower(), f"{host.lower()}:{port}"):
            if domain and (name == domain or name.endswith(f".{domain}")):
                return True
    return False


def _address(peer: Peer) -> SplitResult:
    try:
        parts = urlsplit(peer.url)
        _ = parts.port
    except ValueError:
        raise _bad_address(peer, "it is no URL") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _bad_address(peer, "it must begin with http:// or https:// and a host")
    if parts.username is not None or parts.password is not None:
        raise _bad_address(peer, "it holds a user name or password")
    if parts.query or parts.fragment:
        raise _bad_address(peer, "it has a query or fragment")
    if not peer.url.isprintable() or any(character.isspace() for character in peer.url):
        raise _bad_address(peer, "it has blanks or control characters")
    return parts


def _bad_address(peer: Peer, why: str) -> PeerConfigError:
    return PeerConfigError(
        f"the address of {peer.name} can't be used: {why}",
        hint="An address is scheme, host, port and path, as in http://localhost:3111.",
        peer=peer.name,
    )
