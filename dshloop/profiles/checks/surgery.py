"""Mends of patch files that don't parse, where what is meant is beyond doubt.

The classic damage is a tool that appends entries to the `[]` of a new profile. Every mend is read
back before it counts; what has several documents, or a root that is no list, is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dshloop.dsh_yaml import dump, load
from dshloop.dsh_yaml.values import Value
from dshloop.errors import DshYamlInvalidError

BOM = "\ufeff"
_UTF_16 = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_UTF_32 = {b"\xff\xfe\x00\x00": "utf-32", b"\x00\x00\xfe\xff": "utf-32"}
_EMPTY_ROOT = re.compile(
    r"^(?:\[[ \t]*\]|\{[ \t]*\}|null|~)[ \t]*(?:(#[^\r\n]*)?(\r\n|\n|\r|\Z))", re.M
)
_GLUED_ROOT = re.compile(r"^\[[ \t]*\](?=-[ \t])", re.M)
_ENTRY = re.compile(r"^-[ \t\r\n]", re.M)
_CONTENT = re.compile(r"^(?![ \t]*(?:#|%|$|\r)|---|\ufeff?$)", re.M)
_MARKER = re.compile(r"^(?:---|\.\.\.)(?=[ \t\r\n]|\Z)", re.M)
_NULL_ROOT = re.compile(r"^(?:null|Null|NULL|~)(?=[ \t]*(?:#|\r|\n|\Z))", re.M)


def utf8_of(data: bytes) -> bytes | None:
    """Give the UTF-8 of a text in UTF-16 or UTF-32 with a byte order mark; None for others."""
    for marks, size in ((_UTF_32, 4), (_UTF_16, 2)):
        encoding = marks.get(data[:size])
        if encoding is not None:
            try:
                return data.decode(encoding).encode("utf-8")
            except UnicodeDecodeError:
                return None
    return None


def without_inner_marks(text: str) -> str:
    """Give the text without byte order marks, but for one at its very beginning."""
    return text[:1] + text[1:].replace(BOM, "")


def joined_lists(text: str) -> str | None:
    """Give one list for a complete list with entries behind it; None where that is not it.

    An empty root goes, with its line but not its comment; a flow list with entries becomes block
    entries. Comments and the entries' own bytes stay.
    """
    if text.startswith(BOM):
        mended = joined_lists(text.removeprefix(BOM))
        return None if mended is None else BOM + mended
    content = _CONTENT.search(text)
    if content is None or _MARKER.search(text, content.start()):
        return None  # nothing, or several documents
    for mended in (_without_empty_roots(text), _flow_root_as_block(text)):
        if mended is not None and mended != text and entries_of(mended):
            return mended
    return None


def with_root(text: str) -> str | None:
    """Give a text of comments, or a null, with the empty list it needs; None where it has one."""
    mended = _NULL_ROOT.sub("[]", text, count=1)
    if mended == text:
        newline = "\r\n" if "\r\n" in text else "\n"
        end = "" if not text.removeprefix(BOM) or text.endswith(("\n", "\r")) else newline
        mended = f"{text}{end}[]{newline}"
    return mended if entries_of(mended) == [] else None


def entries_of(text: str) -> list[Value] | None:
    """Give the entries of a patch file's text; None unless it is a list of mappings."""
    try:
        value = load(text)
    except DshYamlInvalidError:
        return None
    fine = isinstance(value, list) and all(isinstance(item, dict) for item in value)
    return value if fine else None


def _without_empty_roots(text: str) -> str:
    return _GLUED_ROOT.sub("", _EMPTY_ROOT.sub(_comment_alone, text))


def _comment_alone(match: re.Match[str]) -> str:
    return f"{match[1]}{match[2]}" if match[1] else ""


def _flow_root_as_block(text: str) -> str | None:
    """Write a flow list that entries follow as block entries."""
    start = re.search(r"^\[", text, re.M)
    if start is None:
        return None
    for end in _ends(text, start.start()):
        entries = entries_of(text[start.start() : end])
        if entries:
            newline = "\r\n" if "\r\n" in text else "\n"
            block = dump(entries).replace("\n", newline)
            return text[: start.start()] + block + text[end:]
    return None


def _ends(text: str, start: int) -> Iterator[int]:
    """Give where a flow list that begins at `start` may end: before each entry at column 0."""
    yield from (match.start() for match in _ENTRY.finditer(text, start))
