"""Agent presets: rows for one agent. Ours, the user's own, and stand-ins for DSH's.

The user's are the rows of ``.agent-presets/ID/agent.cordis.yml`` (dsh-profiles 1), of which we
run those that we can.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshloop.errors import PresetNotFoundError
from dshloop.host.rows import HostRow, host_rows
from dshloop.host.tree import Find, Tree

if TYPE_CHECKING:
    from dshloop.host.agent import Agent
    from dshloop.host.host import Host

SERVICE = "agentPresets"
FOLDER, _FILE = ".agent-presets", "agent.cordis.yml"
_SELECTED = "agent-preset/selected"
_OWN = re.compile(r"[a-z0-9][a-z0-9-]*")

STANDARD_TEXT = """\
You work in the folder {{cwd}}. Use the tools you are offered where they help, look before you
change anything, and say plainly what you did and what you could not do."""

SHIPPED: Mapping[str, Sequence[HostRow]] = {
    "standard": (
        HostRow("standard-prompt", "dshloop/prompt", {"name": "standard", "text": STANDARD_TEXT}),
    ),
    "minimal": (),
}
STAND_INS = {"code": "standard", "ptc": "standard", "cordis": "standard"}
"""Presets of DSH that only dsh can run -> ours that runs in their place."""


class HostPresets:
    """The presets of a host; it knows which one is composed for each living agent."""

    def __init__(self, host: Host, dsh_home: Path, find: Find) -> None:
        self._host = host
        self._root = dsh_home / FOLDER
        self._find = find
        self._composed: dict[int, str] = {}
        self.trees: dict[int, Tree] = {}

    def composed(self, agent: Any) -> str | None:
        """Give the preset that is composed for an agent now, None when none is."""
        return self._composed.get(id(agent))

    async def mount(self, agent: Agent, preset: str) -> None:
        """Run a preset's rows for an agent, in the place of those it had; they end with it.

        Raises PRESET_NOT_FOUND, and what a row that fails raises; none runs then.
        """
        rows = self.rows(preset)
        await self._unmount(agent)
        tree = Tree(self._host, rows, self._find, agent)
        await tree.start()
        if id(agent) not in self._composed:
            agent.undo(lambda: self._unmount(agent))
        self._composed[id(agent)], self.trees[id(agent)] = preset, tree

    async def mount_for_session(self, agent: Agent) -> None:
        """Mount what the agent's session is on, where its log says so."""
        preset = preset_of(agent)
        if preset is not None:
            await self.mount(agent, preset)

    def rows(self, preset: str) -> Sequence[HostRow]:
        """Give a preset's rows; the user's own come before ours of that name.

        Raises PRESET_NOT_FOUND, and what its file has wrong.
        """
        own = self._root / preset / _FILE
        if _OWN.fullmatch(preset) and own.is_file():
            return _read(own)
        if preset in STAND_INS:
            self._host.warn(
                f'preset "{preset}" runs only in dsh; "{STAND_INS[preset]}" stands in for it'
            )
        found = SHIPPED.get(STAND_INS.get(preset, preset))
        if found is None:
            raise PresetNotFoundError(
                f'there is no agent preset "{preset}" (available: {", ".join(self.names)})',
                hint=self._hint(preset),
                preset=preset,
                available=self.names,
            )
        return found

    @property
    def names(self) -> list[str]:
        """The names of all presets that can be mounted."""
        return preset_names(self._root)

    def _hint(self, preset: str) -> str:
        other = "start a session on one that is there."
        if not _OWN.fullmatch(preset):
            return f"The name of a preset is of a-z, 0-9 and '-': {other}"
        return f"Make it in dsh ({self._root / preset / _FILE}), or {other}"

    async def _unmount(self, agent: Agent) -> None:
        self._composed.pop(id(agent), None)
        tree = self.trees.pop(id(agent), None)
        if tree is not None:
            await tree.stop()


def preset_names(root: Path) -> list[str]:
    """Give the names of all presets: ours, stand-ins, and the user's own in a folder."""
    own = {path.parent.name for path in root.glob(f"*/{_FILE}")}
    return sorted({*SHIPPED, *STAND_INS, *filter(_OWN.fullmatch, own)})


def preset_of(agent: Agent) -> str | None:
    """Give the preset that a session is on: the newest one recorded, else its header's."""
    for event in reversed(agent.session.events):
        data = event["data"]
        if event["type"] == _SELECTED and isinstance(data, Mapping):
            preset = data.get("agentPreset")
            if isinstance(preset, str) and preset:
                return preset
    return agent.session.header.agent_preset


def _read(path: Path) -> Sequence[HostRow]:
    """Read the user's own preset: a list of rows, composed as one insert."""
    from dshloop.dsh_yaml import Document, load_document
    from dshloop.errors import PatchInvalidError
    from dshloop.files import read_bytes
    from dshloop.profiles.compose import compose
    from dshloop.profiles.layers import Layer, PatchFile

    document = load_document(read_bytes(path) or b"", source=str(path))
    if not isinstance(document.value, list):
        raise PatchInvalidError(
            f"preset {path} must be a top-level YAML array of entries",
            hint="A preset file is a list of rows; no rows is written [].",
            file=str(path),
            line=1,
            column=1,
        )
    whole = [{"insert": document.value}]
    document = Document(document.source, whole, document.text, document.marks)
    return host_rows(compose([Layer(str(path), (PatchFile(document, path),), "patch")]))
