"""Plugin packages made for tests: folders and the archives that npm pack would make of them."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

from dshloop.paths import Places
from dshloop.profiles.layout import Profile, profile_at


def package(folder: Path, name: str | None = None, *rows: str, **manifest: Any) -> Path:
    """Write a bundle that inserts rows with these ids (its name, when none is given)."""
    name = name or folder.name
    values: dict[str, Any] = {"name": name, "version": "1.0.0", "type": "module"}
    values["dsh"] = {"bundle": {"patch": "cordis.patch.yml"}}
    folder.mkdir(parents=True, exist_ok=True)
    values = {key: value for key, value in {**values, **manifest}.items() if value is not None}
    (folder / "package.json").write_text(json.dumps(values), encoding="utf-8")
    items = "".join(f"    - id: '{row}'\n      name: ./index.js\n" for row in rows or (name,))
    (folder / "cordis.patch.yml").write_text(f"- insert:\n{items}", encoding="utf-8")
    (folder / "index.js").write_text("export function apply() {}\n", encoding="utf-8")
    return folder


def packed(folder: Path) -> Path:
    """Pack a package's folder as npm does."""
    archive = folder.with_name(f"{folder.name}-1.0.0.tgz")
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, "package")
    return archive


def places_in(root: Path) -> Places:
    """Give the three folders of a test."""
    return Places(root / "dsh", root / "data", root / "config")


def profile_in(
    places: Places, profile: str = "p", bundles: tuple[Any, ...] = (), **more: Any
) -> Profile:
    """Write a profile that has these bundles and no dependencies."""
    found = profile_at(places, profile)
    found.folder.mkdir(parents=True, exist_ok=True)
    value = {"dsh": {"profile": {"bundles": list(bundles)}}, **more}
    found.manifest.write_text(json.dumps(value), encoding="utf-8")
    return found


def contents(root: Path) -> dict[str, bytes | str]:
    """Give all that is under a folder: files with their bytes, links with their targets."""
    found: dict[str, bytes | str] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = path.read_bytes()
        else:
            found[name] = "folder"
    return found
