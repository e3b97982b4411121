"""What is to be put before the model in one session (dsh-agentmemory-bridge 7). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from dshloop.plugins.agentmemory.scribe import PLUGIN

RECALL, SEMANTIC = "recall", "semantic"
_CLOSING = "</agentmemory-context>"
_SHORT = 200
"""Characters of a narrative behind its title."""


class Found(NamedTuple):
    """A result of a search: what it is called, and what it tells."""

    title: str
    narrative: str = ""


@dataclass(slots=True)
class Window:
    """The kept window of a session, and what fits its last message.

    ``again``: it is to be injected once more; ``expected``: it is being fetched for that.
    """

    text: str = ""
    again: bool = False
    expected: bool = False
    semantic: str = ""
    injected: bool = False

    @property
    def waits(self) -> bool:
        """Whether the next step should have a window that has not been injected."""
        return self.again or self.expected or not self.injected

    def keep(self, text: Any, limit: int, *, again: bool = False) -> None:
        """Replace the kept window; ``again`` has it injected once more, unless it is empty."""
        self.text = neutral(text if isinstance(text, str) else "", limit)
        if again:
            self.again, self.expected = bool(self.text), False

    def take(self) -> list[tuple[str, str]]:
        """Give the forms and texts for a step that begins; they are not given again."""
        taken = []
        if self.text and (self.again or not self.injected):
            taken.append((RECALL, self.text))
            self.injected, self.again = True, False
        if self.semantic:
            taken.append((SEMANTIC, self.semantic))
            self.semantic = ""
        return taken


def neutral(text: str, limit: int) -> str:
    """Cut a window; stored text in it can't close it (agentmemory 13, D18)."""
    whole = text.rstrip()
    if whole.endswith(_CLOSING):
        inner = whole.removesuffix(_CLOSING)
        whole = inner.replace(_CLOSING, "<\\/agentmemory-context>") + _CLOSING
    return whole[:limit].rstrip()


def lines(found: Iterable[Found], results: int, characters: int) -> str:
    """Give results as lines: the title, then the narrative, shortened; equal lines are one."""
    made: dict[str, None] = {}
    for one in found:
        line = _line(one)
        if line:
            made[line] = None
        if len(made) == results:
            break
    return "\n".join(made)[:characters].rstrip()


def source(form: str) -> Mapping[str, str]:
    """Say of an injected message where it is from."""
    return {"kind": "plugin", "plugin": PLUGIN, "form": form}


def _line(found: Found) -> str:
    from dshloop.terminal import one_line

    title, narrative = one_line(found.title).strip(), one_line(found.narrative, _SHORT).strip()
    if not narrative or narrative.startswith(title):
        title, narrative = narrative or title, ""
    parts = [part for part in (title, narrative) if part]
    return f"- {': '.join(parts)}" if parts else ""
