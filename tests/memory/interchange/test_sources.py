"""What a file is, is told by what stands in it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from dshloop.errors import ImportInvalidError, UnreadableFileError
from dshloop.memory.interchange import sources
from dshloop.memory.interchange.records import header_line
from dshloop.memory.interchange.report import Report
from tests.memory.interchange.test_agentmemory import EXPORT
from tests.memory.interchange.test_mcp_memory import GRAPH

LONG = "x" * 10_000


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (header_line(), "dshloop"),
        ('{torn\n{"kind": "memory", "id": "mem_1"}', "dshloop"),
        ('{"kind": "memory", "content": "' + LONG + '", "id": "mem_1"}', "dshloop"),
        (GRAPH, "mcp"),
        ('{"type":"ent\n' + GRAPH, "mcp"),
        ('{"entityType": "x", "name": "' + LONG + '", "type": "entity"}', "mcp"),
        (json.dumps({"entities": [], "relations": []}), "mcp"),
        (json.dumps(EXPORT), "agentmemory"),
        (json.dumps(EXPORT, indent=2), "agentmemory"),
        (json.dumps({"memories": [LONG]}), "agentmemory"),
        ("---\ntitle: x\n---\n", "markdown"),
    ],
)
def test_a_format_is_told(text: str, form: str) -> None:
    for data in (text.encode(), b"\xef\xbb\xbf" + text.encode()):
        assert sources.told(io.BytesIO(data), Path("x")) == form


@pytest.mark.parametrize("data", [b"", b"\0\0", b"root:x:0:0", b"[1]", b'{"a": 1}', b"\xff" * 9000])
def test_what_is_in_no_format_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(ImportInvalidError):
        list(sources.records(tmp_path / "x", "auto", Report(), project=""))


@pytest.mark.parametrize("form", ["auto", "markdown", "mcp"])
def test_a_file_that_is_not_there_is_told(form: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="there is no"):
        list(sources.records(tmp_path / "x", form, Report(), project=""))


def test_a_later_version_is_refused() -> None:
    data = b'{"format": "dshloop-memory", "version": 2}\n'
    with pytest.raises(ImportInvalidError, match="version 2"):
        list(sources.stream_records(io.BytesIO(data), "auto", Report(), project="", at=0.0))
