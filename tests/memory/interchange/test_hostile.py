"""Whatever a file holds, an import ends in a report or in an error of ours."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dshloop.errors import DshloopError
from dshloop.memory.interchange import sources
from dshloop.memory.interchange.carrying import carry
from dshloop.memory.interchange.markdown import memory_of
from dshloop.memory.interchange.records import header_line, record_line
from dshloop.memory.interchange.report import Item, Report
from dshloop.memory.sqlite.store import SqliteStore
from dshloop.transcripts import claude_code, codex
from tests.memory.interchange.rows import texts
from tests.memory.interchange.steps import carried, store  # noqa: F401
from tests.memory.transfer import memory

KEYS = (
    "kind", "type", "id", "content", "project", "source", "session", "sessionId", "sessions",
    "observations", "memories", "version", "concepts", "createdAt", "created_at", "timestamp",
    "name", "entityType", "from", "to", "relationType", "summary", "isLatest", "parentId",
    "message", "role", "uuid", "payload", "text", "tool_use_id", "output", "call_id", "summaries",
    "lessons", "exportData", "dshloop", "origin", "strength", "narrative",
)  # fmt: skip
WORDS = ("memory", "session", "observation", "document", "entity", "relation", "user", "assistant",
         "tool_use", "tool_result", "response_item", "message", "function_call", "text",
         "session_meta", "2026-01-05T10:00:00Z", "mem_1", "0.9.29")  # fmt: skip
values: Any = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts, st.sampled_from(WORDS)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
    ),
    max_leaves=12,
)
rows: Any = st.dictionaries(st.sampled_from(KEYS), values, max_size=8)


class Sink:
    """A store that takes everything, and keeps nothing."""

    name = "sink"

    def rows(self, where: Any = None) -> Iterator[Any]:
        return iter(())

    def put(self, records: Any, **how: Any) -> Iterator[Any]:
        for _ in records:
            pass
        return iter(())

    def get(self, id_: str) -> Any:
        raise DshloopError(id_)


@given(st.lists(rows, max_size=4), st.sampled_from(["dshloop", "agentmemory", "mcp"]))
@settings(deadline=None)
def test_any_json_is_read_or_refused(found: list[Any], form: str) -> None:
    one_object = form == "agentmemory"
    text = (
        json.dumps(found[0] if found else {}) if one_object else "\n".join(map(json.dumps, found))
    )
    sink: Any = Sink()
    try:
        items = sources.stream_records(
            io.BytesIO(text.encode()), form, Report(), project="p", at=5.0
        )
        carry(sink, items, Report(), on_conflict="skip")
    except DshloopError:
        pass


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for start in (b"", b'{"version": "1", "sessions": [', header_line().encode() + b"\n"):
        try:
            list(sources.stream_records(io.BytesIO(start + data), "auto", Report(), project="",
                                        at=0.0))  # fmt: skip
        except DshloopError:
            continue


@given(st.text(max_size=60), rows)
def test_any_markdown_is_read(text: str, front: Any) -> None:
    memory_of(f"---\n{text}\n---\nbody", "a.md", "p", 5.0)
    memory_of(f"---\n{json.dumps(front)}\n---\nbody", "a.md", "p", 5.0)


@given(st.lists(rows, max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_log_of_an_agent_is_read(tmp_path: Path, found: list[Any]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, found)), encoding="utf-8")
    for reader in (claude_code, codex):
        reader.outline(path)
        list(reader.happenings(path))


@pytest.mark.parametrize("depth", [150, 900, 100_000])
def test_deep_json_costs_only_itself(store: SqliteStore, depth: int) -> None:  # noqa: F811
    deep = '{"a":' * depth + "1" + "}" * depth
    line = record_line(memory(1)).replace('"source": {}', f'"source": {deep}')
    text = "\n".join([header_line(), line, record_line(memory(2))])
    items = sources.stream_records(io.BytesIO(text.encode()), "auto", Report(), project="", at=0.0)
    report = carried(store, items)
    assert report.total("added") == 1
    assert list(report.lost) == ["its JSON is nested too deeply"]


def test_what_has_expired_is_left_out(store: SqliteStore) -> None:  # noqa: F811
    gone = memory(1, expires_at=10.0)
    report = carried(store, [Item(gone, 1), Item(memory(2, expires_at=30.0), 2)], now=20.0)
    assert (report.total("added"), report.lost) == (1, {"it has expired": 1})


@pytest.mark.parametrize(
    "wild",
    [
        {"version": 10**30},
        {"version": 1e30},
        {"strength": 10**400},
        {"createdAt": 10**400},
        {"id": "\ud800"},
        {"parentId": "\ud800"},
        {"dshloop": {"created_at": 10**400, "repeats": 1e40}},
    ],
    ids=str,
)
def test_a_row_beyond_what_a_store_holds_harms_no_other(
    store: SqliteStore,  # noqa: F811
    wild: dict[str, Any],
) -> None:
    good = {"id": "mem_good", "content": "the good one"}
    text = json.dumps({"memories": [{"id": "mem_wild", "content": "the wild one"} | wild, good]})
    items = sources.stream_records(
        io.BytesIO(text.encode()), "agentmemory", Report(), project="p", at=5.0
    )
    report = carried(store, items)
    assert store.get("mem_good").content == "the good one"
    assert report.total("added") + report.lost.total() == 2


@pytest.mark.parametrize(
    "wild",
    [{"version": 10**30}, {"repeats": -1}, {"created_at": 10**400}, {"id": "\ud800"}],
    ids=str,
)
def test_a_line_beyond_what_a_store_holds_is_told(
    store: SqliteStore,  # noqa: F811
    wild: dict[str, Any],
) -> None:
    line = json.loads(record_line(memory(1))) | wild
    text = f"{header_line()}\n{json.dumps(line)}\n{record_line(memory(2))}\n"
    items = sources.stream_records(
        io.BytesIO(text.encode()), "dshloop", Report(), project="p", at=5.0
    )
    report = carried(store, items)
    assert (report.total("added"), report.lost.total()) == (1, 1)
