"""The process's surroundings as one value that is passed in, never looked up.

Tests and the REPL run commands in process by handing in another one.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO


@dataclass(frozen=True, slots=True)
class Environment:
    """Streams, variables, working directory and clock of one run; the clock gives Unix seconds."""

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    variables: Mapping[str, str]
    cwd: Path
    clock: Callable[[], float] = time.time

    @classmethod
    def real(cls) -> Environment:
        """Take everything from this process; text that a locale can't show becomes escapes."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        return cls(sys.stdin, sys.stdout, sys.stderr, os.environ, _working_directory())

    @property
    def stdin_tty(self) -> bool:
        """Whether a person types the input."""
        return _is_tty(self.stdin)

    @property
    def stdout_tty(self) -> bool:
        """Whether a person reads the answer."""
        return _is_tty(self.stdout)

    @property
    def stderr_tty(self) -> bool:
        """Whether a person reads notices and progress."""
        return _is_tty(self.stderr)

    @property
    def interactive(self) -> bool:
        """Whether a conversation is possible: a terminal on both sides."""
        return self.stdin_tty and self.stdout_tty

    @property
    def color(self) -> bool:
        """Whether styles may be sent to stdout (NO_COLOR and TERM=dumb say no)."""
        plain = self.variables.get("NO_COLOR") or self.variables.get("TERM") == "dumb"
        return self.stdout_tty and not plain

    @property
    def width(self) -> int:
        """Columns of the terminal: $COLUMNS, else what the terminal says, else 80."""
        named = self.variables.get("COLUMNS", "")
        if named.isdecimal() and len(named) < 9 and int(named) > 0:
            return int(named)
        try:
            return os.get_terminal_size(self.stdout.fileno()).columns or 80
        except (OSError, ValueError, AttributeError):
            return 80

    def ask(self, question: str) -> bool:
        """Ask a yes-or-no question on stderr; no without a terminal to answer it."""
        if not (self.stdin_tty and self.stderr_tty):
            return False
        self.stderr.write(f"{question} [y/N] ")
        self.stderr.flush()
        return self.stdin.readline().strip().lower() in ("y", "yes")


def _is_tty(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:  # removed under our feet
        return Path(os.environ.get("PWD", "/"))
