"""Read DSH's YAML: a text or the bytes of a file to a `Document`."""

from __future__ import annotations

from dshloop.dsh_yaml.document import Document
from dshloop.dsh_yaml.reader import read_document
from dshloop.dsh_yaml.values import Value


def load_document(text: str | bytes, *, source: str) -> Document:
    """Read one YAML document as DSH does (dsh-profiles 8); `source` names it in errors.

    Bytes are UTF-8; what is not becomes U+FFFD, as in DSH. An alias gives the very object that
    its anchor names. Raises DSH_YAML_INVALID with file, line, column, reason and snippet.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return read_document(text, source)


def load(text: str | bytes, *, source: str = "text") -> Value:
    """Read the value of one YAML document; `load_document` knows its lines too."""
    return load_document(text, source=source).value
