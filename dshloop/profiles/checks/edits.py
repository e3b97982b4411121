"""Edits of files as mends carry them: each takes the content of the moment and gives the new."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dshloop.errors import ChangedSinceReadError
from dshloop.files import shown
from dshloop.journal import Content
from dshloop.profiles.checks.findings import Edit, Mend
from dshloop.profiles.checks.subject import text_of
from dshloop.profiles.layout import Manifest, Profile, parse_manifest
from dshloop.splice import YamlText


def text_edit(path: Path, change: Callable[[str], str | None]) -> Edit:
    """Make an edit of a text; a change that gives None does nothing."""

    def edit(content: Content) -> Content:
        data = _bytes(content, path)
        changed = change(text_of(data, path))
        return data if changed is None else changed.encode("utf-8")

    return edit


def yaml_edit(path: Path, change: Callable[[YamlText], YamlText]) -> Edit:
    """Make an edit of a YAML file that keeps all other bytes."""
    return text_edit(path, lambda text: change(YamlText(text, source=shown(path))).text)


def manifest_edit(profile: Profile, change: Callable[[Manifest], Manifest]) -> Edit:
    """Make an edit of a profile's package.json, in the layout it has."""

    def edit(content: Content) -> Content:
        data = _bytes(content, profile.manifest)
        before = parse_manifest(data, profile.manifest, name=profile.name)
        after = change(before)
        return data if after.value == before.value else after.as_bytes()

    return edit


def remove_item(path: Path, steps: tuple[str | int, ...], what: str) -> Mend:
    """Mend by removing an item of a patch file; an `insert` that becomes empty goes too."""

    def change(text: YamlText) -> YamlText:
        at = steps
        if len(at) == 3 and at[1] == "insert":
            item = text.value[at[0]]
            if len(item["insert"]) == 1:
                at = at[:1]
        return text.unset(at)

    return Mend(path, what, yaml_edit(path, change), steps)


def append_patch(path: Path, patch: dict[str, object], what: str) -> Mend:
    """Mend by a further entry at the end of a patch file, which is made where it is missing."""

    def edit(content: Content) -> Content:
        if content is None:
            from dshloop.profiles.create import PATCH_TEXT

            content = PATCH_TEXT.encode()
        return yaml_edit(path, lambda text: text.append((), patch))(content)

    return Mend(path, what, edit)


def _bytes(content: Content, path: Path) -> bytes:
    if not isinstance(content, bytes):
        raise ChangedSinceReadError(f"{shown(path)} is no file any more", file=shown(path))
    return content
