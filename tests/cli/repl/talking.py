"""A conversation held in process: keys from a pipe, what is written as text."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from dshloop.cli.invocation import Invocation
from dshloop.cli.repl import converse
from dshloop.cli.repl.lines import Lines
from dshloop.cli.repl.talk import Left
from dshloop.drivers.script import Script, parse_script
from dshloop.environment import Environment
from dshloop.runs.talking.conversation import RunOptions

HOME = Path("/home/dev")


class Watched(io.StringIO):
    """An output that calls a function when a text has been written to it."""

    def __init__(self, wanted: str = "", act: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        self.wanted, self.act = wanted, act

    def write(self, text: str) -> int:
        count = super().write(text)
        if self.wanted and self.wanted in self.getvalue():
            self.wanted = ""
            self.act()
        return count


def script(*turns: str) -> Script:
    """Make a script of the fake driver: each turn as a line of YAML."""
    return parse_script("turns:\n" + "".join(f"  - {turn}\n" for turn in turns))


@contextmanager
def answering(piped: PipeInput, keys: str | Callable[[], object] | None) -> Iterator[list[str]]:
    """Have keys typed, or something done, a moment after a question was asked; gives those."""
    asked: list[str] = []
    real = Lines.ask

    async def ask(lines: Lines, question: str) -> bool:
        asked.append(question)
        if keys is not None:
            act = keys if callable(keys) else partial(piped.send_text, keys)
            asyncio.get_running_loop().call_later(0.1, act)
        return await real(lines, question)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lines, "ask", ask)
        yield asked


def talk(
    keys: str,
    out: io.StringIO | None = None,
    *,
    answer: str | Callable[[], object] | None = None,
    cwd: Path = HOME,
    **more: Any,
) -> tuple[Left, str]:
    """Type keys in a conversation, and an answer when a question is asked; gives what was shown."""
    out = io.StringIO() if out is None else out
    env = Environment(io.StringIO(), out, io.StringIO(), os.environ, cwd)
    options = RunOptions(cwd, "test", **{"driver": "fake", **more})
    with create_pipe_input() as piped, answering(piped, answer):
        piped.send_text(keys)
        left = converse(Invocation(env), options, keys=piped, screen=DummyOutput())
    return left, out.getvalue()
