"""Changes before they are made, and how they are shown."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dshloop.files import shown
from dshloop.journal.state import Content, Link, State, Tree

if TYPE_CHECKING:
    from dshloop.journal.entry import Entry
    from dshloop.journal.store import Store

ABSENT = os.devnull if os.name == "posix" else "/dev/null"
_CONTEXT = 3


@dataclass(frozen=True, slots=True)
class Change:
    """A path with its content before and after; `mode` for a file, None keeps or defaults it."""

    path: Path
    before: Content
    after: Content
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes of one transaction to come."""

    changes: tuple[Change, ...]

    def diff(self) -> str:
        """Give the unified diff of all texts; what is no text takes a line. "" = no change."""
        return "".join(diff_of(change) for change in self.changes)


def plan_of(entry: Entry, store: Store, *, back: bool) -> Plan:
    """Give an entry's changes with their contents, forward or back."""
    changes = []
    for step in entry.changes:
        before, after = (_content(state, store) for state in (step.before, step.after))
        changes.append(Change(step.path, *((after, before) if back else (before, after))))
    return Plan(tuple(reversed(changes)) if back else tuple(changes))


def diff_of(change: Change) -> str:
    """Give the lines for one change, each with its line feed."""
    before, after = change.before, change.after
    if before == after:
        return ""
    if isinstance(before, bytes | None) and isinstance(after, bytes | None):
        old, new = _lines(before), _lines(after)
        if old is not None and new is not None:
            return "".join(_unified(change, old, new))
    return f"{shown(change.path)}: {_name(before)} -> {_name(after)}\n"


def _content(state: State | None, store: Store) -> Content:
    if state is None:
        return None
    if state.kind == "file":
        return store.get(state.value)
    if state.kind == "link":
        return Link(state.value)
    return Tree(state.value, state.files, state.size)


def _lines(data: bytes | None) -> list[str] | None:
    """Cut a text at its line feeds, which stay; None when it is no text."""
    try:
        text = (data or b"").decode("utf-8")
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _unified(change: Change, old: list[str], new: list[str]) -> Iterator[str]:
    from dshloop.journal.line_diff import hunks

    name = shown(change.path)
    yield f"--- {ABSENT if change.before is None else name}\n"
    yield f"+++ {ABSENT if change.after is None else name}\n"
    yield from (_finished(line) for line in hunks(old, new, _CONTEXT))


def _finished(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _name(content: Content) -> str:
    if content is None:
        return "absent"
    if isinstance(content, bytes):
        return f"file of {_count(len(content), 'byte')}"
    if isinstance(content, Link):
        return f"link to {shown(content.target)}"
    files, size = _count(content.files, "file"), _count(content.size, "byte")
    return f"folder with {files}, {size}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
