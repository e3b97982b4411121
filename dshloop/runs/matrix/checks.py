"""What an answer must be like: a text in it, a pattern, the exit code of a command."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dshloop.host.abort import AbortSignal

Kind = Literal["contains", "lacks", "regex", "command"]
KINDS: tuple[Kind, ...] = ("contains", "lacks", "regex", "command")
COMMAND_SECONDS = 60.0
_SHOWN = 200  # characters of a command's last words


class Check(NamedTuple):
    """One check; ``words`` and ``exit`` are a command's, which gets the answer on stdin."""

    kind: Kind
    text: str
    words: tuple[str, ...] = ()
    exit: int = 0
    seconds: float = COMMAND_SECONDS

    @property
    def name(self) -> str:
        """What tables and records call it."""
        return f"{self.kind} {self.text}"


class Verdict(NamedTuple):
    """What came of a check; ``why`` says what was wrong."""

    check: str
    passed: bool
    why: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Give it as a record holds it."""
        return self._asdict()


async def verdict(
    check: Check, answer: str, cwd: Path, variables: Mapping[str, str], stop: AbortSignal
) -> Verdict:
    """Check an answer; a command runs in ``cwd`` and is ended by ``stop``."""
    if check.kind == "command":
        why = await _command(check, answer, cwd, variables, stop)
    elif check.kind == "regex":
        why = None if re.search(check.text, answer, re.M) else "nothing in the answer fits"
    elif check.kind == "lacks":
        why = "the answer has it" if check.text in answer else None
    else:
        why = None if check.text in answer else "the answer lacks it"
    return Verdict(check.name, why is None, why)


async def _command(
    check: Check, answer: str, cwd: Path, variables: Mapping[str, str], stop: AbortSignal
) -> str | None:
    from asyncio import CancelledError

    from dshloop.plugins.workspace_tools.process import Limits, run

    said = bytearray()

    def take(data: bytes) -> bool:
        said.extend(data)
        del said[: -4 * _SHOWN]
        return True

    try:
        ended = await run(
            check.words,
            answer.encode("utf-8", "surrogatepass"),
            Limits(check.seconds, most_bytes=sys.maxsize),  # its last words are all that is kept
            take,
            stop,
            cwd=cwd,
            environment=variables,
        )
    except OSError as fault:
        why = (fault.strerror or str(fault)) if cwd.is_dir() else f"there is no folder {cwd}"
        return f"{check.words[0]} can't be run: {why}"
    if ended.why == "time":
        return f"it took more than {check.seconds:g} s"
    if ended.why == "abort":
        raise CancelledError
    if ended.code == check.exit:
        return None
    words = " ".join(said.decode("utf-8", "replace").split())[-_SHOWN:]
    return f"exit code {ended.code}, not {check.exit}" + (f": {words}" if words else "")
