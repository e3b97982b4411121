"""Edits of settings: a file that holds one mapping, of ours or of another program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dshloop.errors import SpliceRefusedError
from dshloop.splice.document import YamlText


def set_value(text: str, path: Sequence[str], value: Any) -> str:
    """Set the key at `path` of a mapping document, making the mappings above it where missing."""
    return _settings(text).set(path, value).text


def unset_value(text: str, path: Sequence[str]) -> str:
    """Remove the key at `path`, its line and the comment behind it; KeyError when it isn't set.

    A mapping that becomes empty goes too, so that `memory:` doesn't stay behind as a null; an
    emptied file keeps its comments.
    """
    settings = _settings(text)
    path = list(path)
    while len(path) > 1 and _count(settings.value, path[:-1]) == 1 and _has(settings.value, path):
        path.pop()
    return settings.unset(path).text


def _settings(text: str) -> YamlText:
    settings = YamlText(text, portable=True)
    if not isinstance(settings.value, dict | None):
        raise SpliceRefusedError("the file does not hold a mapping", line=1)
    return settings


def _has(value: Any, path: Sequence[str]) -> bool:
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True


def _count(value: Any, path: Sequence[str]) -> int:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return len(value) if isinstance(value, dict) else 0
