"""What the tests of `dshloop memory` do over and over."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dshloop.cli.app import run
from dshloop.environment import Environment
from tests.running import Ran, Terminal, dshloop


class Keyboard(io.StringIO):
    """A terminal's input."""

    def isatty(self) -> bool:
        return True


def memory(*words: str, **more: Any) -> Ran:
    return dshloop("memory", *words, **more)


def remember(*words: str, **more: Any) -> str:
    """Remember a text in project p; give its id."""
    project = () if {"--project", "--global"} & {*words} else ("--project", "p")
    ran = memory("remember", *words, *project, "--quiet", **more)
    assert ran.code == 0, ran.err
    return ran.out.strip()


def observe(hook: str, session: str = "s1", project: str = "p", at: str | None = None,
            **data: Any) -> str:  # fmt: skip
    """Observe a hook's data; give the observation's id."""
    moment = () if at is None else ("--at", at)
    ran = memory("observe", hook, "--session", session, "--project", project, *moment, "--quiet",
                 "--data", json.dumps(data))  # fmt: skip
    assert ran.code == 0, ran.err
    return ran.out.strip()


def typed(*words: str, keys: str = "", variables: Mapping[str, str] | None = None) -> Ran:
    """Run a verb on a terminal, with what a user types."""
    out, err = Terminal(), Terminal()
    env = Environment(Keyboard(keys), out, err, {**os.environ, **(variables or {})}, Path.cwd())
    code = run(["memory", *words], env)
    return Ran(code, out.getvalue(), err.getvalue())


def ids(*words: str) -> list[str]:
    """Give the ids that a listing verb prints."""
    ran = memory(*words, "--json")
    assert ran.code == 0, ran.err
    return [row["id"] for row in ran.json]
