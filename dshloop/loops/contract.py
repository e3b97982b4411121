"""What goes into the dock and comes out of a driver: options and handles (loop-dock 6 and 10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dshloop.errors import DriverContractError, InvalidConfigError
from dshloop.loops.names import is_object, is_text
from dshloop.loops.resolution import Resolved


def require_options(options: object, verb: str, key: str) -> Mapping[str, Any]:
    """Give the options back if they are an object with the session's id under `key`.

    Raises INVALID_CONFIG.
    """
    if not is_object(options):
        raise InvalidConfigError(f"{verb} options must be an object", path="options")
    if not is_text(options.get(key)):
        raise InvalidConfigError(f"{verb} options.{key} must be a non-empty string", path=key)
    return options


def require_handle(handle: Any, resolved: Resolved) -> Any:
    """Give a handle back if it has an agent and a way to end it. Raises DRIVER_CONTRACT."""
    if is_object(handle):
        kept = "agent" in handle and "dispose" in handle
    else:
        kept = hasattr(handle, "agent") and hasattr(handle, "dispose")
    if kept:
        return handle
    by_loop = resolved.driver is None
    made_by = f'loop "{resolved.loop.id}"' if by_loop else f'driver "{resolved.driver}"'
    raise DriverContractError(
        f"{made_by} gave back no handle with agent and dispose, but {type(handle).__name__}",
        loop=resolved.loop.id,
        driver=resolved.driver,
    )
