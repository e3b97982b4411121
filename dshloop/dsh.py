"""The user's own dsh, node and pnpm: where they are, which version, and how they are run."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dshloop.errors import ProgramFailedError

NAMES = ("dsh", "node", "pnpm")
_PATIENCE = 10.0  # seconds for a version, which takes a fifth of one
_VERSION = re.compile(r"\d+\.\d+[^\s,;)]*")


@dataclass(frozen=True, slots=True)
class Program:
    """A program found on PATH: ``path`` as PATH has it, ``entry`` the entry it was found under."""

    name: str
    path: Path
    entry: Path

    @property
    def real(self) -> Path:
        """The file behind every link, which tells two installations apart."""
        return self.path.resolve()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: exit status and what it wrote (empty where that went to a file).

    ``errors`` is its stderr where that was asked for apart.
    """

    status: int
    output: str
    errors: str = ""


def find_program(name: str, variables: Mapping[str, str]) -> Program | None:
    """Find a program on ``PATH`` without starting anything; None when it isn't there.

    Relative entries of PATH are left out: they would run what happens to lie in the working
    directory.
    """
    for entry in variables.get("PATH", "").split(_separator()):
        if not entry or not Path(entry).is_absolute():
            continue
        found = shutil.which(name, path=entry)
        if found is not None:
            return Program(name, Path(found), Path(entry))
    return None


def find_programs(variables: Mapping[str, str]) -> dict[str, Program | None]:
    """Find all three at once, for `doctor`."""
    return {name: find_program(name, variables) for name in NAMES}


def version_of(program: Program, variables: Mapping[str, str]) -> str | None:
    """Ask a program for its version; None when it fails or says nothing like one."""
    try:
        ended = run_program(program, ["--version"], variables=variables, timeout=_PATIENCE)
    except ProgramFailedError:
        return None
    found = _VERSION.search(ended.output)
    return found.group() if found and ended.status == 0 else None


def run_program(
    program: Program,
    args: Sequence[str],
    *,
    variables: Mapping[str, str],
    cwd: Path | None = None,
    log: IO[bytes] | None = None,
    timeout: float | None = None,
    apart: bool = False,
) -> Ended:
    """Run a program to its end, stdin closed, stdout and stderr together into ``log``.

    Without ``log`` the output is captured; ``apart`` captures stderr on its own. Raises
    ProgramFailedError (PROGRAM_FAILED) when it can't be started or passes ``timeout`` seconds; a
    nonzero status is the caller's to judge.
    """
    import subprocess

    try:
        done = subprocess.run(
            [str(program.path), *args],
            stdin=subprocess.DEVNULL,
            stdout=log if log is not None else subprocess.PIPE,
            stderr=subprocess.PIPE if apart else subprocess.STDOUT,
            cwd=cwd,
            env=dict(variables),
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ProgramFailedError(
            f"{program.path} did not answer within {timeout:g} seconds", path=str(program.path)
        ) from None
    except OSError as fault:
        raise ProgramFailedError(
            f"{program.name} could not be run: {fault}", path=str(program.path)
        ) from fault
    return Ended(done.returncode, _text(done.stdout), _text(done.stderr))


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


def _separator() -> str:
    import os

    return os.pathsep
