"""How memories look to people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dshloop.terminal import one_line

if TYPE_CHECKING:
    from dshloop.memory.entries import Entry
    from dshloop.memory.store import Hit


def hit_block(hit: Hit) -> str:
    """Lay out one hit: what it is, then its title, and its text where that says more."""
    memory = hit.entry
    head = f"{hit.score:.2f}  {memory.id}  {memory.type}  {one_line(memory.project)}"
    title, text = one_line(memory.title), one_line(memory.content, 240)
    lines = [text] if text.startswith(title) else [title, text]
    return "\n  ".join([head, *lines])


def page(memory: Entry) -> str:
    """Lay out one memory: its labels, then its text as it is."""
    data = memory.as_json()
    keys = ("id", "type", "project", "agent", "title", "concepts", "files", "created_at")
    lines = []
    for key in (*keys, "updated_at", "repeats"):
        value = data.get(key)
        text = ", ".join(value) if isinstance(value, list) else str(value or "")
        if text:
            lines.append(f"{key.replace('_at', ''):<9} {one_line(text)}")
    return "\n".join([*lines, "", memory.content])
