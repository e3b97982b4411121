"""What can be wrong with a database, what it means and what mends it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from dshloop.memory.sqlite.rows import Stored, unpacked

EXAMPLES = 5
"""How many ids or messages a finding names."""

_DAMAGE = (
    sqlite3.SQLITE_ERROR,  # a table that is missing
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_IOERR,
)
_REINDEX = "dshloop memory reindex"
_SALVAGE = "dshloop memory check --salvage NEWFILE"


class Kind(NamedTuple):
    """A kind of finding: its meaning, and the command that mends it ("" when there is none)."""

    severity: str
    meaning: str
    mend: str


KINDS: Mapping[str, Kind] = {
    "DATABASE_DAMAGED": Kind("error", "the database file is damaged", _SALVAGE),
    "ROW_UNREADABLE": Kind("error", "entries can't be read", _SALVAGE),
    "INDEX_DAMAGED": Kind("error", "the index does not hold the words it was given", _REINDEX),
    "INDEX_MISSING": Kind("error", "entries are not in the index: recall misses them", _REINDEX),
    "INDEX_STALE": Kind("error", "entries are in the index with other words", _REINDEX),
    "INDEX_ORPHAN": Kind("error", "the index has entries that are not there", _REINDEX),
    "COUNT_WRONG": Kind("error", "a count that ranking uses is wrong", _REINDEX),
    "DIGEST_WRONG": Kind("error", "memories would not be known again when repeated", _REINDEX),
    "SESSION_COUNT": Kind("error", "sessions count other observations than they have", _REINDEX),
    "SESSION_MISSING": Kind("error", "observations are of sessions that are not there", _REINDEX),
    "VECTOR_ORPHAN": Kind("error", "vectors are of entries that are not there", _REINDEX),
    "VECTOR_INVALID": Kind("error", "vectors are not as long as their model's", _REINDEX),
    "VERSION_HIDDEN": Kind(
        "error", "old versions have no newer one, so recall misses them", _REINDEX
    ),
    "VERSION_TWICE": Kind("error", "memories are latest beside a newer version", _REINDEX),
    "FORGOTTEN_TWICE": Kind("error", "entries are there and forgotten at once", _REINDEX),
    "REINDEX_UNFINISHED": Kind("warning", "reindex was begun and not finished", _REINDEX),
}


class Finding(NamedTuple):
    """Something that is wrong, how often, and the first few examples."""

    code: str
    cases: int
    examples: tuple[str, ...]

    @property
    def severity(self) -> str:
        """Give ``error`` or ``warning``."""
        return KINDS[self.code].severity

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows."""
        kind = KINDS[self.code]
        return {
            "code": self.code,
            "severity": kind.severity,
            "message": kind.meaning,
            "count": self.cases,
            "examples": list(self.examples),
            "mend": kind.mend or None,
        }


class Checked(NamedTuple):
    """A database that was looked at; ``index_verified`` tells whether the index could be asked to
    check itself, which needs the right to write."""

    path: Path
    entries: int
    versions: int
    forgotten: int
    sessions: int
    vectors: int
    index_verified: bool
    findings: tuple[Finding, ...]

    @property
    def sound(self) -> bool:
        """Tell whether nothing of severity error was found."""
        return not any(finding.severity == "error" for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows."""
        return {
            **self._asdict(),
            "path": str(self.path),
            "sound": self.sound,
            "findings": [finding.as_json() for finding in self.findings],
        }


class Found:
    """Findings as they come: counted, with the first examples."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._examples: dict[str, list[str]] = {}

    def add(self, code: str, example: Stored, count: int = 1) -> None:
        """Note one more."""
        self._counts[code] = self._counts.get(code, 0) + count
        examples = self._examples.setdefault(code, [])
        if len(examples) < EXAMPLES:
            examples.append(unpacked(example))

    @contextmanager
    def damage(self, code: str = "DATABASE_DAMAGED") -> Iterator[None]:
        """Take damage of the file that ends a part of the work for a finding."""
        try:
            yield
        except sqlite3.ProgrammingError:
            raise
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGE:
                raise
            self.add(code, str(error))

    def all(self) -> tuple[Finding, ...]:
        """Give the findings in the order of KINDS."""
        return tuple(
            Finding(code, self._counts[code], tuple(self._examples[code]))
            for code in KINDS
            if code in self._counts
        )
