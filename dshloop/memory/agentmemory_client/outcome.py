"""What comes of a request: what may be sent, the value of an answer, or the error it stands for.

Pure. Errors are PEER_DOWN, PEER_TIMEOUT, PEER_DENIED, PEER_FAILED, PEER_ANSWER (another program)
and AGENTMEMORY_REFUSED, _RESTARTING, _TOO_LARGE, _OLD; ``details["said"]`` are the daemon's own
words, ``details["status"]`` the status of its answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dshloop.errors import (
    AgentmemoryRefusedError,
    AgentmemoryRestartingError,
    AgentmemoryTooLargeError,
    DshloopError,
    PeerAnswerError,
    PeerDeniedError,
    PeerDownError,
    PeerFailedError,
    PeerTimeoutError,
)
from dshloop.http.peer import Peer
from dshloop.http.wire import clean
from dshloop.memory.agentmemory_client.calls import Call

BASE = "/agentmemory"
ANY_STATUS = tuple(range(300, 600))
"""No status is an error of the transport: what it means is decided here."""
PEER_ERRORS = (PeerDownError, PeerTimeoutError, PeerAnswerError)
MOST_BYTES = 15 * 1024 * 1024
"""A body above 16 MiB takes the daemon down for everybody (agentmemory 4)."""

_DEEPEST = 100  # a body nested deeper than 127 counts as absent (agentmemory 1)
_SURE_TO_FIT = MOST_BYTES // 12  # characters: each is at most 12 bytes of escapes
_STOPPED = ("Invocation stopped", "Function api::")


# --- before ------------------------------------------------------------------------------------


def body_of(call: Call[Any]) -> Any:
    """Give the body to send. Raises AGENTMEMORY_TOO_LARGE.

    Lone surrogates are replaced, and what is nested too deeply becomes text: the daemon takes a
    body with either for none at all (agentmemory 1).
    """
    if call.body is None:
        return None
    body, characters = _sendable(call.body, 1)
    size = len(json.dumps(body)) if characters > _SURE_TO_FIT else 0
    if size > MOST_BYTES:
        raise AgentmemoryTooLargeError(
            f"{call.name} would send {size} bytes to agentmemory, which takes {MOST_BYTES}",
            call=call.name,
            bytes=size,
            most=MOST_BYTES,
        )
    return body


def _sendable(value: Any, depth: int) -> tuple[Any, int]:
    """Give a value that JSON can hold, and about how many characters its texts have."""
    if isinstance(value, str):
        return _whole_text(value), len(value)
    if isinstance(value, float):
        return (value if value - value == 0 else None), 24  # no NaN and no infinity
    if not isinstance(value, (Mapping, list, tuple)):
        return value, 24
    if depth > _DEEPEST:
        text = _as_text(value)
        return text, len(text)
    if isinstance(value, Mapping):
        made = {_whole_text(str(key)): _sendable(one, depth + 1) for key, one in value.items()}
        size = sum(len(key) + 6 + one[1] for key, one in made.items())
        return {key: one[0] for key, one in made.items()}, size
    items = [_sendable(one, depth + 1) for one in value]
    return [one[0] for one in items], sum(one[1] + 2 for one in items)


def _whole_text(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _as_text(value: Any) -> str:
    try:
        return _whole_text(json.dumps(value, ensure_ascii=False))
    except (RecursionError, ValueError, TypeError):
        return "[nested too deeply]"


# --- after -------------------------------------------------------------------------------------


def value_of(peer: Peer, call: Call[Any], status: int, body: bytes) -> Mapping[str, Any]:
    """Give the object of an answer that tells a success; raise what any other one stands for.

    Failures often come as 2xx with ``success: false`` (agentmemory 1).
    """
    value = _json(body)
    fine = 200 <= status < 300 or (status in call.accept and isinstance(value, Mapping))
    if not fine or (status >= 500 and "error" in value):
        raise _refusal(peer, call, status, body, value)
    if not isinstance(value, Mapping):
        raise PeerAnswerError(
            f"what answers at {peer.shown} is no agentmemory: {call.name} got no JSON object",
            **_about(peer, call, status),
        )
    if value.get("success") is False:
        raise _unsuccessful(peer, call, status, value)
    return value


def raw_value(peer: Peer, call: Call[Any], status: int, body: bytes) -> Any:
    """Give the JSON of a 2xx answer as it came, ``{"raw": text}`` where it is none."""
    value = _json(body)
    if not 200 <= status < 300:
        raise _refusal(peer, call, status, body, value)
    return {"raw": body.decode("utf-8", "replace")} if value is _NONE else value


def failure(peer: Peer, call: Call[Any], error: DshloopError) -> DshloopError:
    """Give the error for a connection that failed: one that broke off is a restart."""
    import httpx

    cut = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)
    if not isinstance(error.__context__, cut):
        return error
    unknown = "" if call.repeatable else "; whether it was done is not known"
    return AgentmemoryRestartingError(
        f"agentmemory at {peer.shown} broke off in the middle of {call.name}{unknown}",
        **_about(peer, call, None),
    )


def too_slow(peer: Peer, call: Call[Any], seconds: float) -> PeerTimeoutError:
    """Give the error for a request beyond its deadline."""
    return PeerTimeoutError(
        f"agentmemory at {peer.shown} did not answer {call.name} within {seconds:g} s",
        **_about(peer, call, None),
    )


def may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed later: the daemon is down, slow, restarting or failing,
    or another program has its port. What it refused, it will refuse again."""
    if isinstance(error, PeerFailedError):
        return int(error.details.get("status") or 500) >= 500
    return isinstance(error, (*PEER_ERRORS, AgentmemoryRestartingError))


def _refusal(
    peer: Peer, call: Call[Any], status: int, body: bytes, value: Any
) -> DshloopError:  # fmt: skip
    said = _said(peer, value)
    about = _about(peer, call, status) | {"said": said}
    where, words = f"agentmemory at {peer.shown}", f": {said}" if said else ""
    if status == 401:
        return PeerDeniedError(
            f"{where} refused our secret" if peer.secrets else f"{where} wants a secret",
            hint="Set $AGENTMEMORY_SECRET to the one that the daemon was started with.",
            **about,
        )
    if (status == 404 and not body.strip()) or (status == 500 and said.startswith(_STOPPED)):
        return AgentmemoryRestartingError(
            f"{where} is starting or restarting: it has no {call.name} now", **about
        )
    if status == 413:
        return AgentmemoryTooLargeError(f"{where} finds {call.name} too large{words}", **about)
    if status == 504:
        return PeerTimeoutError(f"{where} gave up on {call.name} as too slow{words}", **about)
    if 400 <= status < 500:
        return AgentmemoryRefusedError(
            f"{where} refused {call.name} with status {status}{words}", **about
        )
    return PeerFailedError(f"{where} answered {call.name} with status {status}{words}", **about)


def _unsuccessful(
    peer: Peer, call: Call[Any], status: int, value: Mapping[str, Any]
) -> DshloopError:
    said = _said(peer, value)
    about = _about(peer, call, status) | {"said": said}
    if value.get("oversized") is True:
        return AgentmemoryTooLargeError(
            f"agentmemory at {peer.shown} can't give so much at once: {said}", **about
        )
    return AgentmemoryRefusedError(
        f"agentmemory at {peer.shown} did not do {call.name}: {said or 'it says no reason'}",
        **about,
    )


def _about(peer: Peer, call: Call[Any], status: int | None) -> dict[str, Any]:
    told = {} if status is None else {"status": status}
    return {"peer": peer.name, "url": peer.shown, "call": call.name, **told}


_NONE = object()


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return _NONE


def _said(peer: Peer, value: Any) -> str:
    """Give the daemon's words as a short line without secrets."""
    if not isinstance(value, Mapping):
        return ""
    told = next((value[key] for key in ("error", "reason", "message") if value.get(key)), "")
    return clean(peer, told if isinstance(told, str) else json.dumps(told))
