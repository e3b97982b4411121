"""What a command returns: the value for programs, the view for people, and what to say beside it.

A verb of the command line calls one library function and wraps its answer in a ``Result`` (or a
``Stream``, for answers that come piece by piece). cli/output.py is the only place that renders
them, so ``--json`` is never a second code path. Named tuples, since every command pays for the
making of these classes and dataclasses take six times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from dshloop.errors import ExitCode

T = TypeVar("T")
NO_DETAILS: Mapping[str, Any] = MappingProxyType({})


class Table(NamedTuple):
    """Rows of text under column titles; ``empty`` is said instead when there are no rows."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    empty: str = ""


class Document(NamedTuple):
    """Text that is written byte for byte as UTF-8, with nothing added: a dump, an export."""

    text: str


class Pieces(NamedTuple):
    """A document too large to be held, given bit by bit; what is said beside it comes after."""

    texts: Iterable[str]


View = str | Table | Document | Pieces


class Lines(NamedTuple):
    """An answer that is a JSON value a line instead of one array (``--format jsonl``)."""

    values: Sequence[Any]


class Caution(NamedTuple):
    """A warning: it goes to stderr, and as ``{"warning": …}`` there with --json --verbose.

    ``line`` is what people see, where a peer's own wording must appear exactly.
    """

    message: str
    code: str = "WARNING"
    line: str | None = None
    details: Mapping[str, Any] = NO_DETAILS


class Result(NamedTuple, Generic[T]):
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


class End(NamedTuple):
    """How a stream ended: the keys of its last record, what to say, and the exit code."""

    outcome: str
    fields: Mapping[str, Any] = NO_DETAILS
    notices: Sequence[str] = ()
    warnings: Sequence[Caution] = ()
    exit_code: ExitCode = ExitCode.DONE


class Stream(NamedTuple):
    """An answer that comes record by record (NDJSON with --json).

    ``records`` yields mappings with a ``type`` key and, last, one ``End``; ``text`` gives what
    people see of a record (None: nothing), written without a line end of its own; ``aside`` gives
    a notice, and is asked after ``text``.
    """

    records: Iterator[Mapping[str, Any] | End]
    text: Callable[[Mapping[str, Any]], str | None]
    aside: Callable[[Mapping[str, Any]], str | None] = lambda _record: None
