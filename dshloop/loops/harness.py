"""What a dock uses of the harness it sits in. A harness may lack any of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol


class StoredSessions(Protocol):
    """The stored sessions. Both answers may have to be awaited."""

    def inspect(self, session_id: str) -> Any:
        """Give a session's log, ``{meta, events}`` or an object with header and events."""
        ...

    def list(self) -> Any:
        """Give the ids of all sessions, or mappings with an ``id``."""
        ...


class AgentService(Protocol):
    """The agents: who asks here is led to the dock again."""

    async def create(self, options: Mapping[str, Any]) -> Any:
        """Make an agent with a new session."""
        ...

    async def resume(self, options: Mapping[str, Any]) -> Any:
        """Make an agent that goes on with a stored session."""
        ...


class Presets(Protocol):
    """The presets, as far as the dock looks at them."""

    def composed(self, agent: Any) -> str | None:
        """Give the preset that is composed for an agent now, None when none is."""
        ...


class PresetMounts(Presets, Protocol):
    """The presets, as far as a loop uses them."""

    async def mount(self, agent: Any, preset: str) -> object:
        """Give an agent a preset's tools and prompt."""
        ...


class RequestHooks(Protocol):
    """Where a listener of one agent can be put."""

    def on(self, agent: Any, event: str, listener: Callable[..., Any], *, prepend: bool) -> object:
        """Add a listener, as the outermost one with ``prepend``."""
        ...


class Settings(Protocol):
    """The user's settings, one mapping a namespace, always as they are now."""

    def get(self, namespace: str) -> Mapping[str, Any] | None:
        """Give a namespace's values."""
        ...

    def update(self, namespace: str, patch: Mapping[str, Any]) -> Any:
        """Write some of a namespace's values; may have to be awaited."""
        ...


class SettingsNamespaces(Protocol):
    """Where a plugin says which settings it has."""

    def register(
        self, namespace: str, schema: Mapping[str, Any], base: Mapping[str, Any]
    ) -> object:
        """Add a namespace; ``base`` holds before the user says anything."""
        ...


async def awaited(result: Any) -> Any:
    """Give what a service answers, whether it is async or not."""
    return await result if hasattr(result, "__await__") else result
