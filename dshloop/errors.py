"""Everything that dshloop raises on purpose.

::

    DshloopError
    ├── UsageError              2  the command line itself is wrong
    ├── FailedError             1  the work was tried and failed
    ├── NotFoundError           3  the thing named is not there
    ├── RefusedError            4  refused; nothing was changed
    ├── PeerUnreachableError    5  a program or server could not be reached
    └── InterruptedByUserError  130

Each leaf is one kind of fault with a stable ``code``; its docstring says when it is raised and
its ``hint`` what to do next. docs/errors.md is made from this module. Packages with many faults of
their own (YAML, transcripts) keep them here too, so that a code is never given twice.
"""

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
    INTERRUPTED = 130


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


# --- the run itself ---------------------------------------------------------------------------


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


# --- files and configuration -----------------------------------------------------------------


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


# --- profiles and plugins ----------------------------------------------------------------------


class ProfileNotNamedError(UsageError):
    """The command needs a profile, and none was named; details list those there are."""

    code = "PROFILE_NOT_NAMED"
    hint = "Name one with --profile NAME, or make one the default: dshloop profile use NAME."


class ProfileNameInvalidError(UsageError):
    """The name can't be that of a profile: empty, a dot, node_modules, or with a slash."""

    code = "PROFILE_NAME_INVALID"
    hint = "Use a name without / and \\ that is not '.', '..' or node_modules."


class ProfileNotFoundError(NotFoundError):
    """There is no profile of this name, and it is not that of a template either."""

    code = "PROFILE_NOT_FOUND"


class ProfileExistsError(RefusedError):
    """A profile of this name is there already."""

    code = "PROFILE_EXISTS"
    hint = "Choose another name."


class ManifestInvalidError(FailedError):
    """A package.json can't be read as a JSON object, or its bundle list is not a list."""

    code = "MANIFEST_INVALID"


class SpecInvalidError(UsageError):
    """A plugin spec that can't be meant: empty, an option, or of an unknown kind."""

    code = "SPEC_INVALID"
    hint = "Give a folder (./plugin), an archive (./plugin.tgz), or a package name."


class PackageNotFoundError(NotFoundError):
    """The folder, archive or registry package that a spec names is not there."""

    code = "PACKAGE_NOT_FOUND"


class PluginNotFoundError(NotFoundError):
    """The profile has no plugin of this name."""

    code = "PLUGIN_NOT_FOUND"


class ArchiveInvalidError(FailedError):
    """A package archive is damaged, too large, or would write outside its folder."""

    code = "ARCHIVE_INVALID"


class BundleInvalidError(RefusedError):
    """A package can't be installed: its manifest or a patch file of it is missing or broken."""

    code = "BUNDLE_INVALID"
    hint = "Nothing was changed. Mend the package, then add it again."


class RowIdTakenError(RefusedError):
    """A package inserts a row under an id that another layer uses; details name both."""

    code = "ROW_ID_TAKEN"
    hint = "Nothing was changed. Remove one of the two, or change the id; --force adds it anyway."


class ProgramFailedError(FailedError):
    """A program of the user's could not be started, or took too long."""

    code = "PROGRAM_FAILED"


class PnpmMissingError(PeerUnreachableError):
    """The work needs pnpm, which is not on PATH."""

    code = "PNPM_MISSING"
    hint = (
        "Install Node.js and pnpm (npm install --global pnpm); dshloop doctor shows what is found."
    )


class PnpmFailedError(FailedError):
    """pnpm ended with an error; details name its exit status and the log file."""

    code = "PNPM_FAILED"


class RegistryUnreachableError(PeerUnreachableError):
    """pnpm could not reach the registry or git host that the package comes from."""

    code = "REGISTRY_UNREACHABLE"
    hint = "Check the network and the proxy settings, then run the command again."


# --- sessions --------------------------------------------------------------------------------


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


# --- memory ----------------------------------------------------------------------------------


class MemoryEmptyError(UsageError):
    """There is nothing to remember or to look for: the text is blank."""

    code = "MEMORY_EMPTY"
    hint = "Give some words, or - to read them from standard input."


class MemoryTypeError(UsageError):
    """A memory's type is none of the six that there are."""

    code = "MEMORY_TYPE"


class MemoryNotFoundError(NotFoundError):
    """No memory has this id, or an id that begins so."""

    code = "MEMORY_NOT_FOUND"
    hint = "dshloop memory list shows what is stored."


class AmbiguousIdError(UsageError):
    """An abbreviated id fits more than one thing; details list the candidates."""

    code = "AMBIGUOUS_ID"
    hint = "Give more of the id."


class StoreUnknownError(NotFoundError):
    """No memory store has this name."""

    code = "STORE_UNKNOWN"


class StoreUnsupportedError(FailedError):
    """This Python's SQLite lacks what the embedded store needs (FTS5)."""

    code = "STORE_UNSUPPORTED"
    hint = "Use a Python whose SQLite is built with FTS5, as those of python.org are."


class StoreNewerError(RefusedError):
    """The memory database was written by a later dshloop."""

    code = "STORE_NEWER"
    hint = "Upgrade dshloop (pip install --upgrade dshloop), or name another folder by --data-dir."


class StoreCorruptError(FailedError):
    """The memory database is damaged or is no database of dshloop; details give its path."""

    code = "STORE_CORRUPT"
    hint = "Move the file aside or restore a copy of it; it was left as it is."


class StoreBusyError(RefusedError):
    """Another program has kept the memory database locked for too long."""

    code = "STORE_BUSY"
    hint = "Nothing was changed. End the program that uses the file, then run the command again."


# --- YAML files and patch layers ---------------------------------------------------------------


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


# --- history -----------------------------------------------------------------------------------


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


# --- what profiles say, and checks of it -----------------------------------------------------


class RowNotFoundError(NotFoundError):
    """No layer of the profile has a row with this id, or the row has no such key."""

    code = "ROW_NOT_FOUND"
    hint = "`dshloop profile row list` lists the rows."


class FindingsRefusedError(RefusedError):
    """What was to be written has findings of severity error; details list them."""

    code = "FINDINGS_REFUSED"
    hint = "Mend what is listed, or write it all the same with --force."


class ExportInvalidError(FailedError):
    """A file that should be the export of a profile is none, or is damaged."""

    code = "EXPORT_INVALID"
    hint = "`dshloop profile export FILE` writes such files."


class EditorFailedError(FailedError):
    """The editor could not be started, or ended with an error; nothing was changed."""

    code = "EDITOR_FAILED"
    hint = "Set $VISUAL or $EDITOR to an editor that works."


# --- plugins on and off --------------------------------------------------------------------------


class PluginInactiveError(RefusedError):
    """What should become a layer can't be one: the package declares no dsh.bundle."""

    code = "PLUGIN_INACTIVE"
    hint = "Nothing was changed. It stays a plain dependency, which other plugins' rows can load."


class DshMissingError(PeerUnreachableError):
    """The work needs the real dsh, which is not on PATH."""

    code = "DSH_MISSING"
    hint = "Install DeepSeek Harness and put dsh on PATH; dshloop doctor shows what is found."


class PluginRefusedError(RefusedError):
    """The preflight found errors in a package or in what the profile would become."""

    code = "PLUGIN_REFUSED"
    hint = "Nothing was changed. Mend what the details list, or go on with --force."


# --- edits of rows -------------------------------------------------------------------------------


class RowPathInvalidError(UsageError):
    """A path like ROW.key can't be read: it is empty or has an empty key."""

    code = "ROW_PATH_INVALID"
    hint = r"Write ROW.key.key2; a dot inside a name is \., an item of a list [0]."


class RowInvalidError(UsageError):
    """What is to be inserted is no row: not a mapping, or without a name."""

    code = "ROW_INVALID"
    hint = "Give a mapping with a name, for example {id: x, name: '@scope/package'}."


class RowKeyNotFoundError(NotFoundError):
    """A row's config has no such key or item."""

    code = "ROW_KEY_NOT_FOUND"


class PresetNotFoundError(NotFoundError):
    """There is no agent preset of this name among the user's own, the only ones to be edited."""

    code = "PRESET_NOT_FOUND"
    hint = "Shipped presets are read-only; copy one in dsh first, then edit the copy."


class EditRefusedError(RefusedError):
    """An edit can't be made in this layer, or it would change more than was asked for."""

    code = "EDIT_REFUSED"
    hint = "Nothing was changed. Edit another layer (--layer), or the file by hand."


# --- the loop dock -------------------------------------------------------------------------------


class LoopDockError(Exception):
    """What the errors of the dock have in common, to catch them all; never raised itself."""


class InvalidConfigError(FailedError, LoopDockError):
    """The dock row's config, or the options of a create or resume, are not what they must be."""

    code = "INVALID_CONFIG"
    hint = "Mend the value that is named; `dshloop loop check` looks at the whole row."


class InvalidLoopIdError(UsageError, LoopDockError):
    """A loop id breaks the grammar: lower case, digits, '.', '_' and '-'."""

    code = "INVALID_LOOP_ID"
    hint = "A loop id begins with a-z or 0-9; more of these, '.', '_' and '-' may follow."


class InvalidLoopDefinitionError(FailedError, LoopDockError):
    """What should be registered as a loop lacks something or holds something wrong."""

    code = "INVALID_LOOP_DEFINITION"
    hint = "A strategy loop needs setup(agent), a driver loop create_agent and resume."


class DuplicateLoopError(RefusedError, LoopDockError):
    """A loop of this id is registered already."""

    code = "DUPLICATE_LOOP"
    hint = "Choose another id, or unregister the one that is there."


class UnknownLoopError(NotFoundError, LoopDockError):
    """No loop of this id is registered; details list those that are."""

    code = "UNKNOWN_LOOP"
    hint = "`dshloop loop list` lists the loops; register this one, or choose another."


class InvalidDriverError(UsageError, LoopDockError):
    """A driver's name breaks the grammar, or what should be a driver can't make agents."""

    code = "INVALID_DRIVER"
    hint = "A name is like a loop id; a driver needs create_agent(owner, options) and resume."


class DuplicateDriverError(RefusedError, LoopDockError):
    """A driver of this name is registered already."""

    code = "DUPLICATE_DRIVER"
    hint = "Choose another name, or unregister the one that is there."


class MissingDriverError(NotFoundError, LoopDockError):
    """The driver a strategy loop is to run on is not registered; details say who named it."""

    code = "MISSING_DRIVER"
    hint = "`dshloop driver list` lists the drivers; register this one, or choose another."


class UnknownDriverError(NotFoundError, LoopDockError):
    """A driver that is to become the default is not registered; details list those that are."""

    code = "UNKNOWN_DRIVER"
    hint = "`dshloop driver list` lists the drivers."


class LoopSwitchError(RefusedError, LoopDockError):
    """A session is bound to one loop or driver and was asked to go on with another."""

    code = "LOOP_SWITCH"
    hint = "Resume it without naming another one, or start a new session."


class DriverContractError(FailedError, LoopDockError):
    """A driver or driver loop gave back something that is no agent with a way to end it."""

    code = "DRIVER_CONTRACT"
    hint = "create_agent and resume give back a handle with `agent` and `dispose`."


class SettingsUnavailableError(FailedError, LoopDockError):
    """A setting was to be written, and the host has no settings."""

    code = "SETTINGS_UNAVAILABLE"


class AgentWaitingError(FailedError, LoopDockError):
    """A configured agent has not started in time; details say what each one waits for."""

    code = "AGENT_WAITING"
    hint = "Register what is missing, or correct the entry under `agents` of the dock row."


# --- the host ------------------------------------------------------------------------------------


class RowFailedError(FailedError):
    """A row of the profile could not be started; details name row, layer, file and line."""

    code = "ROW_FAILED"
    hint = "Nothing runs. Mend the row, or switch it off: dshloop profile row disable ROW."


class PluginContractError(FailedError):
    """What an installed package offers as a plugin is none."""

    code = "PLUGIN_CONTRACT"
    hint = "A plugin is a class with `name`, `Config` and `async apply(host, config)`."


class RowConfigInvalidError(FailedError):
    """A row's config is not what its plugin takes; details name row, layer, file and line."""

    code = "ROW_CONFIG_INVALID"
    hint = "Mend the value in the line that is named."


class AgentFactoryTakenError(RefusedError):
    """Two rows want to be what makes the agents; there can be one."""

    code = "AGENT_FACTORY_TAKEN"
    hint = "Switch one of the two rows off: dshloop profile row disable ROW."


class AgentFactoryMissingError(FailedError):
    """An agent was asked for, and no row makes agents."""

    code = "AGENT_FACTORY_MISSING"
    hint = "The profile needs the row dsh-loop-dock."


class ServiceTakenError(RefusedError):
    """Two rows provide a service of the same name; details name it."""

    code = "SERVICE_TAKEN"
    hint = "Switch one of the two rows off: dshloop profile row disable ROW."


class AgentSetupAbortedError(RefusedError):
    """An agent was stopped before it was there; nothing of it is left."""

    code = "AGENT_SETUP_ABORTED"


class EngineInactiveError(RefusedError):
    """An agent was asked for after the host had been stopped."""

    code = "ENGINE_INACTIVE"


class ToolExistsError(RefusedError):
    """A tool of this name is registered already; details name it."""

    code = "TOOL_EXISTS"


def every_error() -> Iterator[type[DshloopError]]:
    """Yield each error class, parents first, in the order of this module."""
    pending: list[type[DshloopError]] = [DshloopError]
    while pending:
        kind = pending.pop(0)
        yield kind
        pending.extend(kind.__subclasses__())


# --- loops.yml, and loops and drivers from elsewhere -------------------------------------------


class LoopsFileInvalidError(FailedError):
    """A loops.yml holds something that is no loop or driver; details name file, line, column."""

    code = "LOOPS_FILE_INVALID"
    hint = "Mend the line that is named; docs/loops-file.md lists the keys."


class LoopImportError(FailedError, LoopDockError):
    """What an import path leads to can't be imported, or must not be; details say why."""

    code = "LOOP_IMPORT_FAILED"
    hint = "Install the package into dshloop's environment, or correct MODULE:OBJECT."


class RouteNotFoundError(NotFoundError, LoopDockError):
    """The dock row has no such route, and a removal was asked for."""

    code = "ROUTE_NOT_FOUND"
    hint = "`dshloop loop explain` shows what is routed; nothing was changed."


class AgentNotFoundError(NotFoundError, LoopDockError):
    """The dock row asks for no agent of this id."""

    code = "AGENT_NOT_FOUND"
    hint = "`dshloop agent list` lists the agents of the profile."


class DockRowMissingError(RefusedError, LoopDockError):
    """The profile has no dock row that could be edited, and none may be put in unasked."""

    code = "DOCK_ROW_MISSING"
    hint = "Put one in with --yes, or add the plugin: dshloop plugin add dsh-loop-dock."


class ScriptInvalidError(FailedError):
    """A script of the fake driver holds something wrong; details name file, line, column."""

    code = "SCRIPT_INVALID"
    hint = "Mend the line that is named; docs/fake-driver.md lists the keys."
