"""Statuses, bodies and exceptions as DSH's codes."""

from __future__ import annotations

from typing import Any

import pytest

from dshloop.errors import (
    InsecureHttpError,
    MissingCredentialError,
    PeerAnswerError,
    PeerConfigError,
    PeerDownError,
    PeerTimeoutError,
)
from dshloop.llm.failures import (
    WireError,
    of_error,
    of_status,
    retry_after_ms,
    without_secrets,
)
from dshloop.llm.sse import EventTooLargeError
from dshloop.redact import MARK

NOW = 1_800_000_000.0


def code(status: int, **error: Any) -> str:
    return str(of_status(status, {"error": error}, {}, lambda: NOW)["code"])


@pytest.mark.parametrize(
    ("status", "error", "wanted"),
    [
        (401, {}, "AUTH"),
        (403, {}, "AUTH"),
        (400, {"type": "authentication_error"}, "AUTH"),
        (402, {}, "QUOTA"),
        (429, {"code": "insufficient_quota"}, "QUOTA"),
        (429, {"message": "You exceeded your current quota"}, "QUOTA"),
        (429, {}, "RATE_LIMIT"),
        (200, {"type": "rate_limit_error"}, "RATE_LIMIT"),
        (400, {}, "INVALID_REQUEST"),
        (413, {}, "INVALID_REQUEST"),
        (400, {"code": "context_length_exceeded"}, "CONTEXT_WINDOW_EXCEEDED"),
        (
            400,
            {"message": "This model's maximum context length is 65536 tokens"},
            "CONTEXT_WINDOW_EXCEEDED",
        ),
        (400, {"message": "prompt is too long: 9 > 8"}, "CONTEXT_WINDOW_EXCEEDED"),
        (500, {}, "SERVER"),
        (503, {"message": "insufficient_quota of machines"}, "SERVER"),
        (529, {"type": "overloaded_error"}, "SERVER"),
        (404, {}, "HTTP_404"),
        (408, {}, "HTTP_408"),
        (409, {}, "HTTP_409"),
        (422, {}, "HTTP_422"),
        (302, {}, "HTTP_302"),
    ],
)
def test_codes_of_statuses(status: int, error: dict[str, Any], wanted: str) -> None:
    assert code(status, **error) == wanted


def test_a_failure_says_status_wait_and_request() -> None:
    headers = {"retry-after": "2", "x-request-id": "r-1"}
    body = {"error": {"message": "slow\ndown", "type": "rate_limit_error"}}
    assert of_status(429, body, headers, lambda: NOW) == {
        "message": "HTTP 429: slow down",
        "code": "RATE_LIMIT",
        "status": 429,
        "providerRetryAfterMs": 2000,
        "requestId": "r-1",
    }


@pytest.mark.parametrize("body", ["<html>busy</html>", "", None, [], {"error": "words"}, {"a": 1}])
def test_any_body_has_a_message(body: object) -> None:
    failure = of_status(500, body, {}, lambda: NOW)
    assert failure["message"].startswith("HTTP 500: ")
    assert len(of_status(500, "x" * 9000, {}, lambda: NOW)["message"]) < 2100


@pytest.mark.parametrize(
    ("headers", "wanted"),
    [
        ({}, None),
        ({"retry-after": "1.5"}, 1500),
        ({"retry-after-ms": "12.2", "retry-after": "9"}, 13),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:03 GMT"}, 3000),
        ({"retry-after": "Fri, 15 Jan 2027 07:00:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Mon, 99 Xxx 9999999999 00:00:00"}, None),
    ],
)
def test_how_long_a_server_asks_to_wait(headers: dict[str, str], wanted: int | None) -> None:
    assert retry_after_ms(headers, lambda: NOW) == wanted


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (PeerTimeoutError("x"), "TIMEOUT"),
        (PeerDownError("x"), "TRANSPORT"),
        (PeerAnswerError("x"), "TRANSPORT"),
        (PeerConfigError("x"), "INVALID_REQUEST"),
        (InsecureHttpError("x"), "INVALID_REQUEST"),
        (MissingCredentialError("x"), "MISSING_CREDENTIAL"),
        (EventTooLargeError("x"), "MALFORMED_RESPONSE"),
        (WireError("x", "STREAM_CLOSED"), "STREAM_CLOSED"),
    ],
)
def test_codes_of_errors(error: Exception, wanted: str) -> None:
    failure = of_error(error)
    assert failure["code"] == wanted
    assert failure["message"].startswith("x")


def test_secrets_are_taken_out_of_what_a_server_says() -> None:
    said = {"message": "Bad key my-odd-key and sk-abcdefghijklmnopqrstuvwx", "code": "AUTH"}
    assert without_secrets(said, "my-odd-key", None)["message"] == f"Bad key {MARK} and {MARK}"
