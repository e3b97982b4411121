"""What may stand before a node (tags, anchors), alias names, and directives."""

from __future__ import annotations

import re

from dshloop.dsh_yaml.reader.cursor import (
    BREAK,
    END,
    FLOW_INDICATORS,
    SPACE_OR_BREAK,
    Cursor,
)

YAML_TAG = "tag:yaml.org,2002:"
_HANDLE = re.compile(r"!|!!|![0-9A-Za-z-]+!")
_URI = re.compile(
    r"(?:!|[^,\[\]{}\U00010000-\U0010ffff])"
    r"(?:%[0-9a-fA-F]{2}|[0-9a-zA-Z\-#;/?:@&=+$,_.!~*'()\[\]])*"
)
_FLOW_INDICATOR = re.compile(r"[,\[\]{}]")
_VERSION = re.compile(r"([0-9]+)\.([0-9]+)")
_ESCAPED = re.compile("((?:%[0-9a-fA-F]{2})+)")


def read_tag(cursor: Cursor, handles: dict[str, str]) -> str:
    """Read the tag whose ``!`` stands here; give its full name (``!`` alone stays so)."""
    text = cursor.text
    cursor.pos += 1
    if text[cursor.pos] == "<":
        cursor.pos += 1
        return _check_name(cursor, _verbatim(cursor))
    handle = "!"
    named = text[cursor.pos] == "!"
    if named:
        handle = "!!"
        cursor.pos += 1
    start = cursor.pos
    while (char := text[cursor.pos]) != END and char not in SPACE_OR_BREAK:
        if char == "!":
            if named:
                raise cursor.fault("tag suffix cannot contain exclamation marks")
            handle = text[start - 1 : cursor.pos + 1]
            if not _HANDLE.fullmatch(handle):
                raise cursor.fault("named tag handle cannot contain such characters")
            named = True
            start = cursor.pos + 1
        cursor.pos += 1
    name = text[start : cursor.pos]
    if _FLOW_INDICATOR.search(name):
        raise cursor.fault("tag suffix cannot contain flow indicator characters")
    return _prefix(cursor, handle, handles, name) + _check_name(cursor, name)


def _verbatim(cursor: Cursor) -> str:
    start = cursor.pos
    cursor.pos += 1
    while cursor.text[cursor.pos] not in (END, ">"):
        cursor.pos += 1
    if cursor.pos >= cursor.length:
        raise cursor.fault("unexpected end of the stream within a verbatim tag")
    name = cursor.text[start : cursor.pos]
    cursor.pos += 1
    return name


def _check_name(cursor: Cursor, name: str) -> str:
    if name and not _URI.fullmatch(name):
        raise cursor.fault(f"tag name cannot contain such characters: {name}")
    decoded = decode_uri(name)
    if decoded is None:
        raise cursor.fault(f"tag name is malformed: {name}")
    return decoded


def _prefix(cursor: Cursor, handle: str, handles: dict[str, str], name: str) -> str:
    if handle in handles:
        return handles[handle]
    if handle == "!":
        return "!"
    if handle == "!!":
        return YAML_TAG
    _check_name(cursor, name)
    raise cursor.fault(f'undeclared tag handle "{handle}"')


def decode_uri(text: str) -> str | None:
    """Resolve percent escapes as UTF-8; None when they are none."""
    if "%" not in text:
        return text
    parts = _ESCAPED.split(text)
    if any("%" in part for part in parts[::2]):
        return None
    try:
        parts[1::2] = [bytes.fromhex(part.replace("%", "")).decode() for part in parts[1::2]]
    except UnicodeDecodeError:
        return None
    return "".join(parts)


def read_name(cursor: Cursor, kind: str) -> str:
    """Read the name after the ``&`` of an anchor or the ``*`` of an alias."""
    cursor.pos += 1
    start = cursor.pos
    text = cursor.text
    while (
        (char := text[cursor.pos]) != END
        and char not in SPACE_OR_BREAK
        and char not in FLOW_INDICATORS
    ):
        cursor.pos += 1
    if cursor.pos == start:
        raise cursor.fault(f"name of an {kind} node must contain at least one character")
    return text[start : cursor.pos]


class Directives:
    """The ``%YAML`` and ``%TAG`` lines before one document."""

    def __init__(self) -> None:
        self.handles: dict[str, str] = {}
        self._has_version = False
        self.found = False

    def read(self, cursor: Cursor) -> None:
        """Read directives and what stands between them, up to the document."""
        while cursor.text[cursor.pos] != END:
            cursor.skip_space()
            if cursor.indent > 0 or cursor.text[cursor.pos] != "%":
                return
            self.found = True
            cursor.pos += 1
            name = self._word(cursor)
            if not name:
                raise cursor.fault("directive name must not be less than one character in length")
            arguments = self._arguments(cursor)
            if cursor.text[cursor.pos] != END:
                cursor.read_break()
            if name == "YAML":
                self._yaml(cursor, arguments)
            elif name == "TAG":
                self._tag(cursor, arguments)

    @staticmethod
    def _word(cursor: Cursor) -> str:
        start = cursor.pos
        while (char := cursor.text[cursor.pos]) != END and char not in SPACE_OR_BREAK:
            cursor.pos += 1
        return cursor.text[start : cursor.pos]

    def _arguments(self, cursor: Cursor) -> list[str]:
        arguments: list[str] = []
        while cursor.text[cursor.pos] != END:
            cursor.skip_blanks()
            if cursor.text[cursor.pos] == "#":
                cursor.to_end_of_line()
                break
            if cursor.text[cursor.pos] in BREAK:
                break
            arguments.append(self._word(cursor))
        return arguments

    def _yaml(self, cursor: Cursor, arguments: list[str]) -> None:
        if self._has_version:
            raise cursor.fault("duplication of %YAML directive")
        if len(arguments) != 1:
            raise cursor.fault("YAML directive accepts exactly one argument")
        match = _VERSION.fullmatch(arguments[0])
        if match is None:
            raise cursor.fault("ill-formed argument of the YAML directive")
        if match[1].lstrip("0") != "1":
            raise cursor.fault("unacceptable YAML version of the document")
        self._has_version = True

    def _tag(self, cursor: Cursor, arguments: list[str]) -> None:
        if len(arguments) != 2:
            raise cursor.fault("TAG directive accepts exactly two arguments")
        handle, prefix = arguments
        if not _HANDLE.fullmatch(handle):
            raise cursor.fault("ill-formed tag handle (first argument) of the TAG directive")
        if handle in self.handles:
            raise cursor.fault(f'there is a previously declared suffix for "{handle}" tag handle')
        if not _URI.fullmatch(prefix):
            raise cursor.fault("ill-formed tag prefix (second argument) of the TAG directive")
        decoded = decode_uri(prefix)
        if decoded is None:
            raise cursor.fault(f"tag prefix is malformed: {prefix}")
        self.handles[handle] = decoded
