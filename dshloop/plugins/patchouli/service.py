"""The memory service: which plugins there are, and calls fanned out to them (patchouli 8)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from dshloop.host.abort import AbortSignal
from dshloop.host.calling import call, contained
from dshloop.plugins.patchouli.routing import ServiceConfig
from dshloop.plugins.patchouli.signals import require_going, unless_aborted

if TYPE_CHECKING:
    from dshloop.plugins.patchouli.subscriptions import Cursors, Subscriber, Subscription

SERVICE = "patchouli"

Request = Mapping[str, Any]
Outcome = dict[str, Any]
"""``{pluginId, ok: true, value}`` or ``{pluginId, ok: false, error}``."""
Disposer = Callable[[], None]


class Call(NamedTuple):
    """What filters see of a call."""

    operation: str
    meta: Mapping[str, Any]


Filter = Callable[[Call], bool]


class MemoryPlugin(Protocol):
    """What interprets requests ``{meta, data}``; it answers with any JSON value.

    It may have ``filter(call)`` too, and ``subscribe(request, handler, *, signal)`` (subscribing).
    """

    id: str

    async def update(self, request: Request, *, signal: AbortSignal | None) -> Any:
        """Take in what a request tells."""
        ...

    async def retrieve(self, request: Request, *, signal: AbortSignal | None) -> Any:
        """Answer a request."""
        ...


class Registered(NamedTuple):
    """A plugin, and the filter it was registered with."""

    plugin: MemoryPlugin
    filter: Filter | None


class MemoryService:
    """The service `patchouli`. Outcomes come in the order of registration."""

    def __init__(self, config: ServiceConfig | None = None) -> None:
        self.config = config or ServiceConfig()
        self._plugins: dict[str, Registered] = {}

    @property
    def plugins(self) -> list[str]:
        """The ids of all plugins."""
        return list(self._plugins)

    def register(self, plugin: MemoryPlugin, filter: Filter | None = None) -> Disposer:  # noqa: A002
        """Add a plugin; call what comes back to take it away. Raises ValueError."""
        name = plugin.id
        if not isinstance(name, str) or not name.strip():
            raise ValueError("memory plugin id must be a non-empty string")
        if name in self._plugins:
            raise ValueError(f'memory plugin "{name}" is already registered')
        self._plugins[name] = found = Registered(plugin, filter)

        def dispose() -> None:
            if self._plugins.get(name) is found:
                del self._plugins[name]

        return dispose

    async def update(
        self,
        request: Request,
        *,
        signal: AbortSignal | None = None,
        only: Collection[str] | None = None,
    ) -> list[Outcome]:
        """Have all plugins that match take a request in; ``only`` names those that still must.

        Raises the reason of an aborted signal.
        """

        def limited(plugin: MemoryPlugin) -> Awaitable[Any]:
            work = call(lambda: plugin.update(request, signal=signal))
            return _within(work, f"{plugin.id} update", self.config.update_timeout_ms)

        return await self._fan_out(Call("update", request["meta"]), limited, signal, only)

    async def retrieve(
        self, request: Request, *, signal: AbortSignal | None = None
    ) -> list[Outcome]:
        """Ask all plugins that match. Raises the reason of an aborted signal."""

        def limited(plugin: MemoryPlugin) -> Awaitable[Any]:
            work = call(lambda: plugin.retrieve(request, signal=signal))
            limit = self.config.retrieve_limit(plugin.id)
            return _within(work, f"{plugin.id} retrieve", limit)

        return await self._fan_out(Call("retrieve", request["meta"]), limited, signal)

    def subscribe(
        self, meta: Mapping[str, Any], cursors: Cursors, subscriber: Subscriber
    ) -> Subscription:
        """Follow the changes of all plugins that match and can be followed (subscriptions.py)."""
        from dshloop.plugins.patchouli.subscriptions import subscribe

        return subscribe(self, meta, cursors, subscriber)

    def matching(
        self, asked: Call, only: Collection[str] | None = None
    ) -> tuple[dict[str, MemoryPlugin | Outcome], list[MemoryPlugin]]:
        """Give what is reached, by id: the plugin, or the outcome of a filter that raised."""
        found: dict[str, MemoryPlugin | Outcome] = {}
        for name, entry in list(self._plugins.items()):
            if only is not None and name not in only:
                continue
            try:
                if self._passes(asked, entry):
                    found[name] = entry.plugin
            except BaseException as raised:
                found[name] = failure(name, contained(raised))
        return found, [each for each in found.values() if not isinstance(each, dict)]

    def _passes(self, asked: Call, entry: Registered) -> bool:
        if not self.config.route(entry.plugin.id).takes(asked.operation, asked.meta):
            return False
        own: Filter | None = getattr(entry.plugin, "filter", None)
        return all(bool(each(asked)) for each in (own, entry.filter) if each is not None)

    async def _fan_out(
        self,
        asked: Call,
        work: Callable[[MemoryPlugin], Awaitable[Any]],
        signal: AbortSignal | None,
        only: Collection[str] | None = None,
    ) -> list[Outcome]:
        require_going(signal)
        found, plugins = self.matching(asked, only)
        answers = asyncio.gather(*(_outcome(plugin.id, work(plugin)) for plugin in plugins))
        outcomes = {each["pluginId"]: each for each in await unless_aborted(answers, signal)}
        require_going(signal)
        return [
            entry if isinstance(entry, dict) else outcomes[name] for name, entry in found.items()
        ]


def failure(plugin_id: str, error: Exception) -> Outcome:
    """Make the outcome of a plugin that failed."""
    return {"pluginId": plugin_id, "ok": False, "error": str(error) or type(error).__name__}


async def _outcome(plugin_id: str, work: Awaitable[Any]) -> Outcome:
    try:
        return {"pluginId": plugin_id, "ok": True, "value": await work}
    except Exception as error:
        return failure(plugin_id, error)


async def _within(work: Awaitable[Any], what: str, limit: float) -> Any:
    """Give what work gives in time; it isn't cancelled when it takes longer. 0 is no limit."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    if not limit:
        return await asyncio.shield(task)
    done, _ = await asyncio.wait({task}, timeout=limit / 1000)
    if not done:
        shown = int(limit) if limit == int(limit) else limit
        raise TimeoutError(f'memory provider "{what}" timed out after {shown}ms')
    return task.result()
