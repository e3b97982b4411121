"""The dock's setting in DSH's settings.yaml: where it stands, and what choosing another changes.

Reading and writing are `host.settings`; here is what people are shown.
"""

from __future__ import annotations

from pathlib import Path

from dshloop.dsh_yaml import load_document
from dshloop.files import decode, read_bytes, shown
from dshloop.journal import Change
from dshloop.loops.names import is_object
from dshloop.loops.settings_default import KEY, NAMESPACE
from dshloop.splice import YamlText


def driver_place(path: Path) -> str:
    """Say where the default driver is set, or would be: the file, with the line if it is.

    Raises UNREADABLE_FILE and DSH_YAML_INVALID.
    """
    data = read_bytes(path)
    if data is None:
        return shown(path)
    document = load_document(decode(data, path).value, source=shown(path))
    section = document.value.get(NAMESPACE) if is_object(document.value) else None
    at = document.position(section, KEY) if is_object(section) and KEY in section else None
    return shown(path) if at is None else f"{shown(path)}:{at.line}"


def plan_driver(path: Path, name: str) -> Change:
    """Plan another default driver, to be shown; every other byte stays.

    Raises UNREADABLE_FILE, and DSH_YAML_INVALID or SPLICE_REFUSED for what can't be edited.
    """
    data = read_bytes(path)
    text = decode(b"" if data is None else data, path)
    bom = "\ufeff" if text.bom else ""
    settings = YamlText(bom + text.value, source=shown(path), portable=True)
    return Change(path, data, settings.set([NAMESPACE, KEY], name).text.encode())
