"""Where the process starts: answers `--version` and the root help before anything is imported."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def script() -> NoReturn:
    """Run the command line as a process of its own: the console script and `python -m dshloop`.

    Leaves without taking the interpreter apart, which costs more than many commands do: all that
    must last was flushed to the disk before its command returned.
    """
    code = main()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass
    os._exit(code)


def main() -> int:
    """Run the command line of this process and give its exit code."""
    _forget_working_directory()
    args = sys.argv[1:]
    if "_DSHLOOP_COMPLETE" in os.environ:
        from dshloop.cli.complete import answer

        return answer(args)
    text = _ready_answer(args)
    if text is not None:
        return _write(text)
    from dshloop.cli.app import run

    return run(args)


def _forget_working_directory() -> None:
    # `python -m` puts the working directory first, so that a file there could be imported.
    if not sys.flags.safe_path and sys.path and sys.path[0] in ("", _working_directory()):
        del sys.path[0]


def _working_directory() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - pathlib costs more than this whole module
    except OSError:
        return ""


def _ready_answer(args: list[str]) -> str | None:
    """Give the text of a call that needs no parsing; None for every other."""
    if args == ["--version"]:
        from dshloop import __version__

        return f"dshloop {__version__}\n"
    if args in ([], ["--help"], ["-h"]) and _columns() >= 80:
        from dshloop.root_help import TEXT

        return TEXT
    return None


def _columns() -> int:
    named = os.environ.get("COLUMNS", "")
    if named.isdecimal() and int(named) > 0:
        return int(named)
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:
        return 80


def _write(text: str) -> int:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0
