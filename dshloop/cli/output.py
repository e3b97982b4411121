"""The only module that prints: results, streams, errors and progress, for people or as JSON."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from dshloop.cli.invocation import Invocation
from dshloop.environment import Environment
from dshloop.errors import DshloopError, ExitCode, OutputFailedError
from dshloop.json_text import json_text
from dshloop.result import Caution, Document, End, Lines, Pieces, Result, Stream, Table, View
from dshloop.terminal import visible

SCHEMA = 1
Tell = Callable[[str], None]
_NARROWEST_CELL = 7  # columns of a terminal, with the gap


class Output:
    """How this run answers: the streams to write to and what was asked of them."""

    def __init__(self, invocation: Invocation) -> None:
        self.env = invocation.env
        self.json = invocation.json
        self.quiet = invocation.quiet
        self.verbose = invocation.verbose
        self.color = invocation.env.color and not invocation.no_color
        self.recovered = invocation.recovered

    def result(self, result: Result[Any]) -> int:
        """Write one result; give its exit code."""
        self._warnings([*self.recovered, *result.warnings])
        with _answering():
            if self.json:
                data = result.data
                values = data.values if isinstance(data, Lines) else (data,)
                _write_utf8(self.env.stdout, "".join(json_text(one) + "\n" for one in values))
            else:
                self._view(result.view)
            self.env.stdout.flush()
        self._notices(result.notices)
        return result.exit_code

    def stream(self, stream: Stream) -> int:
        """Write a stream record by record as it comes; give the exit code of its end."""
        for seq, record in enumerate(stream.records):
            if isinstance(record, End):
                return self._end(record, seq)
            self._record(stream, record, seq)
        return ExitCode.DONE

    def error(self, error: DshloopError, fault: Exception | None = None) -> int:
        """Write an error to stderr, as one JSON line with --json; give its exit code.

        What was noted on it is told before: it may be why.
        """
        self._warnings(self.recovered)
        self._notices(getattr(error, "__notes__", ()))
        if self.json:
            self._tell(json_text({"error": error.as_json()}), utf8=True)
        else:
            self._tell(f"error: {visible(error.message)} ({error.code})")
            if error.hint:
                self._tell("\n".join(f"  {line}" for line in visible(error.hint).split("\n")))
        if fault is not None and self.verbose:
            self._tell("".join(traceback.format_exception(fault)).rstrip("\n"))
        return error.exit_code

    def _record(self, stream: Stream, record: Mapping[str, Any], seq: int) -> None:
        if self.json:
            self._json_line({"schema": SCHEMA, "seq": seq, **record})
            return
        text = stream.text(record)
        if text:
            with _answering():
                self.env.stdout.write(visible(text))
                self.env.stdout.flush()
        told = stream.aside(record)
        if told is not None:
            self._notices([told])

    def _end(self, end: End, seq: int) -> int:
        self._warnings(end.warnings)
        if self.json:
            record = {"schema": SCHEMA, "seq": seq, "type": "end", "outcome": end.outcome}
            self._json_line({**record, **end.fields})
        self._notices(end.notices)
        return end.exit_code

    def _json_line(self, record: Mapping[str, Any]) -> None:
        with _answering():
            _write_utf8(self.env.stdout, json_text(record) + "\n")

    def _tell(self, text: str, *, utf8: bool = False) -> None:
        """Write a line beside the answer; that nobody can read it changes nothing else."""
        stderr = self.env.stderr
        try:
            if utf8:
                _write_utf8(stderr, text + "\n")
            else:
                stderr.write(text + "\n")
                stderr.flush()
        except (OSError, ValueError):
            pass

    def _notices(self, notices: Sequence[str]) -> None:
        if self.json or self.quiet:
            return
        for notice in notices:
            self._tell(visible(notice))

    def _warnings(self, warnings: Sequence[Caution]) -> None:
        if self.json and not self.verbose:
            return
        for caution in warnings:
            if self.json:
                body = {"code": caution.code, "message": caution.message}
                line = json_text({"warning": {**body, "details": dict(caution.details)}})
                self._tell(line, utf8=True)
            elif caution.line is not None:
                self._tell(visible(caution.line), utf8=True)
            else:
                self._tell(f"warning: {visible(caution.message)}")

    def _view(self, view: View) -> None:
        stdout = self.env.stdout
        if isinstance(view, Document):
            _write_utf8(stdout, view.text)
        elif isinstance(view, Pieces):
            for text in view.texts:
                _write_utf8(stdout, text)
        elif isinstance(view, Table):
            self._table(view)
        elif view:
            text = visible(view)
            stdout.write(text if text.endswith("\n") else text + "\n")

    def _table(self, table: Table) -> None:
        if not table.rows:
            if table.empty:
                self._tell(visible(table.empty))
        elif self.env.stdout_tty and self.env.width < _NARROWEST_CELL * len(table.columns):
            self.env.stdout.write(records(table))
        elif self.env.stdout_tty:
            _print_rich(table, self.env, color=self.color)
        else:
            self.env.stdout.write(plain_table(table))


@contextmanager
def _answering() -> Iterator[None]:
    """Turn a stdout that takes no more into OUTPUT_FAILED; a closed pipe is no failure."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as fault:
        from dshloop.files import why

        raise OutputFailedError(f"can't write the answer: {why(fault)}") from fault


@contextmanager
def progress(env: Environment, message: str, *, shown: bool = True) -> Iterator[Tell]:
    """Show a spinner with a message on stderr while the block runs; nothing without a terminal.

    Lends a function that puts another message in its place.
    """
    if not (shown and env.stderr_tty) or env.variables.get("TERM") == "dumb":
        yield lambda _message: None
        return
    from rich.console import Console

    with Console(file=env.stderr, markup=False).status(visible(message)) as status:
        yield lambda message: status.update(visible(message))


def plain_table(table: Table) -> str:
    """Lay a table out in columns of characters, never cut or wrapped, for pipes and files."""
    rows = [table.columns, *([_cell(cell) for cell in row] for row in table.rows)]
    widths = [max(map(_columns, column)) for column in zip(*rows, strict=True)]
    return "".join(_line(row, widths) for row in rows)


def records(table: Table) -> str:
    """Lay a table out one cell a line, for terminals too narrow for its columns."""
    width = max(map(_columns, table.columns))
    blocks = (
        "".join(
            _line(pair, (width, 0)) for pair in zip(table.columns, map(_cell, row), strict=True)
        )
        for row in table.rows
    )
    return "\n".join(blocks)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (cell + " " * (width - _columns(cell)) for cell, width in zip(row, widths, strict=True))
    return "  ".join(cells).rstrip() + "\n"


def _cell(text: str) -> str:
    return visible(text).replace("\n", " ").replace("\t", " ")


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(
        0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text
    )


def _print_rich(table: Table, env: Environment, *, color: bool) -> None:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable(box=None, pad_edge=False, header_style="bold" if color else "")
    for title in table.columns:
        grid.add_column(Text(title), overflow="fold")
    for row in table.rows:
        grid.add_row(*(Text(_cell(cell)) for cell in row))
    console = Console(file=env.stdout, width=env.width, no_color=not color, markup=False)
    console.print(grid)


def _write_utf8(stream: TextIO, text: str) -> None:
    """Write text as UTF-8 whatever the locale; escapes would change what a program reads."""
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(text)
        return
    stream.flush()
    buffer.write(text.encode("utf-8", "backslashreplace"))
    buffer.flush()
