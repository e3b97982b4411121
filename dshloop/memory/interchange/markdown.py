"""Markdown files with front matter: a memory a file (Basic Memory, Obsidian, notes of agents)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dshloop.errors import DshloopError
from dshloop.files import read_text, shown
from dshloop.memory.entries import DEFAULT_STRENGTH, TYPES, Memory, title_of
from dshloop.memory.interchange import fields
from dshloop.memory.interchange.ids import made_id
from dshloop.memory.interchange.report import Item
from dshloop.memory.interchange.untimed import Untimed

NAME = "markdown"
KIND = "markdown"
SUFFIXES = (".md", ".markdown")
_LEFT_OUT = ("node_modules",)
_FENCE = "---"
_PAIR = re.compile(r"([\w-]+)\s*:\s+(.+)")
# Front matter keys of each field, the first that is there counts.
_CONCEPTS = ("concepts", "tags", "keywords")
_FILES = ("files", "paths")
_CREATED = ("created_at", "created", "date")
_UPDATED = ("updated_at", "updated", "modified")
_EXPIRES = ("expires_at", "expires")
_USED = {"id", "title", "type", "project", "agent", "session", "strength", *_CONCEPTS, *_FILES}
_USED |= {*_CREATED, *_UPDATED, *_EXPIRES}


def files_in(path: Path) -> Iterator[Path]:
    """Give the Markdown files of a folder, in order; hidden folders are left out."""
    if path.is_file():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(
            one for one in folders if not one.startswith(".") and one not in _LEFT_OUT
        )
        for name in sorted(names):
            if name.lower().endswith(SUFFIXES) and not name.startswith("."):
                yield Path(folder) / name


def read(path: Path, *, project: str) -> Iterator[Item]:
    """Give the memories of a file, or of all files in a folder."""
    root = path if path.is_dir() else path.parent
    for file in files_in(path):
        name = file.relative_to(root).as_posix()
        try:
            text = read_text(file)
            memory = None if text is None else memory_of(text.value, name, project, _time(file))
        except DshloopError as error:
            yield Item(None, shown(name), f"it can't be read ({error.code})")
            continue
        if memory is None:
            yield Item(None, shown(name), "it has no text")
        else:
            yield Item(memory, shown(name))


def memory_of(text: str, name: str, project: str, at: float) -> Memory | Untimed | None:
    """Make the memory of a file; None when it says nothing. ``name`` is its path in the folder."""
    front, body = split(text)
    content = body.strip()
    if not content:
        return None
    kind = fields.text(front, "type").lower()
    created, updated = _moment(front, _CREATED), _moment(front, _UPDATED)
    rest = {key: value for key, value in front.items() if key not in _USED}
    if kind not in TYPES and kind:
        rest["type"] = front["type"]
    project = fields.text(front, "project").strip() or project
    named = fields.text(front, "id")
    memory = Memory(
        id=named if named.startswith("mem_") else made_id("mem_", KIND, project, name),
        type=kind if kind in TYPES else "fact",
        title=fields.some_text(front, "title") or _heading(content) or title_of(content),
        content=content,
        concepts=tuple(one.lstrip("#") for one in _labels(front, _CONCEPTS)),
        files=_labels(front, _FILES),
        project=project,
        agent=fields.some_text(front, "agent"),
        session=fields.some_text(front, "session"),
        source={"kind": KIND, "file": name, **({"front": rest} if rest else {})},
        created_at=at if created is None else created,
        updated_at=updated or created or at,
        strength=min(10.0, max(0.0, fields.number(front, "strength", DEFAULT_STRENGTH))),
        expires_at=_moment(front, _EXPIRES),
    )
    return memory if created is not None else Untimed(memory)


def split(text: str) -> tuple[Mapping[str, Any], str]:
    """Part front matter from what follows; one that is no YAML is read line by line."""
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        return {}, text
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() in (_FENCE, "..."):
            return _front(lines[1:number]), "\n".join(lines[number + 1 :])
    return {}, text


def _front(lines: list[str]) -> Mapping[str, Any]:
    from dshloop.dsh_yaml import load

    try:
        value = load("\n".join(lines))
    except DshloopError:  # `title: Deploys: how` is common, and no YAML
        found = (_PAIR.match(line) for line in lines)
        return {pair[1]: pair[2].strip().strip("[]\"'") for pair in found if pair}
    return value if isinstance(value, dict) else {}


def _heading(content: str) -> str | None:
    first = content.split("\n", 1)[0]
    return first.lstrip("#").strip() or None if first.startswith("#") else None


def _labels(front: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[str, ...]:
    return next((found for key in keys if (found := fields.texts(front, key))), ())


def _moment(front: Mapping[str, Any], keys: tuple[str, ...]) -> float | None:
    found = (fields.moment(front, key) for key in keys)
    return next((moment for moment in found if moment is not None), None)


def _time(file: Path) -> float:
    return file.stat().st_mtime
