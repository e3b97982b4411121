"""The text a person reads while a session runs: the model's words, as they come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dshloop.llm.messages import failure, plain_text
from dshloop.transcripts.vocabulary import Event


class Reply:
    """Turns events into text; every answer ends with a line end, whatever becomes of it.

    What was said before a request failed stands on lines of its own; `notice_of` says so.
    """

    def __init__(self) -> None:
        self._streamed = False
        self._midline = False
        self._said_before = False
        self._held = ""  # a \r that may be the first half of a line's end

    def text_of(self, event: Event) -> str | None:
        """Give what an event adds to the text, None when nothing."""
        kind, data = event["type"], event["data"]
        if kind == "assistant/chunk":
            return self._chunk(data["chunk"])
        if kind == "assistant/message":
            message = data.get("message")
            whole = plain_text(message.get("content")) if isinstance(message, Mapping) else ""
            text = "" if self._streamed else whole
            self._streamed = False
            return self._end_line(text)
        if kind == "llm/retry" and self._streamed:
            self._said_before = True
        if kind in ("step/end", "llm/retry"):  # an answer that is asked for again begins anew
            self._streamed = False
            return self._end_line("")
        return None

    def notice_of(self, event: Event) -> str | None:
        """Give what is to be told beside the text, after `text_of` of the same event."""
        if event["type"] != "llm/retry":
            return None
        said_before, self._said_before = self._said_before, False
        return retry_text(event["data"], said_before)

    def _chunk(self, chunk: Mapping[str, Any]) -> str | None:
        if chunk["type"] != "text-delta" or not chunk["text"]:
            return None
        self._streamed = True
        text = f"{self._held}{chunk['text']}"
        self._held = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r")
        if text:
            self._midline = not text.endswith("\n")
        return text or None

    def _end_line(self, text: str) -> str | None:
        open_line = self._midline if not text else not text.endswith("\n")
        self._midline, self._held = False, ""
        return (text + ("\n" if open_line else "")) or None


def retry_text(retry: Mapping[str, Any], said_before: bool = False) -> str:
    """Say that a request is made again: why, when, and whether some of its answer was seen."""
    failed = retry.get("failure")
    why = failed.get("message") if isinstance(failed, Mapping) else None
    why = why or "no reason is known"
    if said_before:
        return f"that answer broke off and doesn't count ({why}); it is asked for again"
    number, most, delay = retry.get("retry"), retry.get("maxRetries"), retry.get("delayMs")
    count = f", try {number} of {most}" if most is not None else ""
    pause = f" in {delay / 1000:.1f} s" if isinstance(delay, int | float) else ""
    return f"no answer ({why}); it is asked for again{pause}{count}"


def reason_of(end: Event) -> Mapping[str, Any]:
    """Give the reason of a turn's end; an engine that gives none has failed to."""
    reason = end["data"].get("reason") if isinstance(end["data"], Mapping) else None
    if isinstance(reason, Mapping) and isinstance(reason.get("kind"), str):
        return reason
    said = failure("the driver ended the turn without a reason", "DRIVER_CONTRACT")
    return {"kind": "error", "error": said}


def failure_of(reason: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Give what made a turn fail by its end's reason: its error, or who but a person aborted it."""
    if reason.get("kind") != "aborted":
        error = reason.get("error")
        return error if isinstance(error, Mapping) else None
    cause = reason.get("reason")
    kind = cause.get("kind") if isinstance(cause, Mapping) else None
    if not isinstance(cause, Mapping) or kind in (None, "user"):
        return None
    said = cause.get("reason")
    return failure(said if isinstance(said, str) else f"the turn was aborted: {kind}", "ABORTED")


def failure_text(failure: Mapping[str, Any] | None) -> str:
    """Say in one line why a turn failed."""
    if not failure:
        return "the turn failed"
    return f"{failure.get('message')} ({failure.get('code')})"
