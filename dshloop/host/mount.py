"""What one row sees of the host: all that it registers here goes when the row stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dshloop.host.calling import call
from dshloop.host.hooks import Disposer, Hooks, Listener
from dshloop.host.host import AdapterSource, AgentFactory, Host
from dshloop.host.prompt import SystemPrompt, Variable
from dshloop.host.tools import Guard, Tool, Tools
from dshloop.llm.messages import ModelAdapter

if TYPE_CHECKING:
    from dshloop.host.agent import Agent


class Mount:
    """The place of a row: in the host, or in the scope of one agent (a row of its preset).

    What is registered through it is undone in reverse order by `unwind`.
    """

    def __init__(self, host: Host, agent: Agent | None = None) -> None:
        self.host = host
        self.agent = agent
        self._undo: list[Callable[[], Any]] = []

    @property
    def hooks(self) -> Hooks:
        """The listeners of this place."""
        return self.host.hooks if self.agent is None else self.agent.hooks

    @property
    def tools(self) -> Tools:
        """The tools of this place."""
        return self.host.tools if self.agent is None else self.agent.tools

    @property
    def prompt(self) -> SystemPrompt:
        """The system prompt of this place."""
        return self.host.prompt if self.agent is None else self.agent.prompt

    def service(self, name: str) -> Any:
        """Give a service of the host, None when nobody provides it."""
        return self.host.service(name)

    def undo(self, step: Callable[[], Any]) -> None:
        """Have something done when the row stops; it may be async."""
        self._undo.append(step)

    def on(self, event: str, listener: Listener, *, prepend: bool = False) -> Disposer:
        """Listen to an event of this place."""
        return self._kept(self.hooks.on(event, listener, prepend=prepend))

    def provide(self, name: str, service: Any) -> Disposer:
        """Offer a service to the other rows. Raises SERVICE_TAKEN."""
        return self._kept(self.host.provide(name, service))

    def tool(self, tool: Tool) -> Disposer:
        """Offer a tool. Raises TOOL_EXISTS."""
        return self._kept(self.tools.register(tool))

    def guard(self, guard: Guard) -> Disposer:
        """Have every call of a tool looked at before it runs."""
        return self._kept(self.tools.guard(guard))

    def section(self, name: str, text: str, *, order: float = 0) -> Disposer:
        """Add a section to the system prompt."""
        return self._kept(self.prompt.section(name, text, order=order))

    def variable(self, name: str, value: Variable) -> Disposer:
        """Add a variable of the system prompt."""
        return self._kept(self.prompt.variable(name, value))

    def adapter(self, adapter: ModelAdapter) -> Disposer:
        """Add a model provider; one of this name that is there already stays."""
        adapters, name = self.host.adapters, adapter.provider
        adapters.setdefault(name, adapter)

        def dispose() -> None:
            if adapters.get(name) is adapter:
                del adapters[name]

        return self._kept(dispose)

    def adapter_source(self, source: AdapterSource) -> Disposer:
        """Have model providers that nobody has added looked for there, when one is asked for."""
        sources = self.host.adapter_sources
        sources.append(source)
        return self._kept(lambda: sources.remove(source))

    def take_factory(self, factory: AgentFactory) -> Disposer:
        """Have all agents made by this. Raises AGENT_FACTORY_TAKEN."""
        return self._kept(self.host.take_factory(factory))

    async def unwind(self) -> None:
        """Undo all, the last first; what fails in it is told and stops nothing."""
        while self._undo:
            try:
                await call(self._undo.pop())
            except Exception as error:
                self.host.warn(f"stopping a row: {error}")

    def _kept(self, dispose: Disposer) -> Disposer:
        self._undo.append(dispose)
        return dispose
