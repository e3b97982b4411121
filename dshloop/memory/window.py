"""A window of text within a budget: blocks that fit, escaped, inside a wrapper marked as data.

What `memory context` prints and what the server answers are made of the same parts: blocks in an
order, `fitting` to choose among them, `opening` and `closing` around them (agentmemory 7).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dshloop.terminal import one_line
from dshloop.times import iso_time

CHARACTERS = 3
"""Characters a token is counted as (agentmemory 7)."""
BUDGET = 2000

_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


class Block(NamedTuple):
    """A piece of a window that enters whole or not at all.

    ``text`` is ready to be shown: stored text in it is escaped. Blocks with the same ``heading``
    stand under it together; it is paid for with the first of them. ``at`` is Unix seconds, ``ids``
    name the entries and sessions that it tells of.
    """

    kind: str
    text: str
    at: float = 0.0
    ids: tuple[str, ...] = ()
    heading: str = ""

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows."""
        return {
            "kind": self.kind,
            "text": self.text,
            "tokens": tokens_of(self.text),
            "at": iso_time(self.at),
            "ids": list(self.ids),
        }


def tokens_of(text: str) -> int:
    """Count tokens: a third of the characters, rounded up."""
    return -(-len(text) // CHARACTERS)


def escaped(text: str) -> str:
    """Make stored text harmless inside a wrapper: it can neither close it nor open another."""
    return "".join(_ESCAPES.get(character, character) for character in text)


def item(text: str, limit: int | None = None) -> str:
    """Give stored text as one escaped line, which can make no heading; cut at ``limit``."""
    return escaped(one_line(text, limit))


def opening(tag: str, attributes: Mapping[str, str]) -> str:
    """Open a wrapper; the values of its attributes are escaped."""
    words = [
        f'{key}="{item(value).replace(chr(34), "&quot;")}"' for key, value in attributes.items()
    ]
    return f"<{' '.join([tag, *words])}>"


def closing(tag: str) -> str:
    """Close a wrapper."""
    return f"</{tag}>"


def fitting(blocks: Iterable[Block], budget: int, spent: int = 0) -> tuple[list[Block], int]:
    """Choose blocks in their order as long as they fit; one that doesn't is skipped.

    ``spent`` is what the wrapper costs. Gives the chosen ones and all tokens then spent.
    """
    chosen: list[Block] = []
    headings: set[str] = set()
    for block in blocks:
        cost = tokens_of(block.text)
        if block.heading and block.heading not in headings:
            cost += tokens_of(block.heading)
        if spent + cost <= budget:
            chosen.append(block)
            headings.add(block.heading)
            spent += cost
    return chosen, spent


def body(blocks: Sequence[Block]) -> str:
    """Join blocks: a blank line between headings, a line end between blocks under one."""
    sections: dict[str, list[str]] = {}
    for at, block in enumerate(blocks):
        sections.setdefault(block.heading or f"\0{at}", []).append(block.text.rstrip("\n"))
    return "\n\n".join(
        "\n".join(texts if heading[0] == "\0" else [heading.strip("\n"), *texts])
        for heading, texts in sections.items()
    )
