"""The driver that the user's settings make the default, and the Remote over it (loop-dock 15)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dshloop.errors import SettingsUnavailableError, UnknownDriverError
from dshloop.loops.harness import Settings, SettingsNamespaces, awaited
from dshloop.loops.names import ABSENT, as_text, is_object, listed, require_driver_name

if TYPE_CHECKING:
    from dshloop.loops.config import DockConfig
    from dshloop.loops.dock import Dock

NAMESPACE = "agent-loops"
KEY = "defaultDriver"
REMOTE = "agentLoops"


def declare(namespaces: SettingsNamespaces, config: DockConfig) -> object:
    """Add the dock's namespace; until the user chooses, the row's own default holds."""
    return namespaces.register(*declaration(config))


def declaration(config: DockConfig) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Give the dock's namespace, its schema and its base values."""
    schema = {"type": "object", "properties": {KEY: {"type": "string"}}}
    return NAMESPACE, schema, {KEY: config.raw_default_driver}


def chosen_driver(settings: Settings | None, warn: Callable[[str], None]) -> str | None:
    """Read the user's default driver; an empty one counts as unset, with a warning (18.6).

    Raises what the settings raise.
    """
    values = None if settings is None else settings.get(NAMESPACE)
    value = values.get(KEY) if is_object(values) else None
    if value == "":
        warn(f"the setting {NAMESPACE}.{KEY} is empty and counts as unset")
        return None
    return None if value is None else as_text(value)


def remote(dock: Dock) -> dict[str, Callable[..., Any]]:
    """Give the methods of the Remote service `agentLoops`, which take the call's args."""

    async def list_method() -> dict[str, Any]:
        return await list_drivers(dock)

    async def set_method(driver: object = ABSENT) -> dict[str, bool]:
        return await set_default_driver(dock, driver)

    return {"listDrivers": list_method, "setDefaultDriver": set_method}


async def list_drivers(dock: Dock) -> dict[str, Any]:
    """Answer agentLoops/listDrivers; ``current`` may name a driver that is not there."""
    current = chosen_driver(dock.settings, dock.warn)
    return {"drivers": dock.drivers.names, "current": current or dock.config.default_driver}


async def set_default_driver(dock: Dock, driver: object) -> dict[str, bool]:
    """Answer agentLoops/setDefaultDriver: only new sessions follow it.

    Raises INVALID_DRIVER, UNKNOWN_DRIVER and SETTINGS_UNAVAILABLE; nothing is written then.
    """
    name = require_driver_name(driver)
    known = dock.drivers.names
    if name not in known:
        raise UnknownDriverError(
            f'driver "{name}" is not registered (available: {listed(known)})',
            driver=name,
            available=known,
        )
    if dock.settings is None:
        raise SettingsUnavailableError(f"{REMOTE}: settings service is not available")
    await awaited(dock.settings.update(NAMESPACE, {KEY: name}))
    dock.settings_changed()
    return {"ok": True}
