"""Faults of sessions and of what is asked of a run."""

from __future__ import annotations

from dshloop.errors.base import FailedError, NotFoundError, RefusedError, UsageError


class SessionNotFoundError(NotFoundError):
    """No session has this id, or no log is at this path."""

    code = "SESSION_NOT_FOUND"
    hint = "See `dshloop session list --all`."


class SessionExistsError(RefusedError):
    """A new session was to get an id that is taken."""

    code = "SESSION_EXISTS"
    hint = "Choose another id, or continue that session with --resume."


class SessionUnreadableError(RefusedError):
    """A session's log can't be read, or is damaged in a way that forbids going on with it."""

    code = "SESSION_UNREADABLE"


class SessionReadOnlyError(RefusedError):
    """The session belongs to dsh, or its log is of a kind that dshloop reads but never writes."""

    code = "SESSION_READ_ONLY"
    hint = "Look at it with `dshloop session show`."


class SessionAmbiguousError(UsageError):
    """The beginning of an id fits several sessions."""

    code = "SESSION_AMBIGUOUS"
    hint = "Give more of the id."


class SessionIdError(UsageError):
    """An id can't name a session: it is empty or too long for a folder's name."""

    code = "SESSION_ID_INVALID"
    hint = "Use a short name of letters, digits, '.', '_' and '-'."


class DriverUnavailableError(NotFoundError):
    """No driver of this name can run here."""

    code = "DRIVER_UNAVAILABLE"


class PromptMissingError(UsageError):
    """There is nothing to say: no prompt, no piped text and no terminal to type in."""

    code = "PROMPT_MISSING"
    hint = 'Give the prompt: dshloop session run --driver fake "hello"'


class PromptLineError(FailedError):
    """Standard input is no UTF-8 text, or a jsonl line no JSON string or {"prompt": text}."""

    code = "PROMPT_LINE_INVALID"


class ForkPointError(NotFoundError):
    """No turn of the session ends where it was to be forked."""

    code = "FORK_POINT_NOT_FOUND"
    hint = "See its turns with `dshloop session show`."


class TrashNotFoundError(NotFoundError):
    """No deleted session has this id."""

    code = "TRASH_NOT_FOUND"
    hint = "See `dshloop session list --deleted`."


class SearchFailedError(FailedError):
    """The index of sessions can be neither read nor made."""

    code = "SEARCH_FAILED"
    hint = "It holds nothing of its own: remove the file and try again."


class MatrixInvalidError(FailedError):
    """A file of `session matrix` holds something wrong; details name file, line and column."""

    code = "MATRIX_INVALID"
    hint = "Mend the line that is named; docs/matrix.md lists the keys."


class MatrixChangedError(RefusedError):
    """A run of a matrix was to go on, and its file, a script or the profile is another by now."""

    code = "MATRIX_CHANGED"
    hint = "Begin a new run: dshloop session matrix FILE --new."


class MatrixRunNotFoundError(NotFoundError):
    """No run of a matrix has this name, or several begin so."""

    code = "MATRIX_RUN_NOT_FOUND"
    hint = "See `dshloop session matrix --list`."


class MatrixRunDamagedError(FailedError):
    """What is kept of a matrix's run can't be read; details name the file."""

    code = "MATRIX_RUN_DAMAGED"
    hint = "Remove its folder, and run the file again."


class WorkspaceUncopiedError(FailedError):
    """A cell of a matrix could not be given its copy of the workspace."""

    code = "WORKSPACE_UNCOPIED"


class NoTurnError(RefusedError):
    """A conversation has no turn that could be undone or tried again."""

    code = "NO_TURN"
    hint = "Say something first."


class ModelPinnedError(RefusedError):
    """Another model was asked for than the one that the loop pins."""

    code = "MODEL_PINNED"
    hint = "Go on in a fork on another loop: /fork loop NAME"


class SaidNowhereError(RefusedError):
    """A conversation that only reads its session can't be begun anew: what was said would go."""

    code = "SAID_NOWHERE"
    hint = "Go on in a copy that keeps it: /fork"


class AttachmentUnsupportedError(UsageError):
    """A file of --attach is neither an image that models take nor UTF-8 text, or it is empty."""

    code = "ATTACHMENT_UNSUPPORTED"
    hint = "PNG, JPEG, WebP and GIF images can be attached, and text in UTF-8."


class AttachmentTooLargeError(UsageError):
    """A file of --attach is larger than what may be sent along with a prompt."""

    code = "ATTACHMENT_TOO_LARGE"


class ImagesUnsupportedError(RefusedError):
    """What answers this session takes no images; nothing was sent."""

    code = "IMAGES_UNSUPPORTED"
    hint = "Choose a provider that takes them with --provider, or leave the image away."


class DriverNotReadOnlyError(RefusedError):
    """The driver's program has tools of its own, which --read-only can't keep from changing."""

    code = "DRIVER_NOT_READ_ONLY"
    hint = "Choose a driver of dshloop (headless, fake), or leave --read-only away."


class ReplayRefusedError(RefusedError):
    """What was recorded can't be given to this loop or driver again."""

    code = "REPLAY_REFUSED"


class AttachmentNotFoundError(NotFoundError):
    """A message names an attachment that this machine doesn't have."""

    code = "ATTACHMENT_NOT_FOUND"
