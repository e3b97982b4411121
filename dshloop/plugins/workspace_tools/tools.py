"""The five tools as a host offers them; what touches files runs beside the event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any

from dshloop.host.tools import Tool
from dshloop.plugins.workspace_tools import editing, listing, reading, searching
from dshloop.plugins.workspace_tools import shell as commands
from dshloop.plugins.workspace_tools.row import workspace_of

if TYPE_CHECKING:
    from dshloop.host.tools import Execution

Keys = Callable[[], Collection[str]]
"""Names the variables that hold keys of model providers."""


def tools(keys: Keys) -> Iterator[Tool]:
    """Make the tools."""
    yield _tool(reading, _beside_the_loop(reading.read))
    yield _tool(listing, _beside_the_loop(listing.list_folder))
    yield _tool(searching, _search)
    yield _tool(editing, _beside_the_loop(editing.edit), exclusive=True)

    async def shell(execution: Execution) -> str:
        environment = commands.without_keys(os.environ, keys())
        workspace, given = workspace_of(execution), execution.arguments
        seconds = given.get("seconds", commands.SECONDS)
        signal = execution.signal
        return await commands.shell(workspace, given["command"], signal, environment, seconds)

    yield _tool(commands, shell, exclusive=True)


def _tool(module: Any, body: Any, *, exclusive: bool = False) -> Tool:
    return Tool(module.NAME, module.DESCRIPTION, body, module.PARAMETERS, exclusive)


def _beside_the_loop(function: Callable[..., str]) -> Callable[[Execution], Any]:
    async def body(execution: Execution) -> str:
        workspace = workspace_of(execution)
        return await asyncio.to_thread(function, workspace, **execution.arguments)

    return body


async def _search(execution: Execution) -> str:
    return await searching.search(workspace_of(execution), execution.arguments, execution.signal)
