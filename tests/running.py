"""Running the command line in tests: in process on fake streams, or as a real process."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.cli.app import run
from dshloop.environment import Environment


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@dataclass(frozen=True)
class Ran:
    """What one run of the command line did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """The error on stderr of a run with --json."""
        return json.loads(self.err)["error"]

    @property
    def lines(self) -> list[Any]:
        """The records of a stream with --json."""
        return [json.loads(line) for line in self.out.splitlines()]


def dshloop(
    *words: str,
    stdin: str = "",
    cwd: Path | None = None,
    variables: Mapping[str, str] | None = None,
    tty: bool = False,
) -> Ran:
    """Run a command line in this process; `tty` makes stdout and stderr terminals."""
    out, err = (Terminal(), Terminal()) if tty else (io.StringIO(), io.StringIO())
    env = Environment(
        io.StringIO(stdin), out, err, {**os.environ, **(variables or {})}, cwd or Path.cwd()
    )
    code = run(words, env)
    return Ran(code, out.getvalue(), err.getvalue())


def process(
    *words: str, stdin: str | None = None, env: Mapping[str, str] | None = None, **more: Any
) -> subprocess.CompletedProcess[str]:
    """Run a command line as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "dshloop", *words],
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        **more,
    )


def run_script(command: Sequence[str], **more: Any) -> subprocess.CompletedProcess[str]:
    """Run another program and give what it did."""
    return subprocess.run(
        list(command), capture_output=True, text=True, timeout=120, check=False, **more
    )
