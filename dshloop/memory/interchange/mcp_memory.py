"""memory.json of the reference MCP memory server: a knowledge graph, one JSON object a line.

An entity's observations become memories, one each; so does a relation. A graph as one object
(``{"entities": [...], "relations": [...]}``, what its read_graph answers) is read too. Torn lines
are common in such files (field-reports 65): each costs only itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from dshloop.memory.entries import Memory, title_of
from dshloop.memory.interchange import fields
from dshloop.memory.interchange.fields import RowError
from dshloop.memory.interchange.ids import made_id
from dshloop.memory.interchange.lines import json_lines
from dshloop.memory.interchange.report import Item
from dshloop.memory.interchange.untimed import Untimed

NAME = "mcp"
KIND = "mcp"
_ENTITY, _RELATION = "entity", "relation"


def is_graph(value: Any) -> bool:
    """Tell by a line."""
    if not isinstance(value, Mapping):
        return False
    entity = value.get("type") == _ENTITY and "name" in value
    relation = value.get("type") == _RELATION and "from" in value
    return entity or relation or isinstance(value.get("entities"), list)


def read(file: BinaryIO, *, project: str, at: float) -> Iterator[Item]:
    """Give the memories of a graph; ``at`` is their time, which the file doesn't tell."""
    for line in json_lines(file):
        if line.fault:
            yield Item(None, line.number, line.fault)
            continue
        for row in _rows(line.value):
            try:
                for memory in _memories(row, project, at):
                    yield Item(Untimed(memory), line.number)
            except RowError as error:
                yield Item(None, line.number, str(error))


def _rows(value: Any) -> Iterator[Any]:
    """Give the rows of a line, which may be a whole graph."""
    graph = value if isinstance(value, Mapping) and "type" not in value else None
    if graph is None or not any(key in graph for key in ("entities", "relations")):
        yield value
        return
    for key, kind in (("entities", _ENTITY), ("relations", _RELATION)):
        rows = graph.get(key)
        for row in rows if isinstance(rows, list) else ():
            yield {**row, "type": kind} if isinstance(row, Mapping) else row


def _memories(row: Any, project: str, at: float) -> Iterator[Memory]:
    if not isinstance(row, Mapping):
        raise RowError("it is no object")
    kind = row.get("type")
    if kind == _RELATION:
        yield _relation(row, project, at)
    elif kind == _ENTITY:
        yield from _entity(row, project, at)
    else:
        raise RowError("it is neither an entity nor a relation")


def _entity(row: Mapping[str, Any], project: str, at: float) -> Iterator[Memory]:
    name, type_ = fields.required(row, "name"), fields.text(row, "entityType")
    told = row.get("observations")
    said = [one for one in told if isinstance(one, str)] if isinstance(told, list) else []
    about = {"entity": name, "entity_type": type_}
    concepts = (name, type_)
    if not any(one.strip() for one in said):
        yield _memory(f"{name}: {type_ or 'an entity'}", concepts, about, project, at)
    for one in said:
        if one.strip():
            yield _memory(f"{name}: {one}", concepts, {**about, "observation": one}, project, at)


def _relation(row: Mapping[str, Any], project: str, at: float) -> Memory:
    first, last = fields.required(row, "from"), fields.required(row, "to")
    kind = fields.required(row, "relationType")
    said = f"{first} {kind.replace('_', ' ')} {last}"
    about = {"from": first, "to": last, "relation": kind}
    return _memory(said, (first, last), about, project, at)


def _memory(
    content: str, concepts: tuple[str, ...], about: Mapping[str, str], project: str, at: float
) -> Memory:
    labels = tuple(dict.fromkeys(one.strip() for one in concepts if one.strip()))
    return Memory(
        id=made_id("mem_", KIND, project, *about.values()),
        type="fact",
        title=title_of(content),
        content=content,
        concepts=labels,
        files=(),
        project=project,
        agent=None,
        session=None,
        source={"kind": KIND, **about},
        created_at=at,
        updated_at=at,
    )
