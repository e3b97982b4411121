"""Asking a dsh what a list of bundles composes to, in a home that is thrown away."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from dshloop.dsh import Ended, Program, run_program
from dshloop.dsh_yaml import Value, load
from dshloop.errors import DshYamlInvalidError, ProgramFailedError
from dshloop.profiles.compose import Warned
from dshloop.profiles.inbox.difference import plain
from dshloop.profiles.patch import Row

PROBE = "dshloop-probe"
NOT_THERE = "Error: dsh: cannot resolve profile bundle "
_TIMEOUT = 20.0  # seconds for one dump, which takes a quarter of one
_PROFILE = "inbox"
_SKIPPED = "dsh: skipping profile bundle "
_WARNED = re.compile(r"dsh: \[(.*?)\] (patch.*)")
# 0.1.2 ends at the first bundle that 0.2.1 skips
_ENDED = re.compile(r'^Error: dsh: (?:cannot resolve )?profile bundle "(.*?)" .*$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Answer:
    """What dsh made of a bundle list: the dump, its warnings, and the bundles it did without."""

    text: str
    rows: list[Value]
    warnings: list[Warned]
    skipped: dict[str, str]


class Ask(Protocol):
    """Something that answers as dsh does; ``probe`` are rows of a lowest layer, `PROBE`."""

    def __call__(self, bundles: Sequence[str], probe: Sequence[Row] = ()) -> Answer: ...


@dataclass(frozen=True, slots=True)
class Questions:
    """Default dumps of one dsh in a folder of our own; the same question is asked once.

    Raises ProgramFailedError (PROGRAM_FAILED) when dsh gives no answer.
    """

    program: Program
    variables: Mapping[str, str]
    home: Path
    _known: dict[str, Answer] = field(default_factory=dict)

    def __call__(self, bundles: Sequence[str], probe: Sequence[Row] = ()) -> Answer:
        key = plain([list(bundles), list(probe)])
        if key not in self._known:
            self._known[key] = self._ask(list(bundles), probe)
        return self._known[key]

    def _ask(self, bundles: list[str], probe: Sequence[Row]) -> Answer:
        folder = self.home / "profiles" / _PROFILE
        if probe:
            _write_probe(folder / "node_modules" / PROBE, probe)
        skipped: dict[str, str] = {}
        while True:
            _write_profile(folder, [PROBE, *bundles] if probe else bundles)
            ended = self._dump()
            if ended.status == 0:
                return _answer(ended, skipped)
            culprit = _ENDED.search(ended.errors)
            if culprit is None or culprit[1] not in bundles:
                raise _unanswered(self.program, ended)
            skipped[culprit[1]] = culprit[0]
            bundles = [name for name in bundles if name != culprit[1]]

    def _dump(self) -> Ended:
        return run_program(
            self.program,
            ["--profile", _PROFILE, "--dump-default-config"],
            variables={
                **self.variables,
                "DSH_HOME": str(self.home),
                "DSH_TELEMETRY_DISABLED": "1",
            },
            cwd=self.home,
            timeout=_TIMEOUT,
            apart=True,
        )


def _write_profile(folder: Path, bundles: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    value = {"dsh": {"profile": {"bundles": list(bundles)}}}
    (folder / "package.json").write_text(json.dumps(value), encoding="utf-8")


def _write_probe(folder: Path, rows: Sequence[Row]) -> None:
    """Write a bundle that inserts rows; JSON is YAML."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {"name": PROBE, "version": "0.0.0", "dsh": {"bundle": {"patch": "probe.yml"}}}
    (folder / "package.json").write_text(json.dumps(manifest), encoding="utf-8")
    (folder / "probe.yml").write_text(json.dumps([{"insert": list(rows)}]), encoding="utf-8")


def _answer(ended: Ended, skipped: dict[str, str]) -> Answer:
    said = ended.errors.splitlines()
    warnings = [Warned(*found.groups()) for line in said if (found := _WARNED.fullmatch(line))]
    try:
        rows = load(ended.output, source="dump") or []
    except DshYamlInvalidError as fault:
        raise ProgramFailedError(f"dsh's dump can't be read: {fault.message}") from fault
    if not isinstance(rows, list):
        raise ProgramFailedError("dsh's dump is no list of rows")
    return Answer(ended.output, rows, warnings, {**skipped, **dict(_skips(said))})


def _skips(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the bundles that dsh skipped, with reasons that may go over several lines."""
    decoder = json.JSONDecoder()
    for number, line in enumerate(lines):
        if not line.startswith(_SKIPPED + '"'):
            continue
        name, end = decoder.raw_decode(line, len(_SKIPPED))
        more = []
        for following in lines[number + 1 :]:
            if following.startswith("dsh: "):
                break
            more.append(following)
        yield name, "\n".join([line[end:].removeprefix(": "), *more])


def _unanswered(program: Program, ended: Ended) -> ProgramFailedError:
    said = [line for line in ended.errors.splitlines() if "rror: " in line] or [
        line for line in ended.errors.splitlines() if line.strip()
    ]
    why = said[0].strip() if said else f"it ended with status {ended.status}"
    return ProgramFailedError(f"{program.path} doesn't dump its bundles: {why}")
