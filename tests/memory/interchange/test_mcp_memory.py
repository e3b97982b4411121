"""Knowledge graphs of the MCP memory server become memories."""

from __future__ import annotations

import json
import os
from pathlib import Path

from dshloop.memory.interchange import sources
from dshloop.memory.interchange.report import Report
from dshloop.memory.sqlite.store import SqliteStore
from tests.memory.interchange.steps import carried, read, store  # noqa: F401

GRAPH = """\
{"type":"entity","name":"John_Smith","entityType":"person","observations":["Speaks Spanish"]}
{"type":"entity","name":"Acme","entityType":"company","observations":[]}
{"type":"entity","name":"torn","entityT
{"type":"relation","from":"John_Smith","to":"Acme","relationType":"works_at"}
{"type":"relation","from":"John_Smith"}
{"type":"note"}
"""


def test_observations_and_relations_are_memories() -> None:
    found, report = read(GRAPH)
    assert [one.content for one in found] == [
        "John_Smith: Speaks Spanish", "Acme: company", "John_Smith works at Acme",
    ]  # fmt: skip
    assert found[0].concepts == ("John_Smith", "person")
    assert found[0].source == {
        "kind": "mcp", "entity": "John_Smith", "entity_type": "person",
        "observation": "Speaks Spanish",
    }  # fmt: skip
    assert {one.project for one in found} == {"p"}
    assert report.places == {
        "it is no JSON": [3], "it has no to": [5], "it is neither an entity nor a relation": [6],
    }  # fmt: skip


def test_a_graph_as_one_object_says_the_same() -> None:
    lines = [json.loads(line) for line in GRAPH.splitlines() if "T\n" not in line + "\n"]
    graph = {
        "entities": [one for one in lines if one["type"] == "entity"],
        "relations": [one for one in lines if one["type"] == "relation"],
    }
    assert read(json.dumps(graph))[0] == read(GRAPH)[0]


def test_a_file_that_grew_adds_what_is_new(store: SqliteStore, tmp_path: Path) -> None:  # noqa: F811
    file = tmp_path / "memory.json"
    file.write_text(GRAPH)

    def bring() -> Report:
        return carried(store, sources.records(file, "auto", Report(), project=""))

    assert bring().total("added") == 3
    file.write_text(GRAPH + json.dumps({"type": "entity", "name": "New", "entityType": "x"}))
    os.utime(file, (9e8, 9e8))
    done = bring()
    assert (done.total("added"), done.total("same"), done.total("kept")) == (1, 3, 0)
