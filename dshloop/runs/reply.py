"""The text a person reads while a session runs: the model's words, as they come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dshloop.llm.messages import failure, plain_text
from dshloop.transcripts.vocabulary import Event


class Reply:
    """Turns events into text; every answer ends with a line end, whatever becomes of it."""

    def __init__(self) -> None:
        self._streamed = False
        self._midline = False

    def text_of(self, event: Event) -> str | None:
        """Give what an event adds to the text, None when nothing."""
        kind, data = event["type"], event["data"]
        if kind == "assistant/chunk":
            return self._chunk(data["chunk"])
        if kind == "assistant/message":
            text = "" if self._streamed else plain_text(data["message"].get("content"))
            self._streamed = False
            return self._end_line(text)
        if kind in ("step/end", "llm/retry"):  # an answer that is asked for again begins anew
            self._streamed = False
            return self._end_line("")
        return None

    def _chunk(self, chunk: Mapping[str, Any]) -> str | None:
        if chunk["type"] != "text-delta" or not chunk["text"]:
            return None
        self._streamed = True
        self._midline = not chunk["text"].endswith("\n")
        return str(chunk["text"])

    def _end_line(self, text: str) -> str | None:
        open_line = self._midline if not text else not text.endswith("\n")
        self._midline = False
        return (text + ("\n" if open_line else "")) or None


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
