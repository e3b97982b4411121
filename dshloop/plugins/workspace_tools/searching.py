"""The tool `search`: lines of the workspace's files, bounded in time and length."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dshloop.host.abort import AbortSignal
from dshloop.host.tools import ToolFailure
from dshloop.plugins.workspace_tools.process import Limits, run
from dshloop.plugins.workspace_tools.workspace import Workspace

MOST = 200
MOST_BYTES = 60_000
SECONDS = 20.0


async def search(
    workspace: Workspace, asked: Mapping[str, Any], signal: AbortSignal, seconds: float = SECONDS
) -> str:
    """Give ``path:line: text`` of what is found. Raises ToolFailure: BAD_PATTERN, as `Workspace`.

    The regular expression runs in a process of its own, which is ended when its time is over.
    """
    found = _Found()
    ended = await run(
        [sys.executable, "-P", "-m", "dshloop.plugins.workspace_tools.scan"],
        json.dumps({**asked, "root": str(workspace.root)}).encode(),
        Limits(seconds),
        found.take,
        signal,
    )
    if found.error is not None:
        raise ToolFailure(found.error["error"], "SearchError", found.error["code"])
    if not found.whole and not found.full and ended.why is None:
        raise ToolFailure("the search ended before it was done", "SearchError", "SEARCH_FAILED")
    return found.text(ended.why, seconds)


@dataclass(slots=True)
class _Found:
    """What has come so far; ``full`` when no more is wanted."""

    lines: list[str] = field(default_factory=list)
    error: Mapping[str, str] | None = None
    whole: bool = False
    full: bool = False
    length: int = 0
    _rest: bytes = b""

    def take(self, data: bytes) -> bool:
        """Take output in; False ends the process."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._line(json.loads(line))
        return not self.full

    def _line(self, value: Any) -> None:
        if isinstance(value, dict):
            self.whole = "end" in value
            self.error = value if "error" in value else None
        elif len(self.lines) >= MOST or self.length > MOST_BYTES:
            self.full = True
        else:
            path, number, text = value
            self.lines.append(f"{path}:{number}: {text}")
            self.length += len(self.lines[-1])

    def text(self, why: str | None, seconds: float) -> str:
        """Say what was found, and whether that is all."""
        lines = list(self.lines)
        if self.full:
            lines.append(f"[more than these {len(lines)}: ask for less, by path or glob]")
        elif why == "time":
            lines.append(f"[stopped after {seconds:g} s; this is what was found until then]")
        elif why == "abort":
            lines.append("[stopped]")
        return "\n".join(lines) or "[nothing found]"
