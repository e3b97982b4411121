"""The tool `read`: a text file of the workspace, by lines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from dshloop.files import shown
from dshloop.host.tools import ToolFailure
from dshloop.plugins.workspace_tools.offered import MOST_LINES
from dshloop.plugins.workspace_tools.workspace import Workspace

MOST_BYTES = 64 * 1024 * 1024
MOST_CHARACTERS = 50_000
LONGEST_LINE = 2000
_LOOKED_AT = 8192


def read(workspace: Workspace, path: str, offset: int = 1, limit: int = MOST_LINES) -> str:
    """Give a page of a file. Raises ToolFailure as `Workspace.file`, TOO_LARGE, BINARY_FILE."""
    with workspace.file(path) as (descriptor, found):
        if found.st_size > MOST_BYTES:
            said = f"{shown(path)} has {found.st_size} bytes, more than {MOST_BYTES}: search in it"
            raise ToolFailure(said, "TooLargeError", "TOO_LARGE")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            if is_binary(file.read(_LOOKED_AT)):
                said = f"{shown(path)} is binary, {found.st_size} bytes"
                raise ToolFailure(said, "BinaryFileError", "BINARY_FILE")
            file.seek(0)
            return _Page(offset, limit).of(file)


def is_binary(beginning: bytes) -> bool:
    """Tell a file that is no text by its beginning, as git does."""
    return b"\0" in beginning


@dataclass(slots=True)
class _Page:
    offset: int
    limit: int
    characters: int = 0
    more: bool = False
    last: int = 0  # the last line that was looked at

    def of(self, file: IO[bytes]) -> str:
        """Number the lines of the page, and say what comes behind them."""
        lines = list(self._lines(file))
        if not lines:
            return self._nothing()
        if self.more:
            shown_last = self.offset + len(lines) - 1
            lines.append(f"[lines {self.offset}-{shown_last}; go on with offset {shown_last + 1}]")
        return "\n".join(lines)

    def _lines(self, file: IO[bytes]) -> Iterator[str]:
        for number, raw in _numbered(file):
            self.last = number
            if number < self.offset:
                continue
            line = f"{number}\t{_line(raw)}"
            self.characters += len(line)
            first = number == self.offset
            full = number >= self.offset + self.limit
            if full or (self.characters > MOST_CHARACTERS and not first):
                self.more = True
                return
            yield line

    def _nothing(self) -> str:
        if not self.last:
            return "[the file is empty]"
        return f"[the file has {self.last} lines, none from {self.offset} on]"


def _numbered(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Number lines; what is longer than is shown is read past, never kept."""
    number = 0
    most = 4 * LONGEST_LINE + 1
    while raw := file.readline(most):
        number += 1
        rest = raw
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(1 << 16)
        yield number, raw


def _line(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace").rstrip("\r\n")
    if len(text) <= LONGEST_LINE:
        return text
    return f"{text[:LONGEST_LINE]}… [the line goes on]"
