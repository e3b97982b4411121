"""Faults of the loop dock, of loops.yml and of loops and drivers from elsewhere."""

from __future__ import annotations

from dshloop.errors.base import FailedError, NotFoundError, RefusedError, UsageError


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
    """What makes agents gave back none with a way to end it, or one of another session or loop."""

    code = "DRIVER_CONTRACT"
    hint = "create_agent and resume give back a handle with `agent` and `dispose`."


class SettingsUnavailableError(FailedError, LoopDockError):
    """A setting was to be written, and the host has no settings."""

    code = "SETTINGS_UNAVAILABLE"


class AgentWaitingError(FailedError, LoopDockError):
    """A configured agent has not started in time; details say what each one waits for."""

    code = "AGENT_WAITING"
    hint = "Register what is missing, or correct the entry under `agents` of the dock row."


class AgentFailedError(FailedError, LoopDockError):
    """A loop or driver raised something of its own while it made or ran an agent."""

    code = "AGENT_FAILED"
    hint = "It is the loop's or driver's fault; `dshloop loop show` says where one is from."


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


class LoopNameError(UsageError):
    """A loop's id gives no name that a Python module of its package could have."""

    code = "LOOP_NAME"
    hint = "Begin the id with a letter, and choose one that is no module of Python's own."


class LoopTargetError(NotFoundError):
    """What is to be tried as a loop is no installed package, module or folder with loops."""

    code = "LOOP_TARGET_NOT_FOUND"
    hint = (
        "Give MODULE:OBJECT, a module or its file, an installed package, or a folder with a "
        "pyproject.toml."
    )


class LoopKitError(FailedError, LoopDockError):
    """A loop doesn't keep what every loop must; details have the failed checks."""

    code = "LOOP_CHECKS_FAILED"
    hint = "`dshloop loop test` prints what to do about each."


class TeamCapError(RefusedError, LoopDockError):
    """More agents were asked for than may run together, or than a conversation may start."""

    code = "TEAM_TOO_LARGE"
    hint = "Ask for fewer agents, or give the work to those that are there."


class TeamDepthError(RefusedError, LoopDockError):
    """An agent that is itself so deep in teams of teams asked for a team of its own."""

    code = "TEAM_TOO_DEEP"
    hint = "Let the agent do the work itself, or a loop allow more with team.depth."


class TeamsUnavailableError(FailedError, LoopDockError):
    """A loop offers teams where nobody runs them: the host has no service agentTeams."""

    code = "TEAMS_UNAVAILABLE"
    hint = "Run it with `dshloop session run`, or take `team` out of the loop."
