"""Exports of agentmemory are read, and what we write comes back whole."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import ImportInvalidError
from dshloop.memory.answers import Document, Filters
from dshloop.memory.entries import NewMemory, NewObservation, Observation
from dshloop.memory.interchange import agentmemory, agentmemory_export, jsonl
from dshloop.memory.interchange.report import Report
from dshloop.memory.sqlite.store import SqliteStore
from tests.memory.interchange.steps import NOW, carried, read, store  # noqa: F401
from tests.memory.interchange.test_agentmemory_shape import MEMORY, OBSERVATION

SESSION = {
    "id": "s1",
    "project": "web",
    "cwd": "/home/dev/web",
    "startedAt": "2026-01-31T11:00:00.000Z",
    "updatedAt": "2026-01-31T12:00:00.000Z",
    "status": "completed",
    "endedAt": "2026-01-31T12:30:00.000Z",
    "observationCount": 1,
    "firstPrompt": "fix the port",
    "commitShas": ["abc"],
}
EXPORT: dict[str, Any] = {
    "version": "0.9.29",
    "exportedAt": "2026-02-01T00:00:00.000Z",
    "sessions": [SESSION],
    "observations": {"s1": [OBSERVATION], "gone": [{**OBSERVATION, "id": "obs_2",
                                                    "sessionId": "gone"}]},
    "memories": [{**MEMORY, "id": "mem_a_b", "isLatest": False, "version": 1, "supersedes": [],
                  "parentId": None, "content": "Port 9090 is taken"}, MEMORY],
    "summaries": [{"sessionId": "s1", "title": "Ports", "narrative": "n", "project": "web"}],
    "lessons": [{"id": "lsn_1", "content": "test first"}],
    "actions": [{"id": "act_1"}],
}  # fmt: skip


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("backwards", [False, True])
def test_an_export_is_read_whatever_the_order_of_its_keys(indent: Any, backwards: bool) -> None:
    value = dict(sorted(EXPORT.items(), reverse=backwards))
    *found, lesson = read(json.dumps(value, indent=indent))[0]
    report = read(json.dumps(value, indent=indent))[1]
    assert [one.id for one in found] == [
        "s1", "gone", "obs_mj3kq0x1_0123456789ab", "obs_2", "mem_a_b",
        "mem_mj3kq0x1_0123456789ab",
    ]  # fmt: skip
    assert isinstance(lesson, Document)
    assert (lesson.of, lesson.key, lesson.value) == ("lesson", "lsn_1", EXPORT["lessons"][0])
    observed = [one for one in found if isinstance(one, Observation)]
    session, (first, second) = found[0], observed
    assert (session.title, session.summary["narrative"]) == ("Ports", "n")
    assert (first.project, second.project) == ("web", "")
    assert report.lost == {"actions have no place here": 1, "sessions have no commitShas here": 1}


def test_it_is_stored_with_versions_and_found(store: SqliteStore) -> None:  # noqa: F811
    items = agentmemory.read(io.BytesIO(json.dumps(EXPORT).encode()), Report())
    report = carried(store, items)
    assert report.total("added") == 7
    assert store.document("lesson", "lsn_1")["content"] == "test first"
    newest = store.recall("port taken")[0].entry
    assert [one.content for one in store.history(newest.id)] == [
        "Port 9090 is taken", "Port 8080 is taken",
    ]  # fmt: skip
    known, made = store.get_session("s1"), store.get_session("gone")
    assert known is not None
    assert made is not None
    assert (known.observations, made.observations) == (1, 1)
    again = agentmemory.read(io.BytesIO(json.dumps(EXPORT).encode()), Report())
    assert carried(store, again).total("same") == 7


def test_bad_rows_cost_only_themselves() -> None:
    value = {**EXPORT, "memories": [{}, "x", None, MEMORY], "observations": {"s1": "x", "s2": [5]}}
    found, report = read(json.dumps(value))
    assert [getattr(one, "id", "") for one in found] == ["s1", "mem_mj3kq0x1_0123456789ab", ""]
    assert report.lost["its observations are no list"] == 1
    assert report.places["it is no object"] == [
        "observations[s2][0]", "memories[1]", "memories[2]",
    ]  # fmt: skip


def test_a_torn_export_gives_what_is_whole() -> None:
    text = json.dumps(EXPORT, indent=1)
    found, report = read(text[: text.index('"summaries"') + 20])
    assert len(found) == 6
    assert [reason for reason in report.lost if "damaged" in reason]


@pytest.mark.parametrize(
    "value",
    [{"exportData": EXPORT, "strategy": "merge"},
     {"memories": EXPORT["memories"], "total": 2, "offset": 0, "limit": None}],
)  # fmt: skip
def test_requests_and_pages_are_read_too(value: Any) -> None:
    found, _ = read(json.dumps(value))
    assert "mem_mj3kq0x1_0123456789ab" in [getattr(one, "id", "") for one in found]


def test_a_failure_that_was_saved_as_an_export_is_said_to_be_one() -> None:
    with pytest.raises(ImportInvalidError, match="Response is 20 MiB"):
        read('{"success": false, "error": "Response is 20 MiB", "oversized": true}')


def test_our_export_is_valid_and_comes_back_whole(
    store: SqliteStore,  # noqa: F811
    tmp_path: Path,
) -> None:
    old = store.remember(NewMemory("the port is 8080", "p", source={"kind": "command"})).memory
    store.remember(NewMemory("the port is 8080", "p"))
    store.edit(old.id, content="the port is 9090")
    for number in range(3):
        store.observe(
            NewObservation("s1", "p", "stop", "stop", f"long {number} " * 200, str(number))
        )
    store.keep_document("lesson", "l1", {"id": "l1", "content": "x"})
    text = b"".join(agentmemory_export.write(store.rows, None, Report(), NOW))
    value = json.loads(text)
    assert value["version"] == "0.9.29"
    assert [len(value[key]) for key in ("sessions", "memories", "observations")] == [1, 2, 1]
    assert [one["isLatest"] for one in value["memories"]] == [False, True]
    assert value["lessons"] == [{"id": "l1", "content": "x"}]
    other = SqliteStore(tmp_path / "other" / "memory.db", clock=lambda: NOW)
    carried(other, agentmemory.read(io.BytesIO(text), Report()))
    try:
        left, right = set(_lines(store)), set(_lines(other))
        assert left == right
    finally:
        other.close()


def test_filters_and_what_has_no_place_are_told(store: SqliteStore) -> None:  # noqa: F811
    store.remember(NewMemory("of web", "web"))
    store.remember(NewMemory("of api", "api"))
    store.observe(NewObservation("s1", "web", "stop", "stop", "text", "k"))
    store.keep_document("relation", "r1", {})
    report = Report()
    where = Filters(project="web", kinds=("memory",))
    value = json.loads(b"".join(agentmemory_export.write(store.rows, where, report, NOW)))
    assert [one["content"] for one in value["memories"]] == ["of web"]
    assert value["observations"] == {}
    list(agentmemory_export.write(store.rows, None, report, NOW))
    assert report.lost == {"a relation has no place in the shape of agentmemory": 1}


def _lines(store: SqliteStore) -> list[bytes]:  # noqa: F811
    return list(jsonl.write(store.rows(), Report()))


def test_what_is_no_list_is_named() -> None:
    found, report = read(json.dumps({**EXPORT, "sessions": 5, "memories": None}))
    assert report.places["it is no list"] == ["sessions", "memories"]
    assert any(getattr(one, "id", "") == "obs_2" for one in found)


def test_an_export_damaged_at_its_beginning_says_how() -> None:
    text = '{"memories": [' + "[" * 100_000 + "]" * 100_000 + "]}"
    with pytest.raises(ImportInvalidError, match="nested too deeply"):
        read(text, "agentmemory")
