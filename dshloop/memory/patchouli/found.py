"""Entities of Patchouli as entries of a store (patchouli 9.7). Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple, Protocol

from dshloop.memory.entries import DEFAULT_STRENGTH, DEFAULT_TYPE, Memory, title_of
from dshloop.memory.patchouli_socket.wire import Change

ENTITIES = ("knowledge", "artifact", "knowledge_relation")
"""The types of entities; their entries are all facts, and say in ``source`` what they are."""

Scope = Mapping[str, str]


class Head(NamedTuple):
    """One head of an entity; ``recorded_at`` in Unix seconds where it is known."""

    version: str
    state: str
    value: Mapping[str, Any] | None
    recorded_at: float | None = None


class Found(NamedTuple):
    """An entity with all its heads, and the scope it is in."""

    type: str
    id: str
    heads: Sequence[Head]
    scope: Scope


class Source(Protocol):
    """Where entities are read from."""

    where: str

    def entities(
        self, *, text: str | None = None, ids: Sequence[str] = (), oldest_first: bool = False
    ) -> Iterator[Found]:
        """Give active entities, the newest first; those that hold a text, or have some ids."""
        ...

    def versions(self, type_: str, id_: str) -> Sequence[Head]:
        """Give the versions of an entity that are known here, the oldest first."""
        ...

    def changes(self, after: str | None, *, follow: bool) -> Iterator[Change]:
        """Give changes strictly after a cursor, or from now on; ``follow`` waits for more."""
        ...

    def artifact(self, id_: str) -> Iterator[bytes]:
        """Give the bytes of an artifact."""
        ...

    def scopes(self) -> Sequence[Scope]:
        """Give the scopes that are looked at."""
        ...

    def version(self, seconds: float) -> str:
        """Tell what answers, within a time."""
        ...

    def size(self) -> int | None:
        """Give the bytes of the database, None when unknown."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


def memory_of(found: Found) -> Memory:
    """Make the entry of an entity: its first active head, with what else there is in ``source``."""
    active = [head for head in found.heads if head.state == "active" and head.value is not None]
    head = active[0] if active else found.heads[0]
    value = head.value or {}
    core = _mapping(_mapping(value.get("metadata")).get("core"))
    made_at, changed_at = _times(core, head)
    scope = _mapping(core.get("scope"))
    workspace = found.scope.get("workspace_id") or scope.get("workspace") or ""
    content = content_of(found.type, value)
    source: dict[str, Any] = {
        "kind": "patchouli",
        "entity": found.type,
        "version": head.version,
        "state": "conflicted" if len(found.heads) > 1 else head.state,
        "scope": dict(found.scope),
    }
    if isinstance(core.get("origin"), Mapping):
        source["origin"] = dict(core["origin"])
    return Memory(
        id=found.id,
        type=DEFAULT_TYPE,
        title=_title(found.type, value, content),
        content=content,
        concepts=(),
        files=_files(found.type, value),
        project=PurePosixPath(workspace).name or workspace,
        agent=found.scope.get("user_id"),
        session=scope.get("session") if isinstance(scope.get("session"), str) else None,
        source=source,
        created_at=made_at,
        updated_at=changed_at,
        strength=DEFAULT_STRENGTH,
    )


def content_of(type_: str, value: Mapping[str, Any]) -> str:
    """Give the text of an entity: knowledge as it is, an artifact as what is known of it."""
    if type_ == "knowledge":
        content = _mapping(value.get("content"))
        if content.get("kind") == "text":
            return str(content.get("text", ""))
        return _json(content.get("value"))
    if type_ == "artifact":
        facts = [value.get("name") or "(no name)", value.get("media_type")]
        size, digest = value.get("byte_length"), value.get("digest")
        facts += [None if size is None else f"{size} bytes", digest]
        return "\n".join(str(fact) for fact in facts if fact is not None)
    if type_ == "knowledge_relation":
        sides = [
            ", ".join(str(_mapping(ref).get("id")) for ref in value.get(side) or ())
            for side in ("from", "to")
        ]
        return f"{sides[0]} {value.get('type')} {sides[1]}"
    return _json(value)


def _title(type_: str, value: Mapping[str, Any], content: str) -> str:
    name = value.get("name") if type_ == "artifact" else None
    return title_of(name if isinstance(name, str) and name else content.split("\n")[0])


def _files(type_: str, value: Mapping[str, Any]) -> tuple[str, ...]:
    if type_ != "artifact":
        return ()
    extensions = _mapping(_mapping(value.get("metadata")).get("extensions"))
    path = _mapping(extensions.get("dsh.file")).get("requested_path")
    names = [each for each in (path, value.get("name")) if isinstance(each, str) and each]
    return tuple(dict.fromkeys(names))


def _times(core: Mapping[str, Any], head: Head) -> tuple[float, float]:
    """Give when the source made it and changed it, else when it was recorded."""
    from dshloop.memory.interchange.fields import iso_moment

    time = _mapping(core.get("time"))

    def first(*names: str) -> float | None:
        found = (iso_moment(time[name]) for name in names if isinstance(time.get(name), str))
        return next((moment for moment in found if moment is not None), None)

    made = first("source_created_at", "event_at", "observed_at", "ingested_at")
    made = made if made is not None else head.recorded_at or 0.0
    changed = head.recorded_at
    if changed is None:
        changed = first("source_updated_at", "ingested_at") or made
    return made, max(made, changed)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
