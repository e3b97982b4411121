"""Which home a row has: looked for, and seen to be there, before anything of the row begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dshloop.errors import BridgeUnreachableError, DshloopError
from dshloop.plugins.agentmemory.config import LOCAL, BridgeConfig
from dshloop.plugins.agentmemory.secret import Secret
from dshloop.plugins.memory_place import MemoryPlace

if TYPE_CHECKING:
    from dshloop.http.peer import Peer
    from dshloop.plugins.agentmemory.homes import Home

PREFIX = "[agentmemory]"
Say = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Where:
    """A home that answers: how it is opened, and where outbox entries for it go."""

    url: str
    target: Mapping[str, Any]
    open_home: Callable[[], Home]

    @property
    def outbox(self) -> str:
        """The name of its outbox."""
        return f"agentmemory:{self.url}"


async def find_home(
    config: BridgeConfig,
    secret: Secret,
    variables: Mapping[str, str],
    place: MemoryPlace | None,
    say: Say,
) -> Where:
    """Choose the home, and see that it is there."""
    from dshloop.plugins.agentmemory.homes import LocalHome, daemon_home

    if config.store == LOCAL:
        if place is None or place.open_store is None:
            raise BridgeUnreachableError(f"{PREFIX} this host has no store of its own", hint="")
        open_store = place.open_store
        return Where(LOCAL, {"store": LOCAL}, lambda: LocalHome(open_store))
    from dshloop.memory.agentmemory_client.address import peer_of

    peer = peer_of(
        config.base_url,
        secret.value,
        seconds=config.timeout,
        allow_insecure_http=config.allow_insecure_http,
    )
    home = daemon_home(peer, variables, config.timeout)
    try:
        await require_alive(home, peer)
    finally:
        await home.close()
    _warn_insecure(peer, say)
    target: dict[str, Any] = {"url": peer.shown}
    target |= {"secret": secret.target} if secret.target else {}
    target |= {"allowInsecureHttp": True} if config.allow_insecure_http else {}
    return Where(peer.shown, target, lambda: daemon_home(peer, variables, config.timeout))


async def require_alive(home: Home, peer: Peer) -> None:
    """See that a daemon is there and well. Raises BRIDGE_UNREACHABLE."""
    from dshloop.memory.agentmemory_client.answers import whole
    from dshloop.memory.agentmemory_client.calls import Call as Request

    try:
        value = await home.value(Request("GET", "/livez", whole))
    except DshloopError as error:
        raise BridgeUnreachableError(
            f"{PREFIX} daemon unreachable at {peer.shown}: {error.message}"[:600], url=peer.shown
        ) from None
    if not isinstance(value, Mapping) or set(value) == {"raw"}:
        said = "returned a malformed livez payload"
    elif value.get("status") != "ok":
        said = "did not report a healthy livez"
    else:
        return
    raise BridgeUnreachableError(f"{PREFIX} daemon at {peer.shown} {said}", url=peer.shown)


def _warn_insecure(peer: Peer, say: Say) -> None:
    from urllib.parse import urlsplit

    from dshloop.http.peer import is_loopback

    parts = urlsplit(peer.url)
    if peer.secrets and parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        say(f"the secret goes unencrypted to {parts.hostname}: use an https address")
