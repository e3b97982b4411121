"""Which program wrote a log, and the logs in a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from dshloop.errors import DshloopError
from dshloop.transcripts import claude_code, codex, dsh_happenings
from dshloop.transcripts.framing import ZSTD_MAGIC
from dshloop.transcripts.happenings import Happening, Outline
from dshloop.transcripts.records import lines, open_log
from dshloop.transcripts.vocabulary import LOG_NAMES

_LOOKED_AT = 50  # lines
_SUFFIXES = (".jsonl", ".zstd")


class Reader(NamedTuple):
    """How logs of a program are read."""

    program: str
    outline: Callable[[Path], Outline]
    happenings: Callable[[Path], Iterator[Happening]]


DSH = Reader(dsh_happenings.PROGRAM, dsh_happenings.outline, dsh_happenings.happenings)
CLAUDE_CODE = Reader(claude_code.PROGRAM, claude_code.outline, claude_code.happenings)
CODEX = Reader(codex.PROGRAM, codex.outline, codex.happenings)
READERS = (DSH, CLAUDE_CODE, CODEX)


def reader_of(path: Path) -> Reader | None:
    """Tell which program wrote a log, by its first lines; None for a file of another kind.

    Raises SESSION_NOT_FOUND, SESSION_UNREADABLE.
    """
    with open_log(path) as file:
        if file.read(len(ZSTD_MAGIC)) == ZSTD_MAGIC:
            return DSH
    for line in lines(path):
        value = line.value
        if value.get("type") == "session" and "version" in value:
            return DSH
        if codex.is_transcript(value):
            return CODEX
        if claude_code.is_transcript(value):
            return CLAUDE_CODE
        if "seq" in value and "data" in value:  # a log of ours whose header is damaged
            return DSH
        if line.number >= _LOOKED_AT:
            break
    return None


def logs_in(path: Path) -> Iterator[Path]:
    """Give the logs of a folder, in order; of a session's own folder the newest format."""
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        ours = next((name for name in LOG_NAMES if name in names), None)
        for name in sorted(names):
            if name.endswith(_SUFFIXES) and (name not in LOG_NAMES or name == ours):
                yield Path(folder) / name


def readable(path: Path) -> Reader | None:
    """Like `reader_of`, None also for what can't be opened."""
    try:
        return reader_of(path)
    except DshloopError:
        return None
