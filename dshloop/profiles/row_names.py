"""Names of rows that are paths: DSH resolves them beside the patch file that inserts the row."""

from __future__ import annotations

import os
import re
from pathlib import Path

from dshloop.dsh_yaml import Value, stringify

_ESCAPED_IN_URL = re.compile(r"[^A-Za-z0-9/\-._!*'()@&=+$,;:]+")


def id_text(row_id: Value) -> str:
    """Give a row's id as people name it: text as it is, anything else by its JSON."""
    return row_id if isinstance(row_id, str) else stringify(row_id)


def resolve_name(row: dict[str, Value], patch_file: Path | None) -> None:
    """Make the file URL of a `name` that begins with ``./`` or ``../``, in place."""
    name = row.get("name")
    if patch_file is None or not isinstance(name, str) or not name.startswith(("./", "../")):
        return
    row["name"] = file_url(os.path.normpath(patch_file.absolute().parent / name))


def file_url(path: str) -> str:
    """Give the URL of an absolute path, escaped as DSH's runtime does."""
    plain = path if os.sep == "/" else "/" + path.replace(os.sep, "/")
    return "file://" + _ESCAPED_IN_URL.sub(_escape, plain)


def _escape(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))
