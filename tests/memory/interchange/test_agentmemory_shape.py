"""Records become agentmemory's rows and come back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from dshloop.memory.entries import Memory, Observation, Session
from dshloop.memory.interchange.agentmemory_shape import (
    memory_of,
    memory_row,
    observation_of,
    observation_row,
    session_of,
    session_row,
)
from dshloop.memory.interchange.fields import RowError
from tests.memory.interchange import rows

MEMORY: dict[str, Any] = {
    "id": "mem_mj3kq0x1_0123456789ab",
    "createdAt": "2026-01-31T12:00:00.000Z",
    "updatedAt": "2026-01-31T12:00:01.000Z",
    "type": "bug",
    "title": "Port 8080",
    "content": "Port 8080 is taken",
    "concepts": ["ports"],
    "files": ["src/a.ts"],
    "sessionIds": [],
    "strength": 7,
    "version": 2,
    "parentId": "mem_a_b",
    "supersedes": ["mem_a_b"],
    "sourceObservationIds": ["obs_1_2"],
    "isLatest": True,
    "origin": {"channel": "agent", "capturedAt": "2026-01-31T12:00:00.000Z"},
    "project": "web",
    "agentId": "coder",
    "forgetAfter": "2099-01-31T12:00:00.000Z",
}
OBSERVATION: dict[str, Any] = {
    "id": "obs_mj3kq0x1_0123456789ab",
    "sessionId": "s1",
    "timestamp": "2026-01-31T12:00:00.000Z",
    "type": "command_run",
    "title": "bash",
    "subtitle": '{"command":"ls"}',
    "facts": ["a fact"],
    "narrative": '{"command":"ls"} | a.txt',
    "concepts": [],
    "files": [],
    "importance": 5,
    "confidence": 0.3,
    "origin": {"channel": "tool", "capturedAt": "2026-01-31T12:00:00.000Z", "detail": "bash"},
}


@given(rows.memories)
def test_a_memory_comes_back_whole(memory: Memory) -> None:
    assert memory_of(memory_row(memory, whole=True), 0.0) == memory


@given(rows.observations)
def test_an_observation_comes_back_whole(observation: Observation) -> None:
    assert observation_of(observation_row(observation, whole=True), "", 0.0) == observation


@given(rows.sessions)
def test_a_session_comes_back_whole(session: Session) -> None:
    assert session_of(session_row(session, whole=True), 0.0) == session


def test_their_rows_come_back_whole() -> None:
    assert memory_row(memory_of(MEMORY, 0.0)) == MEMORY
    assert observation_row(observation_of(OBSERVATION, "web", 0.0)) == OBSERVATION


def test_a_row_reads_as_what_it_says() -> None:
    memory = memory_of(MEMORY, 0.0)
    assert (memory.type, memory.version, memory.previous) == ("bug", 2, "mem_a_b")
    assert memory.created_at == 1769860800.0
    assert (memory.project, memory.agent) == ("web", "coder")
    observation = observation_of(OBSERVATION, "web", 0.0)
    assert (observation.hook, observation.project) == ("post_tool_use", "web")


def test_what_a_row_leaves_out_is_made_up_plausibly() -> None:
    memory = memory_of({"id": "7", "content": "some text", "type": "odd", "strength": "x"}, 5.0)
    assert (memory.id, memory.title, memory.type) == ("mem_7", "some text", "fact")
    assert (memory.created_at, memory.updated_at, memory.strength) == (5.0, 5.0, 7.0)
    assert memory_row(memory)["type"] == "fact"


@pytest.mark.parametrize(
    "row", [{}, {"id": "mem_1"}, {"content": "x"}, {"id": [], "content": "x"}, [], None, "x"]
)
def test_what_is_no_row_is_said_to_be_none(row: Any) -> None:
    with pytest.raises(RowError):
        memory_of(row, 0.0)


def test_a_long_narrative_is_cut_as_theirs_are() -> None:
    observation = observation_of({**OBSERVATION, "narrative": "x" * 1000}, "", 0.0)
    assert len(observation_row(observation)["narrative"]) == 400
    assert len(observation_row(observation, whole=True)["narrative"]) == 1000


def test_a_summary_is_text_or_an_object() -> None:
    session = {"id": "s", "project": "p", "cwd": "/p", "startedAt": "2026-01-31T12:00:00.000Z"}
    assert session_of({**session, "summary": "Title"}, 0.0).title == "Title"
    told = session_of({**session, "summary": {"title": "T", "narrative": "n"}}, 0.0)
    assert (told.title, told.summary) == ("T", {"title": "T", "narrative": "n"})
    assert session_of({**session, "status": "completed"}, 0.0).ended_at is not None
