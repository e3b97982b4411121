"""The dock's setting in DSH's settings.yaml: read anew each time, written by splice.

What dsh itself locks is locked by the journal that records the change (design 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.dsh_yaml import load_document
from dshloop.errors import SettingsUnavailableError
from dshloop.files import decode, read_bytes, shown
from dshloop.journal import Change
from dshloop.loops.names import is_object
from dshloop.loops.settings_default import KEY, NAMESPACE
from dshloop.splice import set_value

NAME = "settings.yaml"


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """The settings of a DSH home, as the dock reads them."""

    path: Path

    def get(self, namespace: str) -> Mapping[str, Any] | None:
        """Give a namespace's values. Raises DSH_YAML_INVALID, UNREADABLE_FILE."""
        data = read_bytes(self.path)
        if data is None:
            return None
        values = load_document(decode(data, self.path).value, source=shown(self.path)).value
        found = values.get(namespace) if is_object(values) else None
        return found if is_object(found) else None

    def update(self, namespace: str, patch: Mapping[str, Any]) -> None:
        """Refuse: a run changes no settings, which belong to dsh and to `driver use`."""
        raise SettingsUnavailableError(
            f"{namespace} can't be changed by a session",
            hint="Choose the driver for new sessions: dshloop driver use NAME.",
            keys=list(patch),
        )

    @property
    def driver_place(self) -> str:
        """Say where the default driver is set, or would be: file, with the line if it is."""
        data = read_bytes(self.path)
        if data is None:
            return shown(self.path)
        document = load_document(decode(data, self.path).value, source=shown(self.path))
        section = document.value.get(NAMESPACE) if is_object(document.value) else None
        at = document.position(section, KEY) if is_object(section) and KEY in section else None
        return shown(self.path) if at is None else f"{shown(self.path)}:{at.line}"

    def plan_driver(self, name: str) -> Change:
        """Plan another default driver; every other byte stays.

        Raises DSH_YAML_INVALID and SPLICE_REFUSED for a file that can't be edited.
        """
        data = read_bytes(self.path)
        text = "" if data is None else decode(data, self.path).value
        return Change(self.path, data, set_value(text, [NAMESPACE, KEY], name).encode())


def settings_file(dsh_home: Path) -> SettingsFile:
    """Give the settings of a DSH home, there or not."""
    return SettingsFile(dsh_home / NAME)
