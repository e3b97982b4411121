"""The cells of a matrix: every combination, in the order of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dshloop.errors import MatrixInvalidError
from dshloop.files import digest, require_text, shown
from dshloop.runs.matrix.checks import Check
from dshloop.runs.matrix.design import DriverChoice, Matrix, ModelChoice, Prompt, Subject
from dshloop.runs.matrix.file import MOST_CELLS
from dshloop.runs.profile import ProfileRows

if TYPE_CHECKING:
    from dshloop.loops.config import AgentEntry

AXES = ("agent", "loop", "driver", "model", "prompt", "repeat")
"""What tells one cell from another, and finds its like in another run."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_LONGEST_LABEL = 60


class Asked(NamedTuple):
    """What a cell's session is opened with, and what is said in it."""

    loop: str | None
    preset: str | None
    driver: str | None
    command: tuple[str, ...] | None
    provider: str | None
    model: str | None
    effort: str | None
    max_tokens: int | None
    turns: tuple[str, ...]
    checks: tuple[Check, ...]
    script: Path | None


class Cell(NamedTuple):
    """One combination; ``number`` counts from 1. ``skip`` says what it needs and lacks."""

    number: int
    agent: str | None
    loop: str | None
    driver: str | None
    model: str | None
    prompt: str
    repeat: int
    asked: Asked
    skip: str | None = None

    @property
    def axes(self) -> dict[str, Any]:
        """Give the values of `AXES`."""
        return {name: getattr(self, name) for name in AXES}

    def session(self, run: str) -> str:
        """Give the id of the cell's session in a run, which begins with the run's id."""
        parts = (self.agent, self.loop if self.agent is None else None, self.driver, self.model)
        label = "-".join(filter(None, (*parts, self.prompt, str(self.repeat))))
        label = re.sub(r"[^A-Za-z0-9._]+", "-", label)[:_LONGEST_LABEL].strip("-")
        return f"{run}-{self.number:03}-{label}"


def cells(
    matrix: Matrix, variables: Mapping[str, str], entries: Sequence[AgentEntry] = ()
) -> list[Cell]:
    """Make every combination.

    ``entries`` are the agents of the profile's dock row. A driver or model that an agent names
    isn't varied. Raises MATRIX_INVALID for an agent that the profile doesn't ask for.
    """
    known = {entry.id: entry for entry in entries}
    found: list[Cell] = []
    for subject in matrix.subjects:
        whole, provider = _resolved(matrix, subject, known)
        drivers = matrix.drivers if whole.driver is None else (_own_driver(matrix, whole.driver),)
        models = matrix.models if whole.model is None and provider is None else (ModelChoice(),)
        more = len(drivers) * len(models) * len(matrix.prompts) * matrix.repeats
        if len(found) + more > MOST_CELLS:
            raise MatrixInvalidError(f"{shown(matrix.path)} makes over {MOST_CELLS} cells")
        for driver, model, prompt, repeat in product(
            drivers, models, matrix.prompts, range(1, matrix.repeats + 1)
        ):
            cell = _cell(matrix, whole, provider, driver, model, prompt, repeat, variables)
            found.append(cell._replace(number=len(found) + 1))
    return found


def _resolved(
    matrix: Matrix, subject: Subject, known: Mapping[str, AgentEntry]
) -> tuple[Subject, str | None]:
    """Give a subject with what the profile says of it, and the provider that it names."""
    if not subject.entry:
        return subject, None
    entry = known.get(subject.id or "")
    if entry is None:
        raise MatrixInvalidError(
            f'{shown(matrix.path)}: the profile asks for no agent "{subject.id}"',
            hint="Describe it in the file, as {id: …, loop: …}, or name a profile that has it.",
            agent=subject.id,
            available=sorted(known),
        )
    whole = Subject(
        entry.id,
        entry.loop,
        None,
        entry.driver,
        entry.model,
        entry.reasoning_effort,
        entry.max_tokens,
    )
    return whole, entry.provider


def _own_driver(matrix: Matrix, name: str) -> DriverChoice:
    """Give the file's driver of this name, or one that stands for itself."""
    return next((one for one in matrix.drivers if one.id == name), DriverChoice(name, name))


def _cell(
    matrix: Matrix,
    subject: Subject,
    provider: str | None,
    driver: DriverChoice,
    model: ModelChoice,
    prompt: Prompt,
    repeat: int,
    variables: Mapping[str, str],
) -> Cell:
    lacking = _lacking((*matrix.needs, *subject.needs, *driver.needs, *model.needs), variables)
    script = prompt.script or matrix.script
    if script is not None and driver.driver is None:  # as for `session run --script`
        driver = DriverChoice("fake", "fake")
    name, unset = _filled(model.model if subject.model is None else subject.model, variables)
    asked = Asked(
        subject.loop,
        subject.preset,
        driver.driver,
        driver.command,
        provider,
        name,
        model.effort if subject.effort is None else subject.effort,
        model.max_tokens if subject.max_tokens is None else subject.max_tokens,
        prompt.turns,
        prompt.checks,
        script,
    )
    return Cell(
        0,
        subject.id if matrix.of_agents else None,
        subject.loop,
        driver.id,
        _model_name(model, name, provider),
        prompt.id,
        repeat,
        asked,
        "; ".join([*lacking, *unset]) or None,
    )


def _model_name(model: ModelChoice, name: str | None, provider: str | None) -> str | None:
    """Say how tables call the model: as the file does, with its variables filled in."""
    if model.id is not None and model.id != model.model:
        return model.id
    return "/".join(filter(None, (provider, name))) or None


def _lacking(needs: Sequence[str], variables: Mapping[str, str]) -> Iterator[str]:
    """Say which variables aren't as they must be, each once."""
    for need in dict.fromkeys(needs):
        name, equals, value = need.partition("=")
        if equals and variables.get(name) != value:
            yield f"{name} is not {value}"
        elif not equals and not variables.get(name):
            yield f"{name} is not set"


def _filled(text: str | None, variables: Mapping[str, str]) -> tuple[str | None, list[str]]:
    """Put variables into a text; and say which aren't set."""
    if text is None:
        return None, []
    unset = [name for name in _VARIABLE.findall(text) if not variables.get(name)]
    return _VARIABLE.sub(lambda found: variables.get(found[1]) or found[0], text), [
        f"{name} is not set" for name in dict.fromkeys(unset)
    ]


def fingerprint(matrix: Matrix, planned: Sequence[Cell], rows: ProfileRows) -> str:
    """Tell in hex what a run goes by, so that one that goes on does the same.

    That is the file, its scripts, the cells (variables are filled in there), and the rows, loops
    and drivers of the profile.
    """
    scripts = {cell.asked.script for cell in planned} - {None}
    texts = [require_text(path).value for path in sorted(filter(None, scripts))]
    ran = [(row.id, row.name, row.config, row.needs, row.off) for row in rows.rows]
    file = rows.file
    docked = None if file is None else (file.loops, file.drivers)
    plan = [(cell.axes, cell.asked._replace(script=None)) for cell in planned]
    return digest(repr((matrix.text, texts, plan, ran, docked)).encode()) or ""
