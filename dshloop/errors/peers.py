"""Faults of servers that dshloop talks to over HTTP; details name the peer and its address."""

from __future__ import annotations

from dshloop.errors.base import FailedError, PeerUnreachableError, RefusedError


class PeerConfigError(FailedError):
    """The address, secret or proxy of a server can't be used as it was given."""

    code = "PEER_CONFIG"


class InsecureHttpError(RefusedError):
    """A secret would go over plain HTTP to another machine; nothing was sent."""

    code = "INSECURE_HTTP"
    hint = "Use an https address, or allow it for this server if you trust the network."


class PeerDownError(PeerUnreachableError):
    """Nothing answers at the address of a server: refused, no such host, no route, TLS."""

    code = "PEER_DOWN"
    hint = "Start the server, or mend its address."


class PeerTimeoutError(PeerUnreachableError):
    """A server took longer than the time it was given."""

    code = "PEER_TIMEOUT"
    hint = "Try again; a server that is always this slow needs a longer time-out."


class PeerDeniedError(PeerUnreachableError):
    """A server wants another key, or none of ours will do (401, 403)."""

    code = "PEER_DENIED"
    hint = "Look at the variable that holds the key for this server."


class PeerFailedError(PeerUnreachableError):
    """A server answered with an error; details have its status and what it said."""

    code = "PEER_FAILED"


class PeerAnswerError(PeerUnreachableError):
    """A server's answer is not what its protocol says: no JSON, cut off, or far too long."""

    code = "PEER_ANSWER"
    hint = "Does the address belong to a server of this kind?"
