"""What a command returns: the value for programs, the view for people, and what to say beside it.

A verb of the command line calls one library function and wraps its answer in a ``Result`` (or a
``Stream``, for answers that come piece by piece). cli/output.py is the only place that renders
them, so ``--json`` is never a second code path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from dshloop.errors import ExitCode

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under column titles; ``empty`` is said instead when there are no rows."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    empty: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """Text that is written byte for byte as UTF-8, with nothing added: a dump, an export."""

    text: str


View = str | Table | Document


@dataclass(frozen=True, slots=True)
class Caution:
    """A warning: it goes to stderr, and as ``{"warning": …}`` there with --json --verbose.

    ``line`` is what people see, where a peer's own wording must appear exactly.
    """

    message: str
    code: str = "WARNING"
    line: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result(Generic[T]):
    """The answer of a command.

    ``data`` is the JSON value (an array for verbs that list, an object otherwise, keys in
    snake_case); ``view`` what goes to stdout for people; ``notices`` go to stderr, not with
    --json or --quiet.
    """

    data: T
    view: View = ""
    notices: Sequence[str] = ()
    warnings: Sequence[Caution] = ()
    exit_code: ExitCode = ExitCode.DONE


@dataclass(frozen=True, slots=True)
class End:
    """How a stream ended: the keys of its last record, what to say, and the exit code."""

    outcome: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    notices: Sequence[str] = ()
    warnings: Sequence[Caution] = ()
    exit_code: ExitCode = ExitCode.DONE


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer that comes record by record (NDJSON with --json).

    ``records`` yields mappings with a ``type`` key and, last, one ``End``; ``text`` gives what
    people see of a record (None: nothing), written without a line end of its own.
    """

    records: Iterator[Mapping[str, Any] | End]
    text: Callable[[Mapping[str, Any]], str | None]
