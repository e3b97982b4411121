"""Faults of the host and of the plugins it runs."""

from __future__ import annotations

from dshloop.errors.base import FailedError, RefusedError


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


class SettingsInvalidError(FailedError):
    """dsh's settings.yaml, or a namespace of it, is no mapping; details name file and line."""

    code = "SETTINGS_INVALID"
    hint = "Write it as a mapping, like agent-loops: {defaultDriver: fake-driver}."


class CompactionFailedError(FailedError):
    """No summary of a session's history came; the history is as it was."""

    code = "COMPACTION_FAILED"
    hint = "Try again later: /compact."
