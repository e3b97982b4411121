"""Edits of files as mends carry them: each takes the content of the moment and gives the new."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from dshloop.dsh_yaml import Value
from dshloop.errors import ChangedSinceReadError
from dshloop.files import shown
from dshloop.journal import Content
from dshloop.profiles.checks.findings import Edit, Mend, Splices
from dshloop.profiles.checks.subject import Steps, text_of
from dshloop.profiles.layout import Manifest, Profile, parse_manifest
from dshloop.splice import Edit as Splice
from dshloop.splice import YamlText


def text_edit(path: Path, change: Callable[[str], str | None]) -> Edit:
    """Make an edit of a text; a change that gives None does nothing."""

    def edit(content: Content) -> Content:
        data = _bytes(content, path)
        changed = change(text_of(data, path))
        return data if changed is None else changed.encode("utf-8")

    return edit


def yaml_edit(path: Path, plans: Sequence[Splices]) -> Edit:
    """Make one edit of what several mends do to a YAML file, the last place first.

    All other bytes stay. What a mend takes away whole takes with it what others did inside.
    """

    def change(text: str) -> str:
        page = YamlText(text, source=shown(path))
        value, made = page.value, list[Splice]()
        for plan in plans:
            for splice in plan(value):
                while made and splice.covers(made[-1]):
                    made.pop()
                made.append(splice)
                value = splice.of(value)
        return page.edited(made).text

    return text_edit(path, change)


def yaml_mend(path: Path, what: str, at: Steps, splices: Splices) -> Mend:
    """Mend a YAML file at one place."""
    return Mend(path, what, yaml_edit(path, [splices]), at, splices)


def set_value(path: Path, what: str, at: Steps, value: Value) -> Mend:
    """Mend a YAML file by one value."""
    return yaml_mend(path, what, at, lambda _: [Splice("set", at, value)])


def manifest_edit(profile: Profile, change: Callable[[Manifest], Manifest]) -> Edit:
    """Make an edit of a profile's package.json, in the layout it has."""

    def edit(content: Content) -> Content:
        data = _bytes(content, profile.manifest)
        before = parse_manifest(data, profile.manifest, name=profile.name)
        after = change(before)
        return data if after.value == before.value else after.as_bytes()

    return edit


def remove_item(path: Path, steps: Steps, what: str) -> Mend:
    """Mend by removing an item of a patch file; an `insert` that becomes empty goes too."""

    def plan(value: Value) -> list[Splice]:
        last = len(steps) == 3 and steps[1] == "insert" and len(value[steps[0]]["insert"]) == 1
        return [Splice("unset", steps[:1] if last else steps)]

    return yaml_mend(path, what, steps, plan)


def append_patch(path: Path, patch: dict[str, object], what: str) -> Mend:
    """Mend by a further entry at the end of a patch file, which is made where it is missing."""

    def edit(content: Content) -> Content:
        if content is None:
            from dshloop.profiles.create import PATCH_TEXT

            content = PATCH_TEXT.encode()
        return yaml_edit(path, [lambda value: [Splice("insert", (), patch, len(value))]])(content)

    return Mend(path, what, edit)


def _bytes(content: Content, path: Path) -> bytes:
    if not isinstance(content, bytes):
        raise ChangedSinceReadError(f"{shown(path)} is no file any more", file=shown(path))
    return content
