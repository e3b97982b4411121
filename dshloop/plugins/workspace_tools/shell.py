"""The tool `shell`: a command in the workspace, with limits, without the keys of models."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from dshloop.files import why
from dshloop.host.abort import AbortSignal
from dshloop.host.tools import ToolFailure
from dshloop.plugins.workspace_tools.offered import SECONDS
from dshloop.plugins.workspace_tools.process import Exit, Limits, run
from dshloop.plugins.workspace_tools.workspace import Workspace
from dshloop.redact import is_telling

HEAD, TAIL = 20_000, 10_000

_KEY = re.compile(r"(?i)(?:^|_)(?:API_?)?KEY(?:$|_)|_AUTH(?:$|_)|^AUTHORIZATION$")


async def shell(
    workspace: Workspace,
    command: str,
    signal: AbortSignal,
    environment: Mapping[str, str],
    seconds: int = SECONDS,
) -> str:
    """Run a command; give what it said. Raises ToolFailure: COMMAND_FAILED, TIMEOUT, ABORTED."""
    if "\0" in command:
        raise ToolFailure("a command holds no null character", "ShellError", "COMMAND_FAILED")
    output = _Output()
    try:
        ended = await run(
            _interpreter(command),
            b"",
            Limits(seconds),
            output.take,
            signal,
            cwd=workspace.root,
            environment=environment,
        )
    except OSError as error:
        said = f"the shell can't be started: {why(error)}"
        raise ToolFailure(said, "ShellError", "NOT_STARTED") from error
    return _told(ended, output.text(), seconds)


def without_keys(variables: Mapping[str, str], keys: Collection[str] = ()) -> dict[str, str]:
    """Give the variables without those that hold keys: ``keys`` of providers, telling names."""
    return {
        name: value
        for name, value in variables.items()
        if name not in keys and not is_telling(name) and not _KEY.search(name)
    }


def _interpreter(command: str) -> list[str]:
    return ["cmd", "/c", command] if sys.platform == "win32" else ["/bin/sh", "-c", command]


def _told(ended: Exit, text: str, seconds: int) -> str:
    """Give the output with how it ended. Raises ToolFailure for what didn't end well."""
    text = text.rstrip("\n")
    before = f"{text}\n" if text else ""
    if ended.why == "time":
        raise ToolFailure(f"{before}[ended after {seconds} s]", "TimeoutError", "TIMEOUT")
    if ended.why == "abort":
        raise ToolFailure(f"{before}[stopped]", "AbortError", "ABORTED")
    if ended.why == "output":
        said = f"{before}[ended: it wrote too much]"
        raise ToolFailure(said, "OutputLimitError", "OUTPUT_LIMIT")
    if ended.code:
        raise ToolFailure(f"{before}[exit code {ended.code}]", "ShellError", "COMMAND_FAILED")
    return text or "[no output, exit code 0]"


@dataclass(slots=True)
class _Output:
    """The beginning and the end of what was written."""

    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    length: int = 0

    def take(self, data: bytes) -> bool:
        """Take output in."""
        self.length += len(data)
        free = HEAD - len(self.head)
        self.head += data[:free]
        self.tail += data[max(free, 0) :]
        del self.tail[: max(len(self.tail) - TAIL, 0)]
        return True

    def text(self) -> str:
        """Give what is kept as text, with how much is left out between."""
        out = self.length - len(self.head) - len(self.tail)
        if not out:
            return (self.head + self.tail).decode("utf-8", "replace")
        middle = f"\n[{out} bytes left out]\n"
        head, tail = (part.decode("utf-8", "replace") for part in (self.head, self.tail))
        return head + middle + tail
