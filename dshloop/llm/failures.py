"""Why a request failed, in DSH's codes: of statuses, bodies and exceptions (dsh-sessions 5).

A failure is ``{message, code, status?, providerRetryAfterMs?, requestId?}``; no secret is in it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from dshloop.redact import MARK, redact_text

Failure = dict[str, Any]

LONGEST = 2000  # characters of a server's message that are kept

_AUTH = frozenset({"authentication_error", "permission_error", "invalid_api_key"})
_QUOTA = frozenset({"insufficient_quota", "billing_error", "quota_exceeded"})
_RATE = frozenset({"rate_limit_error", "rate_limit_exceeded"})
_INVALID = frozenset({"invalid_request_error", "request_too_large"})
_SERVER = frozenset({"api_error", "overloaded_error", "server_error", "internal_error"})
_CONTEXT = re.compile(
    r"context[_ ]length|context[_ ]window|maximum context|prompt is too long|too many tokens"
    r"|input (?:is|length).{0,40}(?:too long|exceed)|exceeds? the (?:maximum|max) (?:\w+ )?tokens",
    re.I,
)
_QUOTA_TEXT = re.compile(
    r"insufficient[_ ](?:quota|balance|credit)|exceeded your current quota|out of credits?"
    r"|credit balance is too low|billing hard limit",
    re.I,
)


_CODES = {
    "PEER_DOWN": "TRANSPORT",
    "PEER_ANSWER": "TRANSPORT",  # broke off in the middle, or was no HTTP
    "PEER_TIMEOUT": "TIMEOUT",
    "EVENT_TOO_LARGE": "MALFORMED_RESPONSE",
    "PEER_CONFIG": "INVALID_REQUEST",
    "INSECURE_HTTP": "INVALID_REQUEST",
    "MISSING_CREDENTIAL": "MISSING_CREDENTIAL",
    "CREDENTIALS_INVALID": "MISSING_CREDENTIAL",
}
"""Codes of our errors -> DSH's."""


class WireError(Exception):
    """A stream breaks its wire's rules, or holds an error; told to the engine, never to people."""

    def __init__(self, message: str, code: str = "MALFORMED_RESPONSE") -> None:
        super().__init__(message)
        self.failure: Failure = {"message": message, "code": code}

    @classmethod
    def of(cls, failure: Failure) -> WireError:
        """Make the error of a failure that is described already."""
        error = cls(failure["message"], failure["code"])
        error.failure = failure
        return error


def of_status(
    status: int, body: object, headers: Mapping[str, str], now: Callable[[], float]
) -> Failure:
    """Describe an answer with an HTTP error status; ``body`` is its JSON value or its text."""
    error = error_object(body)
    message = _message(error) or _shown(body) or "the server said no more"
    code = _code(status, error, message)
    failure: Failure = {"message": f"HTTP {status}: {message}", "code": code, "status": status}
    wait = retry_after_ms(headers, now)
    if wait is not None:
        failure["providerRetryAfterMs"] = wait
    request = headers.get("request-id") or headers.get("x-request-id")
    return failure if request is None else {**failure, "requestId": request}


def of_stream_error(error: object) -> Failure:
    """Describe an error that came as an event of a stream that had begun well."""
    found = error if isinstance(error, Mapping) else {}
    message = _message(found) or _shown(error) or "the server sent an error without a message"
    status = _status(found)
    code = _code(status or 0, found, message)
    failure: Failure = {"message": message, "code": "SERVER" if code == "HTTP_0" else code}
    return failure if status is None else {**failure, "status": status}


def of_error(error: Exception) -> Failure:
    """Describe what a wire, the client or a provider's settings raised."""
    if isinstance(error, WireError):
        return error.failure
    code = _CODES.get(getattr(error, "code", ""), "UNKNOWN")
    hint = getattr(error, "hint", None) if code in ("MISSING_CREDENTIAL", "INVALID_REQUEST") else ""
    said = str(error).rstrip(".")
    return {"message": f"{said}. {hint}" if hint else said, "code": code}


def without_secrets(failure: Failure, *secrets: str | None) -> Failure:
    """Take secrets out of a failure's message: those given, and what looks like one."""
    message = failure["message"]
    for secret in filter(None, secrets):
        message = message.replace(secret, MARK)
    return {**failure, "message": redact_text(message)}


def error_object(body: object) -> Mapping[str, Any]:
    """Give the error of a JSON body: ``{error: {…}}``, ``{error: text}``, or the body itself."""
    if not isinstance(body, Mapping):
        return {}
    inner = body.get("error", body)
    if isinstance(inner, str):
        return {"message": inner}
    return inner if isinstance(inner, Mapping) else {}


def retry_after_ms(headers: Mapping[str, str], now: Callable[[], float]) -> int | None:
    """Give the milliseconds a server asks to wait; None when it says none that makes sense.

    ``retry-after-ms`` goes before ``retry-after``, which is seconds or an HTTP date.
    """
    exact = _number(headers.get("retry-after-ms"))
    if exact is not None:
        return math.ceil(exact)
    given = headers.get("retry-after")
    seconds = _number(given)
    if seconds is None and given is not None:
        seconds = _until(given, now)
    return None if seconds is None else math.ceil(seconds * 1000)


def _until(date: str, now: Callable[[], float]) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - now())
    except (ValueError, TypeError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _code(status: int, error: Mapping[str, Any], message: str) -> str:
    kinds = {str(error.get(key)).lower() for key in ("type", "code") if error.get(key)}
    if status in (401, 403) or kinds & _AUTH:
        return "AUTH"
    if status == 402 or kinds & _QUOTA or (status < 500 and _QUOTA_TEXT.search(message)):
        return "QUOTA"
    if status == 429 or kinds & _RATE:
        return "RATE_LIMIT"
    if status in (400, 413) or (kinds & _INVALID and status < 500):
        about = " ".join((message, *kinds))
        return "CONTEXT_WINDOW_EXCEEDED" if _CONTEXT.search(about) else "INVALID_REQUEST"
    if status >= 500 or kinds & _SERVER:
        return "SERVER"
    return f"HTTP_{status}"


def _status(error: Mapping[str, Any]) -> int | None:
    for key in ("status", "code"):
        value = error.get(key)
        if type(value) is int and 100 <= value <= 599:
            return value
    return None


def _message(error: Mapping[str, Any]) -> str:
    message = error.get("message")
    return _shown(message) if isinstance(message, str) else ""


def _shown(value: object) -> str:
    """Give a text as one line that is not too long; nothing for other values."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
