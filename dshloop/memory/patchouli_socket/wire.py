"""Lines of the storage protocol, version 1: written, read and understood (patchouli 9). Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from dshloop.errors import PatchouliFailedError, PeerAnswerError

VERSION = 1
MAX_REQUEST = 1_048_576
HANDSHAKE = "protocol.handshake"
EVENT = "patchouli.changes.event@1"
CAPABILITIES = ("artifacts", "subscriptions")

REASONS: Mapping[int, str] = {
    -32700: "PARSE_ERROR",
    -32600: "INVALID_REQUEST",
    -32601: "METHOD_NOT_FOUND",
    -32602: "INVALID_REQUEST",
    -32603: "INTERNAL_ERROR",
    -32001: "UNAUTHENTICATED",
    -32002: "FORBIDDEN",
    -32003: "NOT_FOUND",
    -32004: "VERSION_CONFLICT",
    -32005: "IDEMPOTENCY_CONFLICT",
    -32006: "UNSUPPORTED_CAPABILITY",
    -32007: "DEADLINE_EXCEEDED",
    -32009: "OVERLOADED",
    -32010: "CURSOR_EXPIRED",
    -32011: "WORK_UNIT_EXPIRED",
}

READS = frozenset({"control.status", "entity.read", "entity.retrieve", "artifact.download.chunk"})
"""Methods that may be asked again on a new connection."""


class Reply(NamedTuple):
    """A line that answers a call: its result, or its error."""

    id: Any
    result: Mapping[str, Any] | None
    error: Mapping[str, Any] | None


class Change(NamedTuple):
    """A change that a subscription tells of."""

    subscription: str
    cursor: str
    kind: str
    type: str
    id: str
    heads: tuple[str, ...]
    meta: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Give the value that is shown."""
        return {
            "cursor": self.cursor,
            "kind": self.kind,
            "ref": {"type": self.type, "id": self.id},
            "head_versions": list(self.heads),
            "meta": dict(self.meta),
        }


def method_name(method: str) -> str:
    """Give a method's name on the wire."""
    return f"patchouli.{method}@1"


def request_line(number: int, method: str, params: Mapping[str, Any]) -> bytes:
    """Write a request. Raises PatchouliFailedError for one that the daemon would skip."""
    body = {"jsonrpc": "2.0", "id": number, "method": method_name(method), "params": params}
    line = json.dumps(body, separators=(",", ":")).encode() + b"\n"
    if len(line) - 1 > MAX_REQUEST:
        raise PatchouliFailedError(
            f"a request of {len(line)} bytes is too long for Patchouli, which takes {MAX_REQUEST}",
            method=method,
            reason="INVALID_REQUEST",
        )
    return line


def read_line(line: bytes) -> Reply | Change | None:
    """Understand a line; None for a notification that nobody knows. Raises ValueError."""
    value = json.loads(line.decode("utf-8"))
    if not isinstance(value, dict):
        raise ValueError("it is no object")
    if "method" in value and "id" not in value:
        return _change(value["params"]) if value["method"] == EVENT else None
    result, error = value.get("result"), value.get("error")
    if not isinstance(result, dict) and not isinstance(error, dict):
        raise ValueError("it holds neither a result nor an error")
    return Reply(value.get("id"), result, error)


def _change(params: Any) -> Change:
    try:
        data, change = params["data"], params["data"]["change"]
        ref = change["ref"]
        return Change(
            data["subscription_id"],
            change["cursor"],
            change["kind"],
            ref["type"],
            ref["id"],
            tuple(change.get("head_versions", ())),
            params.get("meta", {}),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"its change lacks {error}") from None


def failure(method: str, error: Mapping[str, Any]) -> PatchouliFailedError:
    """Make the error of a call that the daemon refused; message texts are only for people."""
    code, data = error.get("code"), error.get("data")
    held = data if isinstance(data, dict) else {}
    reason = held.get("reason") or REASONS.get(code if isinstance(code, int) else 0, "UNKNOWN")
    said = str(error.get("message") or reason)
    return PatchouliFailedError(
        f"Patchouli refused {method}: {said} ({reason})",
        method=method,
        rpc_code=code,
        reason=reason,
        data=held,
    )


def checked_handshake(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check what a daemon says of itself. Raises PEER_ANSWER."""
    if result.get("protocol_version") != VERSION or not isinstance(result.get("limits"), dict):
        raise PeerAnswerError("what answers speaks another protocol than Patchouli's version 1")
    return result
