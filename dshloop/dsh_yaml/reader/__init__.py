"""The exact reader: a text to the value that js-yaml gives DSH, or its error."""

from __future__ import annotations

from dshloop.dsh_yaml.document import Document
from dshloop.dsh_yaml.reader.documents import read_document

__all__ = ["Document", "read_document"]
