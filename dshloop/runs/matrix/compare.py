"""What changed between two runs, cell by cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from dshloop.result import Table
from dshloop.runs.matrix.plan import AXES
from dshloop.runs.matrix.record import Record
from dshloop.runs.matrix.table import checks_of, counts, outcome_of, tokens_of
from dshloop.terminal import one_line

Key = tuple[Any, ...]
_TEXT_WIDTH = 48
_BEFORE = 12  # characters that are shown before the first difference of two texts


class Change(NamedTuple):
    """One cell that came out differently: what, and how it was in each run."""

    key: Key
    changes: Mapping[str, tuple[Any, Any]]

    def as_json(self) -> dict[str, Any]:
        """Give the value for ``--json``."""
        changes = {name: {"a": a, "b": b} for name, (a, b) in self.changes.items()}
        return {**dict(zip(AXES, self.key, strict=True)), "changes": changes}


class Compared(NamedTuple):
    """Two runs side by side; ``only_a`` and ``only_b`` are cells that the other has not."""

    changed: tuple[Change, ...]
    same: int
    only_a: tuple[Key, ...]
    only_b: tuple[Key, ...]
    totals: Mapping[str, tuple[float, float]]

    def as_json(self) -> dict[str, Any]:
        """Give the value for ``--json``."""
        return {
            "same": self.same,
            "changed": [change.as_json() for change in self.changed],
            "only_a": [dict(zip(AXES, key, strict=True)) for key in self.only_a],
            "only_b": [dict(zip(AXES, key, strict=True)) for key in self.only_b],
            "totals": {name: {"a": a, "b": b} for name, (a, b) in self.totals.items()},
        }


def compared(a: Iterable[Record], b: Iterable[Record]) -> Compared:
    """Compare cells of the same agent, loop, driver, model, prompt and repeat.

    Seconds differ always, so they are only summed up.
    """
    first, second = _by_key(a), _by_key(b)
    both = [key for key in first if key in second]
    changes = [Change(key, _changes(first[key], second[key])) for key in both]
    changed = tuple(change for change in changes if change.changes)
    return Compared(
        changed,
        len(both) - len(changed),
        tuple(key for key in first if key not in second),
        tuple(key for key in second if key not in first),
        {
            name: (one, _totals(second.values())[name])
            for name, one in _totals(first.values()).items()
        },
    )


def compared_table(found: Compared, a: str, b: str) -> Table:
    """Give a row for everything that changed; under the names of the runs, how it was."""
    rows = [
        (_label(change.key), name, *_pair(name, *values))
        for change in found.changed
        for name, values in change.changes.items()
    ]
    rows += [(_label(key), "cell", "there", "-") for key in found.only_a]
    rows += [(_label(key), "cell", "-", "there") for key in found.only_b]
    return Table(("CELL", "WHAT", a, b), rows, empty="nothing changed")


def totals_lines(found: Compared) -> list[str]:
    """Say what the runs came to in all, before and after."""
    shown = {name: ".2f" if name == "seconds" else ".0f" for name in found.totals}
    return [
        f"{name}: {one:{shown[name]}} -> {other:{shown[name]}}"
        for name, (one, other) in found.totals.items()
    ]


def _by_key(records: Iterable[Record]) -> dict[Key, Record]:
    return {tuple(record.get(axis) for axis in AXES): record for record in records}


def _changes(a: Record, b: Record) -> dict[str, tuple[Any, Any]]:
    pairs: dict[str, tuple[Any, Any]] = {
        "outcome": (outcome_of(a), outcome_of(b)),
        "passed": (a.get("passed"), b.get("passed")),
    }
    verdicts_a, verdicts_b = _verdicts(a), _verdicts(b)
    for name in {**verdicts_a, **verdicts_b}:
        pairs[f"check {name}"] = verdicts_a.get(name), verdicts_b.get(name)
    if not verdicts_a and not verdicts_b:
        pairs["checks"] = checks_of(a), checks_of(b)
    for name in ("turns", "steps", "tool_calls"):
        pairs[name] = a.get(name), b.get(name)
    pairs["tokens"] = tokens_of(a), tokens_of(b)
    pairs["text"] = a.get("text"), b.get("text")
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _verdicts(record: Record) -> dict[str, bool]:
    return {check["check"]: check["passed"] for check in record.get("checks") or ()}


def _totals(records: Iterable[Record]) -> dict[str, float]:
    found = list(records)
    counted = counts(found, len(found))
    return {
        "passed": counted["passed"],
        "failed": counted["failed"],
        "tokens": sum(map(tokens_of, found)),
        "seconds": round(sum(record["seconds"] for record in found), 2),
    }


def _label(key: Key) -> str:
    """Name a cell in a word: what it is made of, and which time it is."""
    *parts, repeat = key
    names = [str(part) for part in dict.fromkeys(parts) if part is not None]
    return " ".join([*names, *([f"#{repeat}"] if repeat != 1 else [])])


def _pair(name: str, a: Any, b: Any) -> tuple[str, str]:
    if name != "text":
        return _word(a), _word(b)
    start = max(_common(str(a), str(b)) - _BEFORE, 0)
    cut = "…" if start else ""
    return tuple(one_line(cut + str(one)[start:], _TEXT_WIDTH) for one in (a, b))  # type: ignore


def _word(value: Any) -> str:
    words = {True: "yes", False: "no", None: "-"}
    return words[value] if value is None or isinstance(value, bool) else str(value)


def _common(a: str, b: str) -> int:
    """Count the characters that two texts begin with alike."""
    pairs = zip(a, b, strict=False)
    return next((at for at, (x, y) in enumerate(pairs) if x != y), min(len(a), len(b)))
