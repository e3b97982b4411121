"""Byte-preserving edits of a YAML mapping: only the lines of the edited key change.

Works on the character marks of the parsed text, never by dumping it again, so comments, quotes,
blank lines, line ends and a byte order mark stay as they are. Each edit is read back and compared
with what was wanted; a text it can't edit safely is refused with SPLICE_REFUSED and left alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from dshloop.errors import SpliceRefusedError

Node = Any  # a PyYAML node; its stubs leave out id, style and value


def set_value(text: str, path: Sequence[str], value: Any) -> str:
    """Set the key at `path` of a mapping document, making the mappings above it where missing."""
    bom, body = _split_bom(text)
    root = _root(body)
    if root is None:
        edited = _append(body, _block(path, value, "", _newline(body)))
    else:
        edited = _set_in(body, root, path, value)
    wanted = _with(_read(body), path, value)
    return bom + _checked(edited, wanted, path)


def unset_value(text: str, path: Sequence[str]) -> str:
    """Remove the key at `path`, its line and the comment behind it; KeyError when it isn't set.

    A mapping that becomes empty goes too, so that `memory:` doesn't stay behind as a null.
    """
    bom, body = _split_bom(text)
    root = _root(body)
    trail = _trail(root, path)
    while len(trail) > 1 and len(trail[-1][0].value) == 1:
        trail.pop()
        path = path[:-1]
    mapping, index = trail[-1]
    wanted = _without(_read(body), path)
    return bom + _checked(_cut(body, mapping, index), wanted, path)


def _set_in(text: str, root: Node, path: Sequence[str], value: Any) -> str:
    node = root
    for depth, key in enumerate(path):
        child = _child(node, key)
        if child is None:
            return _insert(text, node, path[depth:], value)
        node = child
    return _replace(text, node, _flow(value))


def _replace(text: str, node: Node, written: str) -> str:
    start, end = node.start_mark.index, node.end_mark.index
    if start == end:  # an empty value: its mark is right behind the colon
        return text[:start] + " " + written + text[end:]
    old = text[start:end]
    kept = old[len(old.rstrip()) :]  # block values end behind their last line break
    return text[:start] + written + kept + text[end:]


def _insert(text: str, mapping: Node, path: Sequence[str], value: Any) -> str:
    """Add a key behind the last one of a mapping node, in that node's own style."""
    newline = _newline(text)
    if mapping.id != "mapping" or (mapping.flow_style and not mapping.value):
        written = _flow(_nested(path, value))
        if mapping.id == "scalar" and not mapping.value:  # `key:` with nothing behind it
            return _replace(text, mapping, written)
        if mapping.id == "mapping":
            return _replace(text, mapping, written)
        raise SpliceRefusedError(
            f"{'.'.join(path)} can't be set: the value above it is not a mapping",
            line=mapping.start_mark.line + 1,
        )
    if mapping.flow_style:
        end = mapping.value[-1][1].end_mark.index
        written = _flow(_nested(path, value))[1:-1]
        return text[:end] + ", " + written + text[end:]
    indent = " " * mapping.value[0][0].start_mark.column
    at = _line_end(text, _last_character(text, mapping.value[-1][1]))
    block = _block(path, value, indent, newline)
    if at >= len(text) and not text.endswith("\n"):
        return text + newline + block[: -len(newline)]
    return text[:at] + block + text[at:]


def _cut(text: str, mapping: Node, index: int) -> str:
    key, value = mapping.value[index]
    if mapping.flow_style:
        if index + 1 < len(mapping.value):
            end = mapping.value[index + 1][0].start_mark.index
            return text[: key.start_mark.index] + text[end:]
        start = mapping.value[index - 1][1].end_mark.index if index else key.start_mark.index
        return text[:start] + text[value.end_mark.index :]
    start = text.rfind("\n", 0, key.start_mark.index) + 1
    return text[:start] + text[_line_end(text, _last_character(text, value)) :]


def _block(path: Sequence[str], value: Any, indent: str, newline: str) -> str:
    lines = [f"{indent}{'  ' * depth}{_flow(key)}:" for depth, key in enumerate(path)]
    return newline.join(lines) + f" {_flow(value)}" + newline


def _flow(value: Any) -> str:
    """Write a value on one line: text plain where it reads back, else quoted; the rest as JSON."""
    import json

    if isinstance(value, str):
        plain = value.isprintable() and value == value.strip() and value
        return value if plain and _reads_back(value) else _quoted(value)
    if isinstance(value, dict):
        members = (f"{_flow(key)}: {_flow(member)}" for key, member in value.items())
        return "{" + ", ".join(members) + "}"
    return json.dumps(value, ensure_ascii=False)


def _quoted(value: str) -> str:
    marks = {'"': '\\"', "\\": "\\\\"}
    escaped = (
        marks.get(char) or (char if char.isprintable() else f"\\U{ord(char):08x}") for char in value
    )
    return '"' + "".join(escaped) + '"'


def _reads_back(value: str) -> bool:
    try:
        return bool(_read(f"[{value}]") == [value] and _read(f"k: {value}") == {"k": value})
    except Exception:
        return False


def _append(body: str, block: str) -> str:
    newline = _newline(body)
    if body and not body.endswith("\n"):
        body += newline
    return body + block


def _last_character(text: str, node: Node) -> int:
    """Find where a value's text really ends: block values are marked up to the next token."""
    start, end = int(node.start_mark.index), int(node.end_mark.index)
    if node.id == "scalar":
        return end if node.style not in ("|", ">") else max(start, len(text[:end].rstrip()))
    if not node.flow_style and node.value:
        last = node.value[-1]
        return _last_character(text, last[1] if node.id == "mapping" else last)
    return end


def _line_end(text: str, index: int) -> int:
    at = text.find("\n", index)
    return len(text) if at < 0 else at + 1


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _split_bom(text: str) -> tuple[str, str]:
    return ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)


def _root(text: str) -> Node | None:
    import yaml

    node: Node = yaml.compose(text, Loader=yaml.SafeLoader)
    if node is None or (node.id == "scalar" and not node.value):
        return None
    if node.id != "mapping":
        raise SpliceRefusedError("the file does not hold a mapping", line=1)
    return node


def _trail(root: Node | None, path: Sequence[str]) -> list[tuple[Node, int]]:
    trail = []
    node = root
    for key in path:
        index = _index(node, key) if node is not None else None
        if node is None or index is None:
            raise KeyError(".".join(path))
        trail.append((node, index))
        node = node.value[index][1]
    return trail


def _child(node: Node, key: str) -> Node | None:
    index = _index(node, key)
    return None if index is None else node.value[index][1]


def _index(node: Node, key: str) -> int | None:
    if node.id != "mapping":
        return None
    return next((at for at, (name, _) in enumerate(node.value) if name.value == key), None)


def _read(text: str) -> Any:
    import yaml

    return yaml.load(text, Loader=yaml.SafeLoader)


def _nested(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _with(document: Any, path: Sequence[str], value: Any) -> Any:
    head, *rest = path
    members = dict(document) if isinstance(document, dict) else {}
    members[head] = _with(members.get(head), rest, value) if rest else value
    return members


def _without(document: Any, path: Sequence[str]) -> Any:
    head, *rest = path
    members = dict(document)
    if rest:
        members[head] = _without(members[head], rest)
    else:
        del members[head]
    return members or None


def _checked(text: str, wanted: Any, path: Sequence[str]) -> str:
    import yaml

    with contextlib.suppress(yaml.YAMLError):
        got = _read(text)
        if got == wanted or (got is None and not wanted):
            return text
    raise SpliceRefusedError(
        f"{'.'.join(path)} can't be edited safely in this file; nothing was changed",
        key=".".join(path),
    )
