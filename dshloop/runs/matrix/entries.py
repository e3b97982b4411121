"""What the lists of a matrix's file have in common: entries with ids, needs and commands."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dshloop.loops.fields import Fields, Page
from dshloop.loops.names import is_object

_NEED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(=.*)?", re.S)


class Entries:
    """A list or a mapping of a page."""

    def __init__(self, page: Page, value: Any) -> None:
        self.page, self.value = page, value

    def refuse(self, message: str, key: str | int) -> Any:
        self.page.refuse(message, self.value, key)

    def fields(self, key: str | int, path: str) -> Fields:
        return self.page.fields(self.value, key, path)


def each(whole: Fields, name: str) -> Iterator[tuple[Entries, str | int, Any, str]]:
    """Yield the entries of a list or mapping with their keys and what messages call them."""
    if name not in whole.value:
        return
    held = whole.value[name]
    if not (isinstance(held, list) or is_object(held)) or not held:
        whole.refuse(f"{name} must be a list with something in it", name)
    entries = Entries(whole.page, held)
    if isinstance(held, Mapping):
        for key, value in held.items():
            yield entries, key, value, f"{name}.{key}"
    else:
        for index, value in enumerate(held):
            yield entries, index, value, f"{name}[{index}]"


def require_distinct(whole: Fields, name: str, ids: Sequence[str | None]) -> None:
    seen: set[str | None] = set()
    for index, one in enumerate(ids):
        if one in seen:
            held = whole.value[name]
            key = index if isinstance(held, list) else list(held)[index]
            whole.page.refuse(f'{name} has two of the id "{one}"', held, key)
        seen.add(one)


def read_words(fields: Fields) -> tuple[str, ...] | None:
    """Read a command: a text is split like a shell does, a list is taken as it is."""
    given = fields.texts("command")
    if isinstance(fields.value.get("command"), str):
        try:
            given = tuple(shlex.split(fields.value["command"]))
        except ValueError as fault:
            fields.refuse(f"{fields.at('command')} can't be read: {fault}", "command")
    if given is not None and not given:
        fields.refuse(f"{fields.at('command')} must be a command", "command")
    if not all(map(_is_argument, given or ())):
        what = "a NUL or a lone surrogate, which no program can be given"
        fields.refuse(f"{fields.at('command')} has {what}", "command")
    return given


def _is_argument(word: str) -> bool:
    try:
        return b"\0" not in os.fsencode(word)
    except UnicodeEncodeError:
        return False


def read_needs(fields: Fields) -> tuple[str, ...]:
    given = fields.texts("needs") or ()
    for one in given:
        if not _NEED.fullmatch(one):
            fields.refuse(f"{fields.at('needs')} takes variables, NAME or NAME=VALUE", "needs")
    return given
