"""Where the process starts: answers `--version` and the root help before anything is imported."""

from __future__ import annotations

import gc
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
    _replace_closed_streams()
    gc.set_threshold(100_000)  # most commands end before there is anything to collect
    try:
        code = main()
    except KeyboardInterrupt:  # before the command line's own boundary was there
        code = 130
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
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
    if text is not None and _write(text):
        return 0
    from dshloop.cli.app import run

    return run(args)


def _replace_closed_streams() -> None:
    """Put the null device where a standard stream is closed.

    Otherwise the next file that is opened gets its number, and what we or a child of ours print
    ends up in it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number
            mode = "r" if number == 0 else "w"
            setattr(sys, name, open(number, mode, encoding="utf-8"))  # noqa: SIM115, PTH123


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
    if named.isdecimal() and len(named) < 9 and int(named) > 0:
        return int(named)
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:
        return 80


def _write(text: str) -> bool:
    """Write a ready answer; False when the whole command line must tell what went wrong."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        return False
    return True
