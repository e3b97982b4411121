"""Values in configs that don't do what they look like: variables, plain secrets, relative paths."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dshloop.dsh_yaml import Value
from dshloop.profiles.checks import kinds
from dshloop.profiles.checks.findings import Finding, Kind
from dshloop.profiles.checks.names import plugin_of
from dshloop.profiles.checks.subject import Case, UserFile
from dshloop.profiles.layers import Layer, Place
from dshloop.profiles.masking import REFERENCE
from dshloop.profiles.patch import Row
from dshloop.profiles.row_names import id_text
from dshloop.redact import is_telling, redact_text

_INSIDE = re.compile(r"\$\{[A-Z_][A-Z0-9_]*(?::[^}]*)?\}|\$\{\{.*?\}\}")
_LONG_REFERENCE = re.compile(r"\$\{\{.*\}\}|%[A-Z_][A-Z0-9_]*%")
_RELATIVE = re.compile(r"\.{1,2}[\\/]")
_BRIDGE = "dsh-agentmemory"

Found = tuple[Value, str | int, str]
"""A container, the key in it, and the text that stands there."""


def check_values(case: Case) -> Iterator[Finding]:
    """Look at the texts in the configs of all rows; of bundles only at their paths."""
    for placed in case.composition.walk():
        row = placed.row
        for container, key, text in _texts(row.get("config"), row):
            source = case.composition.source(container)
            if source is None:
                continue
            file = case.user_file(source[0])
            if file is not None:
                yield from _in_user_file(file, source[2], row, key, text)
            elif _RELATIVE.match(text) and not _has_lines(text):
                place = source[0].place(source[1], source[2], key)
                yield _relative(row, text, place, source[0])


def _texts(value: Value, row: Row) -> Iterator[Found]:
    """Yield the texts of a config; rows of a group have their own turn."""
    pending = [value] if not _is_rows(value) else []
    seen: set[int] = set()
    while pending:
        container = pending.pop()
        if id(container) in seen or not isinstance(container, dict | list):
            continue
        seen.add(id(container))
        members = container.items() if isinstance(container, dict) else enumerate(container)
        for key, member in members:
            if isinstance(member, str):
                yield container, key, member
            else:
                pending.append(member)
    top = row.get("config")
    if isinstance(top, str):
        yield row, "config", top


def _is_rows(value: Value) -> bool:
    return isinstance(value, list) and any(isinstance(v, dict) and "name" in v for v in value)


def _in_user_file(
    file: UserFile, original: Value, row: Row, key: str | int, text: str
) -> Iterator[Finding]:
    place = file.place(original, key)
    bridged = key == "secret" and plugin_of(row) == _BRIDGE
    if _has_lines(text):
        return
    reference = REFERENCE.fullmatch(text) or _LONG_REFERENCE.fullmatch(text)
    if bridged and text and not text.startswith("${"):
        why = "the secret of dsh-agentmemory stands there as plain text"
        fix = "Write secret: ${NAME}, and set the variable NAME."
        yield _finding(kinds.SECRET_PLAIN, row, place, why, fix)
    elif not bridged and (reference or _INSIDE.search(text)):
        shown = redact_text(text)
        why = f"dsh does not resolve {shown}; the plugin gets this very text"
        yield _finding(kinds.ENV_REFERENCE_LITERAL, row, place, why, _as_expression(text))
    elif not bridged and _is_secret(key, text):
        why = f"{key} holds a secret as plain text"
        yield _finding(kinds.SECRET_PLAIN, row, place, why)
    if _RELATIVE.match(text):
        yield _relative(row, text, place, None)


def _has_lines(text: str) -> bool:
    return "\n" in text or len(text) > 2000


def _is_secret(key: str | int, text: str) -> bool:
    return redact_text(text) != text or (is_telling(key) and len(text) >= 8 and " " not in text)


def _as_expression(text: str) -> str:
    name = re.fullmatch(r"\$\{?(?:env:)?([A-Za-z_]\w*)\}?", text)
    return f"Write !!js process.env.{name[1]}" if name else ""


def _relative(row: Row, text: str, place: Place, layer: Layer | None) -> Finding:
    why = f"{redact_text(text)} depends on the folder that dsh is started in"
    fix = f"Tell the author of {layer.label}." if layer is not None else ""
    return _finding(kinds.PATH_CWD_RELATIVE, row, place, why, fix)


def _finding(kind: Kind, row: Row, place: Place, why: str, fix: str = "") -> Finding:
    row_id = row.get("id")
    return Finding(kind, why, place, None if row_id is None else id_text(row_id), fix=fix)
