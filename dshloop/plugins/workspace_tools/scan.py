"""The process that searches: a request on standard input, a JSON line a match on standard output.

A regular expression can take for ever and can't be stopped from within; a process can be ended.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from dshloop.files import shown
from dshloop.host.tools import ToolFailure
from dshloop.plugins.workspace_tools.reading import is_binary
from dshloop.plugins.workspace_tools.walking import Found, rules_above, walk
from dshloop.plugins.workspace_tools.workspace import Workspace

LARGEST = 8 * 1024 * 1024
LONGEST_LINE = 300
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

Match = tuple[str, int, str]
Test = Callable[[str], bool]


def matches(asked: Mapping[str, Any]) -> Iterator[Match]:
    """Yield path, line number and line of what is found. Raises ToolFailure, re.error."""
    test = test_of(asked)
    workspace = Workspace(Path(asked["root"]))
    path = asked.get("path") or "."
    try:
        with workspace.folder(path) as (folder, real):
            for found in walk(folder, real, rules_above(workspace.root, real)):
                if found.is_file and _is_named(found, asked.get("glob")):
                    yield from _in_file(found, test)
    except ToolFailure as error:
        if error.fault.code != "NOT_READABLE":
            raise
        with workspace.file(path) as (descriptor, _):
            yield from _lines(shown(path), _content(os.dup(descriptor)), test)


def test_of(asked: Mapping[str, Any]) -> Test:
    """Make what looks at a line. Raises re.error."""
    query: str = asked["query"]
    if asked.get("regex"):
        pattern = re.compile(query, re.IGNORECASE if asked.get("ignore_case") else 0)
        return lambda line: pattern.search(line) is not None
    if asked.get("ignore_case"):
        lower = query.casefold()
        return lambda line: lower in line.casefold()
    return lambda line: query in line


def _is_named(found: Found, glob: str | None) -> bool:
    if glob is None:
        return True
    return fnmatchcase(found.path if "/" in glob else found.name, glob)


def _in_file(found: Found, test: Test) -> Iterator[Match]:
    try:
        descriptor = os.open(found.name, _FILE, dir_fd=found.folder)
    except OSError:
        return
    yield from _lines(shown(found.path), _content(descriptor), test)


def _content(descriptor: int) -> bytes:
    """Read a file that is text and not too large, else nothing."""
    from stat import S_ISREG

    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode) or status.st_size > LARGEST:
            return b""
        data = file.read(LARGEST)
    return b"" if is_binary(data[:8192]) else data


def _lines(path: str, data: bytes, test: Test) -> Iterator[Match]:
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        line = line.rstrip("\r")
        if line and test(line):
            cut = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"
            yield path, number, cut


def main() -> None:
    """Answer the request; what is wrong with it is one line ``{"error", "code"}``."""
    asked = json.load(sys.stdin)
    try:
        for match in matches(asked):
            sys.stdout.write(f"{json.dumps(match)}\n")
            sys.stdout.flush()
        answer: dict[str, str] = {"end": "all"}
    except re.error as error:
        answer = {"error": f"the regular expression is wrong: {error}", "code": "BAD_PATTERN"}
    except ToolFailure as error:
        answer = {"error": str(error), "code": error.fault.code}
    sys.stdout.write(f"{json.dumps(answer)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
