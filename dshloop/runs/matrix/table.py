"""The records of a run as people look at them: a table of cells, sums by axis, one line of all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dshloop.errors import UsageError
from dshloop.result import Table
from dshloop.runs.matrix.plan import AXES
from dshloop.runs.matrix.record import Record, Run
from dshloop.terminal import one_line

_TEXT_WIDTH = 48


def counts(records: Iterable[Record], total: int) -> dict[str, int]:
    """Count cells: all, finished, passed, failed, skipped."""
    found = list(records)
    return {
        "cells": total,
        "finished": len(found),
        "passed": sum(record.get("passed") is True for record in found),
        "failed": sum(record.get("passed") is False for record in found),
        "skipped": sum(record.get("passed") is None for record in found),
    }


def summary(records: Iterable[Record], total: int) -> str:
    """Say in a line how a run stands."""
    found = counts(records, total)
    open_cells = found["cells"] - found["finished"]
    parts = [f"{found['passed']} passed"]
    parts += [f"{found[name]} {name}" for name in ("failed", "skipped") if found[name]]
    parts += [f"{open_cells} not run yet"] if open_cells else []
    return f"{total} cell{'' if total == 1 else 's'}: {', '.join(parts)}"


def reasons(records: Iterable[Record]) -> list[str]:
    """Say why cells were skipped or couldn't begin, each reason once."""
    found: dict[str, int] = {}
    for record in records:
        failure = record.get("failure")
        if record.get("outcome") in ("skipped", "unavailable", "crashed") and failure:
            hint = f". {failure['hint']}" if failure.get("hint") else ""
            reason = f"{record['outcome']}: {failure['message']}{hint}"
            found[reason] = found.get(reason, 0) + 1
    return [f"{times} {reason}" for reason, times in found.items()]


def cells_table(records: Mapping[int, Record]) -> Table:
    """Give a row a cell; of the axes those that tell cells apart, or were given."""
    shown = [axis for axis in AXES if _tells(axis, records.values())]
    columns = ("#", *(axis.upper() for axis in shown), *_COLUMNS)
    rows = [
        (str(number), *(_name(record.get(axis)) for axis in shown), *_cells(record))
        for number, record in records.items()
    ]
    return Table(columns, rows, empty="no cell has ended yet")


_COLUMNS = ("OUTCOME", "CHECKS", "STEPS", "CALLS", "TOKENS", "SECONDS", "TEXT")


def by_axes(records: Iterable[Record], axes: Sequence[str]) -> tuple[list[dict[str, Any]], Table]:
    """Sum cells up that are alike in some axes: how many passed, and means of the rest."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(record.get(axis) for axis in axes), []).append(record)
    found = [{**dict(zip(axes, key, strict=True)), **_sums(of)} for key, of in groups.items()]
    rows = [
        (
            *(_name(one[axis]) for axis in axes),
            f"{one['passed']}/{one['cells']}",
            *(f"{one[name]:.1f}" for name in ("steps", "tool_calls", "tokens")),
            f"{one['seconds']:.2f}",
        )
        for one in found
    ]
    names = ("PASSED", "STEPS", "CALLS", "TOKENS", "SECONDS")
    return found, Table((*(axis.upper() for axis in axes), *names), rows, empty="no cells")


def read_axes(text: str) -> tuple[str, ...]:
    """Read ``--by``: axes with commas between. Raises USAGE."""
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for one in found:
        if one not in AXES:
            raise UsageError(f'--by takes {", ".join(AXES)}, not "{one}"', option="--by")
    return found


def runs_table(found: Sequence[tuple[Run, dict[str, Any]]]) -> Table:
    """Give a row a run, the newest first."""
    rows = [
        (
            run.id,
            run.about.created_at[:16].replace("T", " "),
            f"{data['finished']}/{data['cells']}",
            str(data["passed"]),
            str(data["failed"]),
            data["state"],
            run.about.file,
        )
        for run, data in found
    ]
    columns = ("RUN", "BEGUN", "CELLS", "PASSED", "FAILED", "STATE", "FILE")
    return Table(columns, rows, empty="no matrix was run yet")


def run_json(run: Run, records: Iterable[Record]) -> dict[str, Any]:
    """Give a run as JSON: what it is, and how it stands."""
    found = counts(records, run.about.cells)
    complete = found["finished"] >= found["cells"]
    state = "complete" if complete else "running" if run.running else "unfinished"
    about = {key: value for key, value in run.about._asdict().items() if key != "fingerprint"}
    return {**about, **found, "state": state}


def tokens_of(record: Record) -> int:
    """Give the tokens of a cell, in and out."""
    tokens = record.get("tokens") or {}
    return int(tokens.get("input", 0)) + int(tokens.get("output", 0))


def said_of(record: Record) -> str:
    """Give what a cell's table row says: its answer, or what went wrong."""
    failure = record.get("failure") or {}
    wrong = [check["why"] for check in record.get("checks", ()) if not check["passed"]]
    told = str(failure.get("message") or "") or str(record.get("text") or "")
    return f"({wrong[0]}) {told}" if wrong else told


def outcome_of(record: Record) -> str:
    """Give a cell's outcome, with the code of what went wrong where there are many."""
    failure, outcome = record.get("failure") or {}, str(record["outcome"])
    many = outcome in ("error", "unavailable") and failure.get("code")
    return f"{outcome} {failure['code']}" if many else outcome


def checks_of(record: Record) -> str:
    """Say how many of a cell's checks passed."""
    checks = record.get("checks") or ()
    return f"{sum(check['passed'] for check in checks)}/{len(checks)}" if checks else "-"


def _cells(record: Record) -> tuple[str, ...]:
    return (
        outcome_of(record),
        checks_of(record),
        str(record["steps"]),
        str(record["tool_calls"]),
        str(tokens_of(record)),
        f"{record['seconds']:.2f}",
        one_line(said_of(record), _TEXT_WIDTH),
    )


def _sums(records: Sequence[Record]) -> dict[str, Any]:
    ran = [record for record in records if record["outcome"] != "skipped"] or records

    def mean(values: Iterable[float]) -> float:
        return round(sum(values) / len(ran), 3)

    return {
        "cells": len(records),
        "passed": sum(record.get("passed") is True for record in records),
        "steps": mean(record["steps"] for record in ran),
        "tool_calls": mean(record["tool_calls"] for record in ran),
        "tokens": mean(tokens_of(record) for record in ran),
        "seconds": mean(record["seconds"] for record in ran),
    }


def _tells(axis: str, records: Iterable[Record]) -> bool:
    values = {record.get(axis) for record in records}
    return len(values) > 1 if axis == "repeat" else values != {None} and bool(values)


def _name(value: object) -> str:
    return "-" if value is None else str(value)
