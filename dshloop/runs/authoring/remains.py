"""What a host holds, and what is left in it when an agent has ended."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.host.host import Host

_OF_ASYNCIO = "asyncio_"
"""How the threads of asyncio.to_thread are called, which wait for more work."""


@dataclass(frozen=True, slots=True)
class Held:
    """Everything that can be registered in a host, by kind and name, with how often.

    Besides there is what belongs to the whole program: tasks, threads, open files, working
    directory, variables. Model providers are left out: they may stay, once a name.
    """

    registered: Mapping[str, Counter[str]]
    tasks: frozenset[asyncio.Task[Any]]
    threads: frozenset[threading.Thread]
    files: Counter[str]
    cwd: str
    variables: Mapping[str, str]

    @classmethod
    def by(cls, host: Host) -> Held:
        """Look at a host as it is now; must be called in its event loop."""
        tools = host.tools
        return cls(
            {
                "a listener on": Counter(_listeners(host)),
                "the tool": Counter(tool.name for tool in tools.offered),
                "a guard of tools": Counter({"in the host": len(tools.guards)}),
                "a limit of tools": Counter({"in the host": tools.limits}),
                "the prompt section": Counter(part.name for part in host.prompt.sections),
                "the prompt variable": Counter(list(host.prompt.variables)),
                "the agent": Counter(list(host.agents)),
                "the reserved session id": Counter(host.pending),
            },
            frozenset(asyncio.all_tasks()),
            frozenset(threading.enumerate()),
            Counter(_open_files()),
            os.getcwd(),  # noqa: PTH109 - as it is spelled
            dict(os.environ),
        )

    def beyond(self, before: Held) -> list[str]:
        """Name what is there and was not before, or is gone and was there."""
        return [*self._registered(before), *self._world(before)]

    def _registered(self, before: Held) -> Iterator[str]:
        for kind, names in self.registered.items():
            for name in names - before.registered[kind]:
                yield f"{kind} {name} is left in the host"
            for name in before.registered[kind] - names:
                yield f"{kind} {name} was taken out of the host, and is not the loop's"

    def _world(self, before: Held) -> Iterator[str]:
        for task in self.tasks - before.tasks:
            if not task.done():
                yield f"the task {_named(task)} still runs"
        for thread in self.threads - before.threads:
            if thread.is_alive() and not thread.name.startswith(_OF_ASYNCIO):
                yield f"the thread {thread.name} still runs"
        for file in self.files - before.files:
            yield f"{file} is left open"
        if self.cwd != before.cwd:
            yield f"the working directory is another one: {self.cwd}"
        names = {*self.variables, *before.variables}
        for name in sorted(names):
            if self.variables.get(name) != before.variables.get(name):
                yield f"the environment variable {name} is another one"


def _listeners(host: Host) -> dict[str, int]:
    return {event: len(host.hooks.listeners(event)) for event in host.hooks.events}


def _open_files() -> Iterator[str]:
    """Name what this program has open, where the system tells."""
    for descriptor in Path("/proc/self/fd").glob("*"):
        try:
            target = str(descriptor.readlink())
        except OSError:  # that of the look itself
            continue
        kind, colon, _ = target.partition(":")
        yield f"a {kind}" if colon and not target.startswith("/") else f"the file {target}"


def _named(task: asyncio.Task[Any]) -> str:
    return getattr(task.get_coro(), "__qualname__", None) or task.get_name()
