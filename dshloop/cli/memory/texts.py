"""The texts that are given to verbs of `dshloop memory`, and the secrets that they lost."""

from __future__ import annotations

from pathlib import Path

from dshloop.cli.invocation import Invocation
from dshloop.errors import UnreadableFileError, UsageError
from dshloop.paths import absolute
from dshloop.result import Caution


def redaction(found: int) -> list[Caution]:
    """Say how many secrets were taken out, never which."""
    if not found:
        return []
    what = "1 secret was" if found == 1 else f"{found} secrets were"
    message = f"{what} taken out (--allow-secrets keeps what looks like one)"
    return [Caution(message, "SECRETS_REDACTED", details={"redacted": found})]


def piped(run: Invocation) -> str:
    """Read standard input as UTF-8, without the line ends behind it. Raises UNREADABLE_FILE."""
    from dshloop.files import decode

    buffer = getattr(run.env.stdin, "buffer", None)
    if buffer is None:
        return run.env.stdin.read().rstrip("\r\n")
    return decode(buffer.read(), Path("standard input")).value.rstrip("\r\n")


def file_text(run: Invocation, file: str) -> str:
    """Read a file as UTF-8, without the line ends behind it. Raises UNREADABLE_FILE."""
    from dshloop.files import read_text

    if not file:
        raise UsageError("a file needs a path")
    text = read_text(absolute(file, run.env.cwd, run.env.variables))
    if text is None:
        raise UnreadableFileError(f"there is no file {file}", file=file)
    return text.value.rstrip("\r\n")
