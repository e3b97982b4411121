"""The row `dshloop/workspace-tools`: read, list, search; edit and shell where they are allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshloop.host.mount import Mount
from dshloop.host.tools import ToolFailure
from dshloop.plugins.headless_driver import PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dshloop.host.tools import Execution
    from dshloop.plugins.workspace_tools.workspace import Workspace

NAME = "dshloop/workspace-tools"
ASKED = ("edit", "shell")
"""The tools that somebody has to allow."""


@dataclass(frozen=True, slots=True)
class WorkspaceToolsConfig:
    """``allow`` names those of edit and shell that nobody is asked about."""

    allow: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        known = isinstance(self.allow, list | tuple) and all(one in ASKED for one in self.allow)
        if not known:
            raise ValueError(f"allow must be a list of {' and '.join(ASKED)}")


class WorkspaceTools:
    """Offers the tools, and asks before the two that change something."""

    name = "dshloop-workspace-tools"
    Config = WorkspaceToolsConfig
    inject = ("tools",)

    async def apply(self, host: Mount, config: WorkspaceToolsConfig) -> None:
        """Register the tools. Raises TOOL_EXISTS."""
        from dshloop.plugins.workspace_tools import tools

        for tool in tools.tools(lambda: self._keys(host)):
            host.tool(tool)
        own = {name: host.tools.get(name) for name in ASKED}

        async def decide(
            execution: Execution, following: Callable[[], Awaitable[Mapping[str, Any]]]
        ) -> Mapping[str, Any]:
            answer = await following()
            if execution.tool is None or execution.tool is not own.get(execution.name):
                return answer
            if execution.name in config.allow or answer.get("kind") != "allow":
                return answer
            return {"kind": "ask", "reason": _reason(execution.name)}

        host.on("tools/pre-execute", decide)

    @staticmethod
    def _keys(host: Mount) -> set[str]:
        """Name the variables that hold keys of providers."""
        source = host.service(PROVIDERS)
        known = {} if source is None else source().known
        return {one.key_variable for one in known.values() if one.key_variable is not None}


def _reason(name: str) -> str:
    return f"{name} was not allowed: a person allows it when asked, or --allow {name} does"


def workspace_of(execution: Execution) -> Workspace:
    """Give the workspace of a call's session. Raises ToolFailure, NO_WORKSPACE."""
    from dshloop.plugins.workspace_tools.workspace import Workspace

    cwd = execution.agent.session.header.cwd
    if cwd is None:
        raise ToolFailure("the session has no folder", "WorkspaceError", "NO_WORKSPACE")
    return Workspace(Path(cwd))
