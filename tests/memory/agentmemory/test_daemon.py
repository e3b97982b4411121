"""What is asked of a daemon, how it is paged, and who it must be."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from dshloop.errors import (
    AgentmemoryOldError,
    AgentmemoryTooLargeError,
    PeerAnswerError,
    SemanticUnavailableError,
    StoreReadOnlyError,
)
from dshloop.memory.answers import Filters
from dshloop.memory.entries import Memory, NewMemory, NewSession
from tests.http.server import Asked, Said, serving
from tests.memory.agentmemory.daemons import store_at

HEALTH = {"status": "healthy", "service": "agentmemory", "version": "0.9.29"}
AT = "2026-01-05T10:00:00.000Z"
MEMORIES = Filters(kinds=("memory",))
Answers = Mapping[str, Callable[[Asked, Mapping[str, str]], Any]]


def memory(number: int, **more: Any) -> dict[str, Any]:
    text = f"note {number}"
    row = {"id": f"mem_{number}", "createdAt": AT, "updatedAt": AT, "type": "fact", "title": text}
    return {**row, "content": text, "isLatest": True, "version": 1, "project": "p", **more}


def daemon(answers: Answers, **health: Any) -> Callable[[Asked], Said]:
    """Answer by path; what is an integer is a status without a body."""

    def answer(asked: Asked) -> Said:
        parts = urlsplit(asked.path)
        path = parts.path.removeprefix("/agentmemory")
        if path == "/health":
            return Said(200, {**HEALTH, **health})
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        value = answers[path](asked, query)
        if isinstance(value, int):
            return Said(value, {"error": "Invocation stopped"})
        return Said(200, value)

    return answer


def listing(rows: list[Any], most: int = 10_000) -> Callable[[Asked, Mapping[str, str]], Any]:
    """List memories as the daemon does, which falls over beyond ``most`` rows."""

    def answer(_asked: Asked, query: Mapping[str, str]) -> Any:
        start, size = int(query.get("offset", 0)), int(query["limit"])
        page = rows[start : start + size]
        if len(page) > most:
            return 500
        return {"memories": page, "total": len(rows), "offset": start, "limit": size}

    return answer


@pytest.mark.parametrize("version", ["0.9.28", "0.9.3", "0.1.0", "", "next"])
def test_an_old_daemon_is_refused(version: str) -> None:
    with serving(daemon({}, version=version)) as server:
        store = store_at(server.url, time.time)
        with pytest.raises(AgentmemoryOldError, match=r"0\.9\.29 is the oldest"):
            store.list(MEMORIES)
        store.close()
    assert len(server.asked) == 1


@pytest.mark.parametrize("version", ["0.9.29", "0.9.30", "0.10.0", "1.0.0", "v2.0.0-beta.1"])
def test_a_newer_daemon_is_not(version: str) -> None:
    with serving(daemon({"/memories": listing([])}, version=version)) as server:
        store = store_at(server.url, time.time)
        assert list(store.list(MEMORIES)) == []
        store.close()


def test_another_program_is_told() -> None:
    with serving(daemon({}, service="something")) as server:
        store = store_at(server.url, time.time)
        with pytest.raises(PeerAnswerError, match="no agentmemory but something"):
            store.count()
        store.close()


@pytest.mark.parametrize("most", [10_000, 400, 60, 7, 1])
@pytest.mark.parametrize("oldest_first", [True, False])
def test_pages_shrink_until_they_fit(most: int, oldest_first: bool) -> None:
    rows = [memory(number) for number in range(30)]
    with serving(daemon({"/memories": listing(rows, most)})) as server:
        store = store_at(server.url, time.time)
        found = [entry.id for entry in store.list(MEMORIES, oldest_first=oldest_first)]
        store.close()
    expected = [row["id"] for row in rows]
    assert found == (expected if oldest_first else expected[::-1])


def test_a_row_that_is_too_large_alone_is_told() -> None:
    rows = [memory(number) for number in range(3)]
    with serving(daemon({"/memories": listing(rows, 0)})) as server:
        store = store_at(server.url, time.time)
        with pytest.raises(AgentmemoryTooLargeError, match="above its 16 MiB"):
            store.list(MEMORIES)
        store.close()


def test_the_newest_are_read_from_the_end() -> None:
    rows = [memory(number) for number in range(2_000)]
    with serving(daemon({"/memories": listing(rows)})) as server:
        store = store_at(server.url, time.time)
        assert [one.id for one in store.list(MEMORIES, limit=2)] == ["mem_1999", "mem_1998"]
        store.close()
    assert len(server.asked) == 3


def test_rows_that_are_none_are_left_out() -> None:
    sessions = [{"status": "completed"}, {"id": "s1", "project": "p", "startedAt": AT}]
    rows = [memory(1), {"id": "mem_2"}, {}, memory(3, forgetAfter="2000-01-01T00:00:00.000Z")]
    answers: Answers = {
        "/memories": listing(rows),
        "/sessions": lambda *_: {"sessions": sessions},
        "/observations": lambda *_: {
            "observations": [{"title": "x"}, {"id": "o", "sessionId": ""}]
        },
    }
    with serving(daemon(answers)) as server:
        store = store_at(server.url, time.time)
        assert [one.id for one in store.list()] == ["mem_1"]
        assert [one.id for one in store.sessions()] == ["s1"]
        store.close()


def searching(embeddings: str, results: list[Any], rows: list[Any]) -> Answers:
    by_id = {row["id"]: row for row in rows}
    single = {f"/memories/{id_}": lambda *_, row=row: {"memory": row} for id_, row in by_id.items()}
    return {
        "/config/flags": lambda *_: {"embeddingProvider": embeddings},
        "/search": lambda *_: {"results": results},
        **single,
    }


def result(row: dict[str, Any], score: float) -> dict[str, Any]:
    seen = {"id": row["id"], "title": row["title"], "narrative": row["content"], "type": "decision"}
    return {"observation": seen, "score": score, "sessionId": "memory"}


def test_hits_of_other_projects_and_old_versions_are_left_out() -> None:
    rows = [memory(1), memory(2, project="q"), memory(3, isLatest=False), memory(4, project="")]
    results = [result(row, 9.0 - at) for at, row in enumerate(rows)]
    with serving(daemon(searching("none", results, rows))) as server:
        store = store_at(server.url, time.time)
        hits = store.recall("note", Filters(project="p"))
        store.close()
    assert [hit.entry.id for hit in hits] == ["mem_1", "mem_4"]
    assert all(0 < hit.score <= 1 for hit in hits)
    assert hits[0].score > hits[1].score


def test_recall_by_meaning_needs_a_model_there() -> None:
    row = memory(1, content="the shop ships hats", title="hats")
    results = [result(row, 0.8)]
    with serving(daemon(searching("none", results, [row]))) as server:
        store = store_at(server.url, time.time)
        assert list(store.recall("delivering headgear")) == []
        with pytest.raises(SemanticUnavailableError, match="no embedding model"):
            store.recall("delivering headgear", semantic=True)
        store.close()
    with serving(daemon(searching("embeddings", results, [row]))) as server:
        store = store_at(server.url, time.time)
        [hit] = store.recall("delivering headgear", semantic=True)
        assert hit.entry.id == "mem_1"
        assert hit.why.parts == {"vector": 0.5}
        assert list(store.recall("delivering headgear", semantic=False)) == []
        store.close()


def test_ids_that_can_not_stand_in_a_path_are_looked_for_in_the_list() -> None:
    rows = [memory(1, id="mem_a/b?c"), memory(2)]
    answers: Answers = {"/memories": listing(rows), "/sessions": lambda *_: {"sessions": []}}
    with serving(daemon(answers)) as server:
        store = store_at(server.url, time.time)
        found = store.get("mem_a/b?c")
        assert isinstance(found, Memory)
        assert found.content == "note 1"
        store.close()


def test_a_store_for_reading_refuses_to_write() -> None:
    with serving(daemon({})) as server:
        store = store_at(server.url, time.time, readonly=True)
        with pytest.raises(StoreReadOnlyError):
            store.remember(NewMemory("x", "p"))
        with pytest.raises(StoreReadOnlyError):
            list(store.put([]))
        store.close()
    assert server.asked == []


def test_a_daemon_that_answers_nothing_of_use_is_a_fault_of_the_peer() -> None:
    def nothing(_asked: Asked, _query: Mapping[str, str]) -> Any:
        return {"success": True, "memory": {"id": 5}, "session": {}}

    paths = ("/sessions", "/session/start", "/remember", "/memories", "/config/flags")
    with serving(daemon(dict.fromkeys(paths, nothing))) as server:
        store = store_at(server.url, time.time)
        with pytest.raises(PeerAnswerError, match="no session for one that it began"):
            store.start_session(NewSession("s1", "p"))
        with pytest.raises(PeerAnswerError, match="no memory for one that it kept"):
            store.remember(NewMemory("text", project="p"))
        store.close()
