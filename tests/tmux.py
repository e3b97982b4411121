"""A real terminal for tests: tmux runs a program, keys are typed, the screen is read."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest


class Screen:
    """One program in a tmux pane of its own server."""

    def __init__(self, tmux: str, socket: str) -> None:
        self._tmux = [tmux, "-L", socket, "-f", os.devnull]

    def call(self, *words: str) -> str:
        """Run a tmux command and give what it prints."""
        return subprocess.run(
            [*self._tmux, *words], capture_output=True, text=True, check=True, timeout=20
        ).stdout

    def type(self, text: str) -> None:
        """Type text as it is."""
        self.call("send-keys", "-t", "0", "-l", text)

    def press(self, *keys: str) -> None:
        """Press named keys: Enter, Tab, C-c, C-d, …"""
        self.call("send-keys", "-t", "0", *keys)

    def text(self) -> str:
        """Give what is on the screen and in its history."""
        return self.call("capture-pane", "-t", "0", "-p", "-J", "-S", "-500")

    def wait(self, until: str | Callable[[str], bool], seconds: float = 20) -> str:
        """Wait until the screen shows a text; give the screen, fail with it when it never does."""
        deadline = time.monotonic() + seconds
        while True:
            shown = self.text()
            if until in shown if isinstance(until, str) else until(shown):
                return shown
            if time.monotonic() > deadline:
                pytest.fail(f"the terminal never showed {until!r}; it shows:\n{shown}")
            time.sleep(0.05)


@contextmanager
def terminal(
    command: Sequence[str],
    *,
    cwd: Path,
    variables: Mapping[str, str] | None = None,
    columns: int = 100,
    lines: int = 30,
) -> Iterator[Screen]:
    """Run a command in a terminal of this size; skip the test where tmux isn't installed."""
    tmux = shutil.which("tmux")
    if tmux is None:
        pytest.skip("tmux is not installed")
    screen = Screen(tmux, f"dshloop-test-{secrets.token_hex(4)}")
    size = ["-x", str(columns), "-y", str(lines)]
    named = {**variables} if variables else {}
    given = [word for name, value in named.items() for word in ("-e", f"{name}={value}")]
    screen.call("new-session", "-d", *size, "-c", str(cwd), *given, *command)
    try:
        yield screen
    finally:
        screen.call("kill-server")
