"""The roots of the error tree, and the faults of the run itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any, ClassVar


class ExitCode(IntEnum):
    """What the process tells the shell (design: exit codes)."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    REFUSED = 4
    PEER = 5
    HUNG_UP = 129  # 128 + SIGHUP, and so on
    INTERRUPTED = 130
    TERMINATED = 143


class DshloopError(Exception):
    """Base of all; ``message`` is one sentence, ``details`` are JSON values for programs."""

    code: ClassVar[str] = "ERROR"
    exit_code: ClassVar[ExitCode] = ExitCode.FAILED
    hint: str | None = None

    def __init__(self, message: str, *, hint: str | None = None, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        if hint is not None:
            self.hint = hint
        self.details: Mapping[str, Any] = details

    def as_json(self) -> dict[str, Any]:
        """Give the value of ``error`` in the line that ``--json`` prints on stderr."""
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "details": dict(self.details),
        }


class FailedError(DshloopError):
    """The work was tried and failed."""

    code = "FAILED"


class UsageError(DshloopError):
    """The command line itself is wrong."""

    code = "USAGE"
    exit_code = ExitCode.USAGE
    hint = "Run the same command with --help."


class NotFoundError(DshloopError):
    """The thing named is not there."""

    code = "NOT_FOUND"
    exit_code = ExitCode.NOT_FOUND


class RefusedError(DshloopError):
    """Refused; nothing was changed."""

    code = "REFUSED"
    exit_code = ExitCode.REFUSED


class PeerUnreachableError(DshloopError):
    """A program or server could not be reached."""

    code = "PEER_UNREACHABLE"
    exit_code = ExitCode.PEER


class InterruptedByUserError(DshloopError):
    """Ctrl-C, or a prompt that was left."""

    code = "INTERRUPTED"
    exit_code = ExitCode.INTERRUPTED


class InternalError(FailedError):
    """A fault in dshloop itself."""

    code = "INTERNAL"
    hint = "Please report it; --verbose shows where it happened."

    @classmethod
    def wrap(cls, fault: Exception) -> InternalError:
        """Give the error that is shown for an exception nobody expected."""
        said = " ".join(str(fault).split())
        return cls(f"internal fault: {type(fault).__name__}: {said}", kind=type(fault).__name__)


class OutputFailedError(FailedError):
    """The answer could not be written to stdout; what the command did is done."""

    code = "OUTPUT_FAILED"


def every_error() -> Iterator[type[DshloopError]]:
    """Yield each error class, parents first, in the order of this module."""
    pending: list[type[DshloopError]] = [DshloopError]
    while pending:
        kind = pending.pop(0)
        yield kind
        pending.extend(kind.__subclasses__())
