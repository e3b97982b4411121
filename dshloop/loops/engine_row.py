"""The row that brings engines to a dock: its config, and what it registers (loop-dock 14)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dshloop.errors import InvalidConfigError
from dshloop.loops.dock import Dock
from dshloop.loops.javascript import refuse_javascript
from dshloop.loops.names import ABSENT, is_object, is_text
from dshloop.loops.registry import Disposer, Driver

NAME = "dsh-loop-dock-headless-driver"
NEEDS = ("agentLoopDock", "agents", "sessions", "llm", "tools", "systemPrompt")
FAKE_DRIVER = "fake-driver"
KEYS = ("maxParallelToolCalls", "fakeDriver", "acpCommand")


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """The row's config with its defaults; only a literal true switches the fake driver on."""

    max_parallel_tool_calls: int = 10
    fake_driver: bool = False
    acp_command: str | None = None


def read_engine_config(config: object = ABSENT) -> EngineConfig:
    """Check and complete the row's config. Raises INVALID_CONFIG."""
    if config is ABSENT or config is None:
        return EngineConfig()
    refuse_javascript(config)
    if not is_object(config):
        raise InvalidConfigError("headless-driver config must be an object", path="")
    limit = config.get("maxParallelToolCalls", EngineConfig().max_parallel_tool_calls)
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        message = "maxParallelToolCalls must be a positive integer"
        raise InvalidConfigError(message, path="maxParallelToolCalls")
    command = config.get("acpCommand")
    if command is not None and not is_text(command):
        raise InvalidConfigError("acpCommand must be a non-empty string", path="acpCommand")
    return EngineConfig(limit, config.get("fakeDriver") is True, command)


def dock_engines(
    dock: Dock,
    config: EngineConfig,
    make_engine: Callable[[EngineConfig], Driver],
    make_fake: Callable[[EngineConfig], Driver],
) -> Disposer:
    """Register the engine as `default` and, if wanted, the fake one; gives what takes both away.

    Raises DUPLICATE_DRIVER; then neither is registered.
    """
    undo = [dock.register_driver(make_engine(config), built_in=True)]
    try:
        if config.fake_driver:
            undo.append(dock.register_driver(FAKE_DRIVER, make_fake(config), built_in=True))
    except Exception:
        undo.pop()()
        raise

    def dispose() -> None:
        for step in reversed(undo):
            step()

    return dispose
