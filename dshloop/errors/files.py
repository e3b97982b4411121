"""Faults of files, settings, YAML and the journal."""

from __future__ import annotations

from dshloop.errors.base import FailedError, NotFoundError, RefusedError, UsageError


class UnreadableFileError(FailedError):
    """A file that is there can't be read, or isn't the text it should be."""

    code = "UNREADABLE_FILE"


class HomeUnknownError(FailedError):
    """There is no home folder to put files in, and no other folder was named."""

    code = "HOME_UNKNOWN"
    hint = "Set HOME, or all of DSH_HOME, DSHLOOP_DATA and DSHLOOP_CONFIG."


class SystemRefusedError(FailedError):
    """The system refused to look at a path: permissions, a name too long, links in a circle."""

    code = "SYSTEM_REFUSED"


class WriteFailedError(FailedError):
    """A file could not be written: no space, no permission, a read-only folder."""

    code = "WRITE_FAILED"


class ConfigInvalidError(FailedError):
    """config.yml holds something that dshloop can't use."""

    code = "CONFIG_INVALID"


class SettingUnknownError(NotFoundError):
    """`config` was asked for a key that doesn't exist."""

    code = "SETTING_UNKNOWN"


class SpliceRefusedError(RefusedError):
    """A YAML file is written in a way that can't be edited without touching other bytes."""

    code = "SPLICE_REFUSED"
    hint = "Edit the file by hand."


class ChangedSinceReadError(RefusedError):
    """A file changed between reading and writing it, or since the entry to undo was made."""

    code = "CHANGED_SINCE_READ"
    hint = "Look at the file, then run the command again."


class LockHeldError(RefusedError):
    """Another process holds the lock; details name its pid, command, host and start."""

    code = "LOCK_HELD"
    hint = "Wait until it is done, or end that process."


class DshYamlInvalidError(FailedError):
    """A YAML file is not what DSH reads; details name its file, line, column and the reason."""

    code = "DSH_YAML_INVALID"
    hint = "Mend the line that is named; DSH refuses the file for the same reason."


class DshYamlUnwritableError(FailedError):
    """A value can't be written as YAML: it contains itself, or is far too deep or large."""

    code = "DSH_YAML_UNWRITABLE"
    hint = "Replace the alias (*name) that leads back to its own anchor by a plain value."


class PatchUnreadableError(FailedError):
    """A patch file is missing or can't be read."""

    code = "PATCH_UNREADABLE"


class PatchInvalidError(FailedError):
    """A patch file is YAML but no list of patches; details name its file, line and entry."""

    code = "PATCH_INVALID"
    hint = "A patch file is a list of mappings; no patches is written []."


class JournalDamagedError(FailedError):
    """The journal has lost or damaged what it needs; details name the file."""

    code = "JOURNAL_DAMAGED"
    hint = "Nothing was changed; restore the file from a backup of your own."


class EntryNotFoundError(NotFoundError):
    """The history has no such entry, or nothing that could be undone or redone."""

    code = "ENTRY_NOT_FOUND"
    hint = "`dshloop history` lists the entries."


class EntryAmbiguousError(UsageError):
    """The beginning of an id fits several entries of the history."""

    code = "ENTRY_AMBIGUOUS"
    hint = "Give more of the id."


class EntryStateError(RefusedError):
    """The entry is undone already, or there is nothing to redo because it wasn't undone."""

    code = "ENTRY_STATE"
    hint = "`dshloop history` shows which entries are done and which are undone."


class OutputExistsError(RefusedError):
    """A new file was to get a name that is taken."""

    code = "OUTPUT_EXISTS"
    hint = "Choose another name, or remove that file first."


class OutputRefusedError(RefusedError):
    """A new file was to go where it would do harm: among the sessions, which dsh reads whole."""

    code = "OUTPUT_REFUSED"
    hint = "Name a file somewhere else."
