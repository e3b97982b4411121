"""What happened in a session, whichever program wrote it down: prompts, answers, tool calls.

A reader of a format goes through a file twice: `outline` tells about the session as a whole, and
`happenings` gives what happened, in order and in constant memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

Kind = Literal["prompt", "answer", "call"]
MOST_OPEN = 1_000
"""Calls that may wait for their results at once; the oldest is given up then."""


class Happening(NamedTuple):
    """A prompt, an answer, or a tool call with its result.

    ``id`` names it within all that its program wrote; ``at`` is in Unix seconds, None when the
    log doesn't tell. A call that ``failed`` has the error as its ``output``.
    """

    kind: Kind
    id: str
    at: float | None
    text: str = ""
    tool: str = ""
    input: Any = None
    output: Any = None
    failed: bool = False


@dataclass(slots=True)
class Outline:
    """A session as a whole; ``faults`` are lines that can't be read, with why."""

    path: Path
    program: str
    id: str = ""
    cwd: str = ""
    title: str = ""
    started_at: float | None = None
    updated_at: float | None = None
    faults: list[tuple[int, str]] = field(default_factory=list)

    def seen(self, at: float | None) -> None:
        """Take the time of something that happened into account."""
        if at is not None:
            self.started_at = at if self.started_at is None else min(self.started_at, at)
            self.updated_at = at if self.updated_at is None else max(self.updated_at, at)


def text_in(content: Any) -> str:
    """Give the text of a message: a string, or the text blocks of a list."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (
        block.get("text") if isinstance(block, dict) else block
        for block in content
        if not isinstance(block, dict) or block.get("type") in _TEXT_BLOCKS
    )
    return "\n".join(text for text in texts if isinstance(text, str) and text)


_TEXT_BLOCKS = ("text", "input_text", "output_text", None)
