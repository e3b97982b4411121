"""The system prompt of an agent: sections in an order, variables filled in (loop-dock 14)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from dshloop.host.hooks import Disposer

if TYPE_CHECKING:
    from dshloop.host.agent import Agent

Variable = Callable[["Agent"], object]
EVENT = "system-prompt/assemble"
_VARIABLE = re.compile(r"\{\{\s*([A-Za-z][\w.-]*)\s*\}\}")


class Section(NamedTuple):
    """A part of the prompt; lower orders come first, equal ones as they were added."""

    name: str
    text: str
    order: float = 0


class SystemPrompt:
    """Sections and variables of the host, or of one agent on top of the host's."""

    def __init__(self, parent: SystemPrompt | None = None) -> None:
        self._parent = parent
        self._sections: dict[int, Section] = {}
        self._variables: dict[str, Variable] = {}
        self._number = 0

    def scope(self) -> SystemPrompt:
        """Make the prompt of one agent."""
        return SystemPrompt(self)

    def section(self, name: str, text: str, *, order: float = 0) -> Disposer:
        """Add a section; ``{{name}}`` in it stands for a variable."""
        self._number += 1
        number = self._number
        self._sections[number] = Section(name, text, order)
        return lambda: self._sections.pop(number, None) and None

    def variable(self, name: str, value: Variable) -> Disposer:
        """Add a variable, or put another in the place of the host's; it is asked each time."""
        before = self._variables.get(name)
        self._variables[name] = value

        def dispose() -> None:
            if self._variables.get(name) is value:
                self._variables.pop(name)
                if before is not None:
                    self._variables[name] = before

        return dispose

    @property
    def sections(self) -> list[Section]:
        """All sections in their order, the host's before an agent's own of the same order."""
        above = self._parent.sections if self._parent is not None else []
        return sorted([*above, *self._sections.values()], key=lambda section: section.order)

    @property
    def variables(self) -> Mapping[str, Variable]:
        """All variables, an agent's own before the host's."""
        above = self._parent.variables if self._parent is not None else {}
        return {**above, **self._variables}


async def assemble(agent: Agent) -> str | None:
    """Put an agent's prompt together; None when there is nothing to say.

    Listeners on ``system-prompt/assemble`` may give other sections.
    """
    base = agent.options.system
    first = [] if base is None else [Section("base", base, float("-inf"))]
    found: list[Section] = [*first, *agent.prompt.sections]
    if agent.hooks.listeners(EVENT):
        payload: dict[str, Any] = {"agent": agent, "sections": found}
        answer = await agent.hooks.waterfall(EVENT, payload, last=lambda: found)
        if not isinstance(answer, list | tuple):
            raise TypeError(f"a listener on {EVENT} gave back {answer!r:.60}, no list of sections")
        found = list(answer)
    variables = agent.prompt.variables
    texts = (fill(section.text, agent, variables).strip() for section in found)
    return "\n\n".join(text for text in texts if text) or None


def fill(text: str, agent: Agent, variables: Mapping[str, Variable]) -> str:
    """Fill the variables of a text in; one that nobody knows stays as it is."""

    def value(match: re.Match[str]) -> str:
        variable = variables.get(match[1])
        found = None if variable is None else variable(agent)
        return match[0] if variable is None else "" if found is None else str(found)

    return _VARIABLE.sub(value, text) if "{{" in text else text
