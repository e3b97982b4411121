"""pnpm-lock.yaml: what pnpm recorded for the profile's own dependencies, and moving one of them.

Read as text values only (a version ``1.0`` stays text); lockfile versions 6 to 9 are understood.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_GROUPS = ("dependencies", "devDependencies", "optionalDependencies")


@dataclass(frozen=True, slots=True)
class Locked:
    """One dependency as locked.

    ``key`` is its package's key without peers (``name@version``, or with the address of a git or
    archive package), which is also what allowBuilds wants; ``integrity`` is that of its archive.
    """

    name: str
    group: str
    specifier: str
    version: str
    key: str
    integrity: str | None = None


def read_lock(data: bytes) -> dict[str, Locked]:
    """Read the profile's own dependencies from a lock; nothing when it can't be read."""
    import yaml

    try:
        value = yaml.load(data, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    except (yaml.YAMLError, ValueError):
        return {}
    importer = _member(_member(value, "importers"), ".") or value
    packages = _member(value, "packages")
    found = {}
    for group in _GROUPS:
        for name, entry in _member(importer, group).items():
            if isinstance(entry, dict):
                found[name] = _locked(name, group, entry, packages)
    return found


def moved(data: bytes, names: Sequence[str], source: str, target: str) -> bytes:
    """Move dependencies to another group of a lock, all other bytes kept, as pnpm would have it.

    A name that isn't where pnpm writes it stays where it is: pnpm's next run brings it in order.
    """
    text = data.decode("utf-8", "surrogateescape")
    for name in names:
        text = _move(text, name, source, target)
    return text.encode("utf-8", "surrogateescape")


def integrity_of(archive: Path) -> str | None:
    """Give the integrity that pnpm records for an archive; None when it can't be read."""
    import base64
    import hashlib

    try:
        with archive.open("rb") as file:
            digest = hashlib.file_digest(file, "sha512").digest()
    except OSError:
        return None
    return f"sha512-{base64.b64encode(digest).decode()}"


def _locked(name: str, group: str, entry: Mapping[str, Any], packages: Mapping[str, Any]) -> Locked:
    version = str(entry.get("version", ""))
    plain = version.partition("(")[0]
    alias = re.match(r"^(?:@[^/]+/)?[^/@:]+@", plain) is not None
    key = plain if alias else f"{name}@{plain}"
    resolution = _member(_member(packages, key), "resolution")
    return Locked(
        name, group, str(entry.get("specifier", "")), version, key, resolution.get("integrity")
    )


def _member(value: Any, key: str) -> Mapping[str, Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


_IMPORTER = re.compile(r"^importers:\n\n  \.:\n((?:    .*\n)*)", re.MULTILINE)
_GROUP = r"^    {group}:\n((?:      .*\n)*)"
_ENTRY = re.compile(r"^      (\S.*):\n(?:        .*\n)*", re.MULTILINE)


def _move(text: str, name: str, source: str, target: str) -> str:
    importer = _IMPORTER.search(text)
    if importer is None:
        return text
    block = importer.group(1)
    entry = _entries(block, source).get(name)
    if entry is None:
        return text
    block = _with_group(block, source, _without(_entries(block, source), name))
    block = _with_group(block, target, {**_entries(block, target), name: entry})
    return text[: importer.start(1)] + block + text[importer.end(1) :]


def _entries(block: str, group: str) -> dict[str, str]:
    found = re.search(_GROUP.format(group=group), block, re.MULTILINE)
    text = found.group(1) if found else ""
    return {_plain(entry.group(1)): entry.group() for entry in _ENTRY.finditer(text)}


def _without(entries: Mapping[str, str], name: str) -> dict[str, str]:
    return {other: entry for other, entry in entries.items() if other != name}


def _with_group(block: str, group: str, entries: Mapping[str, str]) -> str:
    """Give an importer with one group written anew; groups and names in pnpm's order."""
    texts = {other: "".join(_entries(block, other).values()) for other in _GROUPS}
    texts[group] = "".join(entries[name] for name in sorted(entries))
    rest = block
    for other in _GROUPS:
        rest = re.sub(_GROUP.format(group=other), "", rest, flags=re.MULTILINE)
    return "".join(f"    {one}:\n{texts[one]}" for one in _GROUPS if texts[one]) + rest


def _plain(key: str) -> str:
    return key[1:-1].replace("''", "'") if key[:1] == "'" else key
