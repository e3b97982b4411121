"""Memories as a folder of Markdown files with front matter, which `markdown` reads again.

A page is a memory as it is now: older versions, observations and sessions have none.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from dshloop.errors import OutputExistsError
from dshloop.files import shown, sync_folder, writing
from dshloop.json_text import json_text
from dshloop.memory.answers import Document, Record
from dshloop.memory.entries import Memory
from dshloop.memory.interchange.records import kind_of
from dshloop.memory.interchange.report import Report
from dshloop.times import iso_time

_SLUG = re.compile(r"[^\w]+")
_LONGEST = 50
_SHORT_ID = 12


def write_folder(
    path: Path, records: Iterator[Record], report: Report, told: Callable[[int], None]
) -> int:
    """Write a page for each memory into a new folder, which appears as a whole; give the bytes.

    Raises OUTPUT_EXISTS for a folder that has something in it, WRITE_FAILED.
    """
    with writing(path):
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise OutputExistsError(
                f"{shown(path)} is there already, and not an empty folder", file=shown(path)
            )
        beside = path.with_name(f".dshloop-{os.urandom(6).hex()}.tmp")
        beside.mkdir(mode=0o700)
        try:
            size = _write(beside, records, report, told)
            beside.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                shutil.rmtree(beside)
            raise
        sync_folder(path.parent)
        return size


def page(memory: Memory) -> str:
    """Give the text of a memory's page."""
    front = {
        "id": memory.id,
        "title": memory.title,
        "type": memory.type,
        "project": memory.project,
        "agent": memory.agent,
        "session": memory.session,
        "tags": list(memory.concepts),
        "files": list(memory.files),
        "strength": memory.strength,
        "created": iso_time(memory.created_at),
        "updated": iso_time(memory.updated_at),
        "expires": None if memory.expires_at is None else iso_time(memory.expires_at),
    }
    lines = [f"{key}: {json_text(value)}" for key, value in front.items() if value]
    return "\n".join(["---", *lines, "---", "", memory.content.rstrip("\n"), ""])


def page_name(memory: Memory) -> str:
    """Name the file of a page: words of its title, and enough of its id to be its own."""
    words = _SLUG.sub("-", memory.title.lower())[:_LONGEST].strip("-_")
    id_ = _SLUG.sub("-", memory.id.removeprefix("mem_"))
    return f"{words or 'memory'}-{id_[-_SHORT_ID:]}.md"


def _write(
    folder: Path, records: Iterator[Record], report: Report, told: Callable[[int], None]
) -> int:
    size = 0
    for record in records:
        if not isinstance(record, Memory):
            name = record.key if isinstance(record, Document) else record.id
            report.lose(f"a {kind_of(record)} has no page", name)
        elif not record.latest:
            report.lose("an older version has no page", record.id)
        else:
            size += _write_page(folder, record, report)
            report.outcomes["exported", "memory"] += 1
            told(size)
    return size


def _write_page(folder: Path, memory: Memory, report: Report) -> int:
    text = page(memory)
    data = text.encode("utf-8", "replace")
    if b"?" in data and data.decode() != text:
        report.lose("characters that UTF-8 can't hold became ?", memory.id)
    path = folder / page_name(memory)
    while path.exists():
        path = path.with_name(f"{path.stem}-.md")
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
    return len(data)
