"""What a driver carries of what a loop asks for, and what becomes of the rest.

A driver whose engine is another program has a prompt and tools of its own. It says so with
``carries``; a strategy that needs more is refused before anything is written, unless the caller
lets it go on without.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from dshloop.errors import DriverLacksError
from dshloop.host.hooks import EVENTS
from dshloop.host.setup import prepare
from dshloop.loops.names import is_object, listed
from dshloop.loops.registry import Loop, Setup
from dshloop.loops.setups import Committed

OPTIONS = ("provider", "model", "maxTokens", "reasoningEffort", "cwd")
PARTIAL = "allowPartial"
"""The key of the options that lets a driver leave out what it doesn't carry."""
ENGINES_OWN = "enginesOwn"
"""Marks a loop that only mounts what every engine brings in a form of its own."""


class Carries(NamedTuple):
    """What reaches an engine: of the options, of prompt and tools, and which events it tells of."""

    options: Collection[str] = OPTIONS
    prompt: bool = True
    tools: bool = True
    hooks: Collection[str] = EVENTS

    def as_json(self) -> dict[str, Any]:
        """Give it as `driver show --json` prints it."""
        options = {name: name in self.options for name in OPTIONS}
        return {**options, "prompt": self.prompt, "tools": self.tools, "hooks": sorted(self.hooks)}

    def as_text(self) -> str:
        """Give what people see of what is carried; `lacking` names the rest."""
        given = self.as_json()
        count = len(EVENTS & set(self.hooks))
        hooks = "all hooks" if count == len(EVENTS) else f"{count} of {len(EVENTS)} hooks"
        carried = [_NAMES.get(name, name) for name in given if given[name] is True]
        return listed([*carried, hooks])

    @property
    def lacking(self) -> list[str]:
        """Give what isn't carried, as people call it."""
        given = self.as_json()
        hooks = sorted(EVENTS - set(self.hooks))
        found = [_NAMES.get(name, name) for name in given if given[name] is False]
        return [*found, *([f"hooks ({listed(hooks)})"] if hooks else [])]


EVERYTHING = Carries()
_NAMES = {"prompt": "prompt sections"}


def carries_of(driver: object) -> Carries:
    """Give what a driver says it carries; one that says nothing carries everything."""
    found = getattr(driver, "carries", None)
    return found if isinstance(found, Carries) else EVERYTHING


def carried(loop: Loop, carries: Carries, options: Mapping[str, Any], owner: Any) -> Setup | None:
    """Give a strategy's setup that holds what it does to an agent against what is carried.

    Raises DRIVER_LACKS, or warns the owner where the options allow it to be left out.
    """
    setup = loop.setup
    if carries == EVERYTHING or setup is None:
        return setup

    async def checked(agent: Any) -> Committed | None:
        before = _Reach.of(agent)
        commit = await prepare(setup, agent)
        lacking = _options(options, carries)
        if ENGINES_OWN not in loop.extra:
            lacking += _Reach.of(agent).beyond(before, carries)
        if lacking:
            _refuse(lacking, options, owner)
        return None if commit is None else Committed(commit)

    return checked


def _options(options: Mapping[str, Any], carries: Carries) -> list[str]:
    """Find what was typed, or is pinned, and doesn't reach the engine."""
    given = options.get("agentOptions")
    asked = given if is_object(given) else {}
    return [
        f"{name} ({asked[name]})"
        for name in OPTIONS
        if asked.get(name) is not None and name not in carries.options
    ]


class _Reach(NamedTuple):
    """How far an agent has been prepared: its sections, tools, limits of tools, listeners."""

    sections: Collection[str]
    tools: Collection[str]
    limits: int
    listeners: Mapping[str, int]

    @classmethod
    def of(cls, agent: Any) -> _Reach:
        return cls(
            [section.name for section in agent.prompt.sections],
            [tool.name for tool in agent.tools.offered],
            agent.tools.limits,
            {event: len(agent.hooks.listeners(event)) for event in EVENTS},
        )

    def beyond(self, before: _Reach, carries: Carries) -> list[str]:
        """Name what was added since and isn't carried."""
        found = []
        sections = [name for name in self.sections if name not in before.sections]
        if sections and not carries.prompt:
            found.append(f"prompt sections ({listed(sections)})")
        tools = [name for name in self.tools if name not in before.tools]
        if tools and not carries.tools:
            found.append(f"tools ({listed(tools)})")
        if self.limits > before.limits and not carries.tools:
            found.append("its choice of tools")
        events = [name for name in sorted(EVENTS) if self.listeners[name] > before.listeners[name]]
        lost = [name for name in events if name not in carries.hooks]
        if lost:
            found.append(f"hooks ({listed(lost)})")
        return found


def _refuse(lacking: list[str], options: Mapping[str, Any], owner: Any) -> None:
    loop, driver = options.get("loop"), options.get("driver")
    if options.get(PARTIAL) is True:
        owner.warn(f'driver "{driver}" leaves out of loop "{loop}": {listed(lacking)}')
        return
    raise DriverLacksError(
        f'loop "{loop}" needs what driver "{driver}" doesn\'t carry: {listed(lacking)}',
        loop=loop,
        driver=driver,
        lacking=lacking,
    )
