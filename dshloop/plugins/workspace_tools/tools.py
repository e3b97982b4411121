"""The five tools as a host offers them; what touches files runs beside the event loop.

A tool's module is imported with its first call.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dshloop.host.tools import Tool
from dshloop.plugins.workspace_tools import offered
from dshloop.plugins.workspace_tools.offered import Offered
from dshloop.plugins.workspace_tools.row import workspace_of

if TYPE_CHECKING:
    from dshloop.host.tools import Execution

Keys = Callable[[], Collection[str]]
"""Names the variables that hold keys of model providers."""

_PACKAGE = "dshloop.plugins.workspace_tools"


def tools(keys: Keys) -> Iterator[Tool]:
    """Make the tools."""
    yield _tool(offered.READ, _beside_the_loop("reading", "read"), reads=True)
    yield _tool(offered.LIST, _beside_the_loop("listing", "list_folder"), reads=True)
    yield _tool(offered.SEARCH, _search, reads=True)
    yield _tool(offered.EDIT, _beside_the_loop("editing", "edit"), exclusive=True)

    async def shell(execution: Execution) -> str:
        from dshloop.plugins.workspace_tools import shell as commands

        environment = commands.without_keys(os.environ, keys())
        workspace, given = workspace_of(execution), execution.arguments
        seconds = given.get("seconds", offered.SECONDS)
        signal = execution.signal
        return await commands.shell(workspace, given["command"], signal, environment, seconds)

    yield _tool(offered.SHELL, shell, exclusive=True)


def _tool(shown: Offered, body: Any, *, exclusive: bool = False, reads: bool = False) -> Tool:
    return Tool(shown.name, shown.description, body, shown.parameters, exclusive, reads=reads)


def _beside_the_loop(module: str, function: str) -> Callable[[Execution], Any]:
    async def body(execution: Execution) -> str:
        import asyncio

        work = getattr(import_module(f"{_PACKAGE}.{module}"), function)
        said: str = await asyncio.to_thread(work, workspace_of(execution), **execution.arguments)
        return said

    return body


async def _search(execution: Execution) -> str:
    from dshloop.plugins.workspace_tools.searching import search

    return await search(workspace_of(execution), execution.arguments, execution.signal)
