"""The rows that run here: a static table, then what installed packages offer (design 4).

A plugin is a class with ``name``, ``Config`` and ``async apply(host, config)``; see
`dshloop.host.tree.Plugin`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dshloop.errors import PluginContractError
from dshloop.loops.discovery import offers_any

GROUP = "dshloop.plugins"
_PATCHOULI = "dshloop.plugins.patchouli"
TABLE = {
    "dsh-agentmemory": "dshloop.plugins.agentmemory.row:Agentmemory",
    "dsh-loop-dock": "dshloop.plugins.loop_dock:LoopDock",
    "dsh-loop-dock/headless-driver": "dshloop.plugins.headless_driver:HeadlessDriver",
    "dsh-patchouli": f"{_PATCHOULI}.memory_service:PatchouliService",
    "dsh-patchouli/storage": f"{_PATCHOULI}.storage:PatchouliStorage",
    "dsh-patchouli/cursor-store": f"{_PATCHOULI}.cursors:PatchouliCursors",
    "dsh-patchouli-agent-loop": f"{_PATCHOULI}.agent_loop:AgentLoop",
    "dsh-patchouli-artifact-ingestor": f"{_PATCHOULI}.artifact_ingestor:ArtifactIngestor",
    "dsh-patchouli-session-indexer": f"{_PATCHOULI}.session_indexer:SessionIndexer",
    "dsh-patchouli-workspace-indexer": f"{_PATCHOULI}.workspace_indexer:WorkspaceIndexer",
    "dshloop/compaction": "dshloop.plugins.compaction.row:Compaction",
    "dshloop/memory": "dshloop.plugins.local_memory.row:LocalMemory",
    "dshloop/prompt": "dshloop.plugins.prompt:Prompt",
    "dshloop/workspace-tools": "dshloop.plugins.workspace_tools.row:WorkspaceTools",
}
"""The name of a row -> the class that runs it."""


def find_plugin(name: str) -> type[Any] | None:
    """Give the plugin of a row's name, None where nobody here can run it.

    Entry points are read only for a name that is not in the table and could be one of them.
    Raises PLUGIN_CONTRACT for what is no plugin, and what importing it raises.
    """
    target = TABLE.get(name) or (_offered(name) if _may_be_offered(name) else None)
    return None if target is None else _load(name, target)


def can_run(name: str) -> bool:
    """Whether rows of a name run here; their plugin is not imported."""
    return name in TABLE or (_may_be_offered(name) and _offered(name) is not None)


def _may_be_offered(name: str) -> bool:
    """Whether a name is none of what only dsh loads: files, its own words, no name at all."""
    return bool(name) and not name.startswith((".", "/", "cordis:"))


_names: dict[str, str] | None = None


def _offered(name: str) -> str | None:
    global _names
    if _names is None:
        _names = dict(_entry_points()) if offers_any(GROUP) else {}
    return _names.get(name)


def _entry_points() -> Iterator[tuple[str, str]]:
    from importlib.metadata import entry_points

    return ((point.name, point.value) for point in entry_points(group=GROUP))


def _load(name: str, target: str) -> type[Any]:
    from importlib import import_module

    module, _, attribute = target.partition(":")
    found: Any = import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    missing = [each for each in ("name", "Config", "apply") if not hasattr(found, each)]
    if not isinstance(found, type) or missing:
        lacks = ", ".join(missing) or "being a class"
        raise PluginContractError(f'"{target}", which should run rows "{name}", lacks {lacks}')
    return found
