"""The tools that an agent may call: the host's, and on top of them its own."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from dshloop.errors import ToolExistsError
from dshloop.host.abort import AbortSignal
from dshloop.host.hooks import Disposer
from dshloop.llm.messages import text_block

if TYPE_CHECKING:
    from dshloop.host.agent import Agent

Content = Sequence[Mapping[str, Any]]
Body = Callable[["Execution"], Awaitable[Any] | Any]
Guard = Callable[["Execution"], str | None]
"""Looks at a call and gives the reason why it may not run, or None."""

ANYTHING: Mapping[str, Any] = {"type": "object"}


class ToolFault(NamedTuple):
    """The name and code of an error as logs hold it."""

    name: str
    code: str


class ToolFailure(Exception):  # noqa: N818 - what is raised is a result, not a fault of ours
    """Raise it in a tool to answer with this text and this error."""

    def __init__(self, message: str, name: str = "ToolError", code: str = "TOOL_FAILED") -> None:
        super().__init__(message)
        self.fault = ToolFault(name, code)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call came to. ``meta`` is kept in the log and never shown to the model.

    ``additional_contexts`` are messages, or texts, for the next step; ``concludes_turn`` ends the
    turn when nothing else waits.
    """

    content: Content = ()
    error: ToolFault | None = None
    is_error: bool = False
    value: Any = None
    meta: Any = None
    additional_contexts: Sequence[Any] = ()
    concludes_turn: bool = False

    @classmethod
    def of(cls, value: Any) -> ToolResult:
        """Make a result of what a tool gave back: a result, a text, blocks, any JSON value."""
        if isinstance(value, ToolResult):
            return value
        return cls(content=as_content(value), value=value)

    @classmethod
    def failed(cls, message: str, fault: ToolFault) -> ToolResult:
        """Make the result of a call that failed."""
        return cls([text_block(f"Error: {message}")], fault, is_error=True)


@dataclass(frozen=True)
class Tool:
    """One tool. ``parameters`` is the JSON schema of its arguments.

    An ``exclusive`` one runs while no other does. ``finalize`` has the last word on the content
    of a result. One that ``reads`` changes nothing, and stays in a read-only run.
    """

    name: str
    description: str
    body: Body
    parameters: Mapping[str, Any] = field(default_factory=lambda: ANYTHING)
    exclusive: bool = False
    finalize: Callable[[Content], Content] | None = None
    reads: bool = False

    def as_json(self) -> dict[str, Any]:
        """Give the tool as a request offers it to the model."""
        shown = {"name": self.name, "description": self.description}
        return {**shown, "parameters": dict(self.parameters)}

    def read_arguments(self, raw: str) -> Any:
        """Read and check the arguments of a call. Raises ToolFailure, INVALID_ARGUMENTS."""
        try:
            arguments = json.loads(raw) if raw.strip() else {}
        except (ValueError, RecursionError) as error:
            raise _bad_arguments(f"the arguments are no JSON: {error}") from error
        from fastjsonschema import JsonSchemaValueException  # takes 20 ms, for whoever has tools

        try:
            self._check(arguments)
        except JsonSchemaValueException as error:
            said = str(error.message).replace("data.", "", 1)
            raise _bad_arguments(f"the arguments don't fit: {said}") from error
        return arguments

    @cached_property
    def _check(self) -> Callable[[Any], Any]:
        from fastjsonschema import compile as compile_schema

        check: Callable[[Any], Any] = compile_schema(dict(self.parameters), use_default=False)
        return check


@dataclass(slots=True)
class Execution:
    """A call under way; a listener on tools/execute may put another ``signal`` in."""

    agent: Agent
    call_id: str
    name: str
    raw_arguments: str
    turn: int
    step: int
    signal: AbortSignal
    tool: Tool | None = None
    arguments: Any = None


class Tools:
    """The tools of the host, or of one agent on top of the host's."""

    def __init__(
        self, parent: Tools | None = None, changed: Callable[[], object] | None = None
    ) -> None:
        self._parent = parent
        inherited: Callable[[], object] = parent._changed if parent else lambda: None
        self._changed: Callable[[], object] = changed or inherited
        self._tools: dict[str, Tool] = {}
        self._guards: dict[int, Guard] = {}
        self._limits: dict[int, Callable[[str], bool]] = {}
        self._stand_ins: Mapping[str, Tool] = {}
        self._number = 0

    def scope(self) -> Tools:
        """Make the tools of one agent."""
        return Tools(self)

    def register(self, tool: Tool) -> Disposer:
        """Offer a tool; an agent's own takes the place of the host's. Raises TOOL_EXISTS."""
        if tool.name in self._tools:
            raise ToolExistsError(f'tool "{tool.name}" is already registered', tool=tool.name)
        self._tools[tool.name] = tool
        self._changed()

        def dispose() -> None:
            if self._tools.get(tool.name) is tool:
                del self._tools[tool.name]
                self._changed()

        return dispose

    def stand_in(self, tools: Sequence[Tool]) -> None:
        """Have these called in the place of the tools of their names, whoever registers those."""
        self._stand_ins = {tool.name: tool for tool in tools}
        self._changed()

    def guard(self, guard: Guard) -> Disposer:
        """Have every call looked at before it runs; a guard can only refuse."""
        return self._keep(self._guards, guard)

    def restrict(self, *, allow: Sequence[str] | None = None, deny: Sequence[str] = ()) -> Disposer:
        """Hide tools: all but ``allow``, and those of ``deny``; a hidden one can't be called."""
        dispose = self._keep(
            self._limits, lambda name: (allow is None or name in allow) and name not in deny
        )
        self._changed()
        return dispose

    def get(self, name: str) -> Tool | None:
        """Give the tool of a name, None when there is none or it is hidden."""
        return self._found().get(name)

    @property
    def offered(self) -> list[Tool]:
        """All tools that may be called, by name."""
        found = self._found()
        return [found[name] for name in sorted(found)]

    @property
    def limits(self) -> int:
        """How many restrictions hold, the host's and its own."""
        above = self._parent.limits if self._parent is not None else 0
        return above + len(self._limits)

    @property
    def guards(self) -> list[Guard]:
        """All guards, the host's first."""
        above = self._parent.guards if self._parent is not None else []
        return [*above, *self._guards.values()]

    def _found(self) -> dict[str, Tool]:
        above = self._parent._found() if self._parent is not None else {}
        found = {**above, **self._tools, **self._stand_ins}
        for shows in self._limits.values():
            found = {name: tool for name, tool in found.items() if shows(name)}
        return found

    def _keep(self, where: dict[int, Any], what: Any) -> Disposer:
        self._number += 1
        number = self._number
        where[number] = what
        return lambda: where.pop(number, None) and None


def as_content(value: Any) -> Content:
    """Make blocks of a value: blocks as they are, a text as text, all else as JSON."""
    if isinstance(value, list) and value and all(_is_block(item) for item in value):
        return value
    if value is None:
        return []
    if isinstance(value, str):
        return [text_block(value)]
    return [text_block(json.dumps(value, ensure_ascii=False))]


def _is_block(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("type"), str)


def _bad_arguments(message: str) -> ToolFailure:
    return ToolFailure(message, "InvalidArgumentsError", "INVALID_ARGUMENTS")
