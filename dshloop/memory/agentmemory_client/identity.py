"""Whether what answers is an agentmemory that we know: pure."""

from __future__ import annotations

import re

from dshloop.errors import AgentmemoryOldError, PeerAnswerError
from dshloop.http.peer import Peer
from dshloop.memory.agentmemory_client.answers import Alive, Health

SERVICE = "agentmemory"
OLDEST = "0.9.29"
"""Older daemons drop the agent of a memory, and take approvals for repeats (bridge, top)."""

_NUMBERS = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def require_known(peer: Peer, told: Alive | Health) -> None:
    """Raise PEER_ANSWER for another program, AGENTMEMORY_OLD for a version before 0.9.29."""
    if told.service != SERVICE:
        raise PeerAnswerError(
            f"what answers at {peer.shown} is no agentmemory but {told.service or 'nameless'}",
            peer=peer.name,
            url=peer.shown,
        )
    if isinstance(told, Health) and _numbers(told.version) < _numbers(OLDEST):
        raise AgentmemoryOldError(
            f"agentmemory at {peer.shown} has version {told.version or '(none)'}; {OLDEST} is the "
            "oldest that is understood",
            peer=peer.name,
            url=peer.shown,
            version=told.version,
            oldest=OLDEST,
        )


def _numbers(version: str) -> tuple[int, ...]:
    found = _NUMBERS.match(version.strip().removeprefix("v"))
    return tuple(map(int, found.groups())) if found else ()
