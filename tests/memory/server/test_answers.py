"""Answers that were compared with the real agentmemory's, beside the conformance cases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dshloop.memory.server.calls import Call, CallRefusedError
from dshloop.memory.server.routes import ROUTES
from dshloop.memory.server.settings import Settings
from dshloop.memory.server.state import State
from dshloop.memory.stores import open_store

ENDPOINTS = {(one.method, one.path): one.endpoint for one in ROUTES}


class Asked:
    """A store that is asked as the server asks it."""

    def __init__(self, path: Path) -> None:
        self.store = open_store(None, database=path)
        self.state = State(Settings())

    def post(self, path: str, **body: Any) -> Any:
        return ENDPOINTS["POST", path](Call(self.state, {}, body), self.store).value

    def get(self, path: str, tail: str = "", **query: str) -> Any:
        return ENDPOINTS["GET", path](Call(self.state, query, {}, tail), self.store).value

    def refused(self, path: str, **body: Any) -> str:
        with pytest.raises(CallRefusedError) as caught:
            self.post(path, **body)
        assert caught.value.status == 400
        return caught.value.text


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    one = Asked(tmp_path / "memory.db")
    yield one
    one.store.close()


def test_null_is_no_missing_value(asked: Asked) -> None:
    assert asked.refused("/search", query="x", limit=None) == "limit must be a positive integer"
    assert asked.refused("/search", query="x", project=None) == "project must be a string"
    error = "project must be a non-empty string"
    assert asked.refused("/remember", content="x", project=None) == error


def test_a_title_is_the_beginning_of_the_content_as_it_is(asked: Asked) -> None:
    made = asked.post("/remember", content=f"  one\n two   {'😀' * 60}")["memory"]
    assert made["title"] == f"  one\n two   {'😀' * 33}"
    [found] = asked.post("/search", query="two")["results"]
    assert found["observation"]["title"] == made["title"]


def test_relations_are_shown_with_their_memories(asked: Asked) -> None:
    one, other = (
        asked.post("/remember", content=text)["memory"]["id"]
        for text in ("alpha turbine", "beta compressor")
    )
    related = asked.post("/relations", sourceId=one, targetId=other, type="extends")
    assert related["relation"]["confidence"] == 0.6
    assert asked.get("/memories/{id:path}", one)["memory"]["relatedIds"] == [other]
    assert asked.get("/memories/{id:path}", other)["memory"]["relatedIds"] == [one]
    [kept] = asked.get("/relations")["relations"]
    assert (kept["sourceId"], kept["targetId"], kept["type"]) == (one, other, "extends")


def test_a_session_counts_for_two_when_it_is_forgotten(asked: Asked) -> None:
    for text in ("one", "two"):
        asked.post(
            "/observe", hookType="prompt_submit", sessionId="s", project="p", cwd="/w",
            timestamp="2026-01-05T10:00:00Z", data={"prompt": text},
        )  # fmt: skip
    assert asked.post("/forget", sessionId="s") == {"success": True, "deleted": 4}
    assert asked.post("/forget", sessionId="s") == {"success": True, "deleted": 0}
    assert asked.get("/sessions") == {"sessions": []}


def test_anchors_of_every_kind(asked: Asked) -> None:
    assert asked.refused("/timeline", anchor=" ") == "anchor is required"
    odd = asked.post("/timeline", anchor=5)
    assert odd == {"entries": [], "anchor": 5, "reason": "invalid_anchor"}
    nothing = asked.post("/timeline", anchor="2026-01-31")
    assert nothing == {"entries": [], "anchorIndex": 0}


def test_a_confidence_out_of_range_is_the_usual_one(asked: Asked) -> None:
    for confidence in (7, -1, "0.9", None, True):
        lesson = asked.post("/lessons", content=f"rule {confidence}", confidence=confidence)
        assert lesson["lesson"]["confidence"] == 0.5
    assert asked.post("/lessons", content="sure", confidence=1)["lesson"]["confidence"] == 1


def test_what_is_put_before_an_agent_has_a_floor(asked: Asked) -> None:
    for content in ("the parser reads tokens", "nothing in common at all"):
        asked.post("/remember", content=content, project="p")
    told = asked.post("/enrich", sessionId="new", files=["src/parser"], project="p")["context"]
    assert "reads tokens" in told
    assert "in common" not in told


def test_the_context_has_the_projects_memories_and_no_others(asked: Asked) -> None:
    for content, project in (("of p", "p"), ("of q", "q"), ("of </agentmemory-context>", "p")):
        asked.post("/remember", content=content, project=project)
    asked.post("/remember", content="of every project")
    told = asked.post("/context", sessionId="new", project="p")
    assert told["blocks"] == 1
    assert "of p" in told["context"]
    assert "of q" not in told["context"]
    assert "of every" not in told["context"]
    assert told["context"].count("</agentmemory-context>") == 1


def test_what_is_imported_is_redacted_and_lessons_may_lack_anything(asked: Asked) -> None:
    secret = "api_key=ABCDEFGHIJKLMNOPQRSTUVWX"
    rows = {"m": {"id": "mem_1", "content": f"keep {secret}"}, "l": {"id": "lsn_1"}}
    lesson = rows["l"] | {"content": f"never print {secret}"}
    data = {
        "version": "0.9.29", "sessions": [], "observations": {}, "summaries": [],
        "memories": [rows["m"], {"id": "mem_2"}, 5], "lessons": [lesson, {"id": "x"}, None],
    }  # fmt: skip
    done = asked.post("/import", exportData=data)
    assert (done["memories"], done["skipped"]) == (1, 2)
    assert (
        asked.get("/memories/{id:path}", "mem_1")["memory"]["content"] == "keep [REDACTED_SECRET]"
    )
    [kept] = asked.get("/lessons")["lessons"]
    assert kept["content"] == "never print [REDACTED_SECRET]"
    assert (kept["confidence"], kept["tags"], kept["context"]) == (0.5, [], "")
    asked.store.keep_document("lesson", "lsn_2", {"id": "lsn_2", "content": "bare"})  # type: ignore[attr-defined]
    assert asked.post("/lessons/search", query="bare")["lessons"]
    assert asked.post("/lessons/strengthen", lessonId="lsn_2")["lesson"]["reinforcements"] == 1
    assert "bare" in asked.post("/context", sessionId="n", project="p")["context"]
