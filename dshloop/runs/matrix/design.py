"""What a matrix is made of, as its file says it; nothing here reads or runs anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from dshloop.loops.loops_file import LoopsFile
from dshloop.runs.matrix.checks import Check


class Subject(NamedTuple):
    """An agent, or a loop: what it names itself is not varied."""

    id: str | None = None
    loop: str | None = None
    preset: str | None = None
    driver: str | None = None
    model: str | None = None
    effort: str | None = None
    max_tokens: int | None = None
    needs: tuple[str, ...] = ()
    entry: bool = False  # ``id`` is an agent of the profile's dock row, which says the rest


class DriverChoice(NamedTuple):
    """A driver under the name it has in tables; ``command`` starts the agent of `acp`."""

    id: str | None = None
    driver: str | None = None
    command: tuple[str, ...] | None = None
    needs: tuple[str, ...] = ()


class ModelChoice(NamedTuple):
    """A model, ``PROVIDER/MODEL``; ``${NAME}`` in it stands for a variable."""

    id: str | None = None
    model: str | None = None
    effort: str | None = None
    max_tokens: int | None = None
    needs: tuple[str, ...] = ()


class Prompt(NamedTuple):
    """What is said, turn by turn, and what the last answer must be like."""

    id: str
    turns: tuple[str, ...]
    checks: tuple[Check, ...] = ()
    script: Path | None = None


@dataclass(frozen=True, slots=True)
class Matrix:
    """A file that was read. Without an axis there is one choice that says nothing.

    ``timeout`` is in seconds and for one cell; ``needs`` are variables (NAME or NAME=VALUE)
    without which cells are skipped; ``defined`` holds the loops and drivers the file brings.
    """

    path: Path
    text: str
    subjects: tuple[Subject, ...]
    drivers: tuple[DriverChoice, ...]
    models: tuple[ModelChoice, ...]
    prompts: tuple[Prompt, ...]
    of_agents: bool = False
    repeats: int = 1
    timeout: float = 300.0
    needs: tuple[str, ...] = ()
    script: Path | None = None
    cwd: Path | None = None
    workspace: Path | None = None
    allow: tuple[str, ...] = ()
    allow_partial: bool = False
    defined: LoopsFile = field(default_factory=LoopsFile)
