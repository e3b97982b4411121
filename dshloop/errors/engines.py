"""Faults of engines that are programs of their own: dsh, and agents that speak ACP."""

from __future__ import annotations

from dshloop.errors.base import ExitCode, PeerUnreachableError, RefusedError


class EngineMissingError(PeerUnreachableError):
    """The program that is to run the turns, or the library that talks to it, isn't here."""

    code = "ENGINE_MISSING"


class EngineVersionError(PeerUnreachableError):
    """The program is of a version that can't be driven; details name it."""

    code = "ENGINE_VERSION"


class EngineDiedError(PeerUnreachableError):
    """The program ended while it was needed; details have its status and its last words."""

    code = "ENGINE_DIED"
    hint = "The next turn starts it again."


class EngineSilentError(PeerUnreachableError):
    """The program said nothing for too long and was ended; details have its last words."""

    code = "ENGINE_SILENT"
    hint = "A longer wait is set with: dshloop config set engines.patience SECONDS."


class EngineAnswerError(PeerUnreachableError):
    """What the program wrote is not what its protocol says."""

    code = "ENGINE_ANSWER"


class EngineFailedError(PeerUnreachableError):
    """The program answered a request with an error; details have its code and last words."""

    code = "ENGINE_FAILED"


class EngineSessionLostError(PeerUnreachableError):
    """The program no longer has its own session of this conversation, or can't go on with one."""

    code = "ENGINE_SESSION_LOST"
    hint = "Begin a new session."


class DriverLacksError(RefusedError):
    """A loop, or what was typed, needs more than the driver carries; details name what."""

    code = "DRIVER_LACKS"
    hint = (
        "Choose another driver (dshloop driver show NAME says what it carries), or go on without: "
        "--allow-partial."
    )


_OF_TURNS: tuple[type[PeerUnreachableError | RefusedError], ...] = (
    EngineMissingError,
    EngineVersionError,
    EngineDiedError,
    EngineSilentError,
    EngineAnswerError,
    EngineFailedError,
    EngineSessionLostError,
    DriverLacksError,
)


def exit_code_of_turn(code: object) -> ExitCode:
    """Tell what the process exits with when the last turn failed with this code."""
    found = (error.exit_code for error in _OF_TURNS if error.code == code)
    return next(found, ExitCode.FAILED)
