"""Lessons: short rules with a confidence that grows when they are met again (agentmemory 3.9).

They are documents of the store: never found by recall, and shown by /smart-search and /context.
Confidence does not decay here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from dshloop.memory.interchange.agentmemory_shape import LESSON
from dshloop.memory.interchange.fields import iso_moment
from dshloop.memory.server.calls import (
    Answer,
    Call,
    CallRefusedError,
    documents_of,
    text_in,
    texts_in,
)
from dshloop.memory.store import DocumentStore, MemoryStore
from dshloop.redact import redact
from dshloop.text import question, words

CONFIDENCE, GAIN, DECAY = 0.5, 0.1, 0.05
EPOCH = "1970-01-01T00:00:00.000Z"
_DAY = 86400.0
_PREFIX = 0.5  # what a word counts that only begins another
_SHORTEST_PREFIX = 4

Lesson = Mapping[str, Any]


def create(call: Call, store: MemoryStore) -> Answer:
    """Keep a lesson; the same text again makes it stronger."""
    documents = documents_of(store)
    if text_in(call.body, "content") is None:
        raise CallRefusedError(400, "content is required")
    content, context = redact([call.body["content"].strip(), _context(call)], private=True).value
    id_ = lesson_id(content)
    known = _known(documents, id_)
    if known is not None:
        lesson = _strengthened(call, documents, known)
        return Answer(200, {"success": True, "action": "strengthened", "lesson": lesson})
    now = call.state.now()
    lesson = {
        "id": id_,
        "content": content,
        "context": context,
        "confidence": _share(call.body.get("confidence"), CONFIDENCE),
        "reinforcements": 0,
        "source": "manual",
        "sourceIds": [],
        "tags": _tags(call.body.get("tags")),
        "createdAt": now,
        "updatedAt": now,
        "decayRate": DECAY,
    }
    project = text_in(call.body, "project")
    if project is not None:
        lesson["project"] = project
    documents.keep_document(LESSON, id_, lesson)
    return Answer(201, {"success": True, "action": "created", "lesson": lesson})


def lessons(call: Call, store: MemoryStore) -> Answer:
    """List lessons by confidence."""
    least, limit = _number(call, "minConfidence", 0.0), int(_number(call, "limit", 50))
    project, source = call.query.get("project"), call.query.get("source")
    chosen = [
        one
        for one in _every(store)
        if project in (None, one.get("project"))
        and source in (None, one.get("source"))
        and one["confidence"] >= least
    ]
    chosen.sort(key=lambda one: -one["confidence"])
    return Answer(200, {"success": True, "lessons": chosen[: max(limit, 0)]})


def search(call: Call, store: MemoryStore) -> Answer:
    """Find lessons by their words."""
    (query,) = call.needed("query is required", "query")
    found = matching(
        store,
        query,
        call.state.clock(),
        project=text_in(call.body, "project"),
        least=_share(call.body.get("minConfidence"), 0.1),
        limit=_limit(call.body.get("limit"), 10),
    )
    return Answer(200, {"success": True, "lessons": found})


def strengthen(call: Call, store: MemoryStore) -> Answer:
    """Say that a lesson has proved itself."""
    documents = documents_of(store)
    (id_,) = call.needed("lessonId is required", "lessonId")
    known = _known(documents, id_)
    if known is None:
        return Answer(200, {"success": False, "error": "lesson not found"})
    lesson = _strengthened(call, documents, known)
    return Answer(200, {"success": True, "lesson": lesson})


def delete(call: Call, store: MemoryStore) -> Answer:
    """Take a lesson away."""
    documents = documents_of(store)
    (id_,) = call.needed("lessonId is required", "lessonId")
    known = _known(documents, id_)
    if known is None:
        raise CallRefusedError(404, "lesson not found")
    documents.drop_document(LESSON, id_)
    lesson = {**known, "deleted": True, "updatedAt": call.state.now()}
    return Answer(200, {"success": True, "lesson": lesson})


def matching(
    store: MemoryStore,
    query: str,
    now: float,
    *,
    project: str | None = None,
    least: float = 0.1,
    limit: int = 10,
) -> list[dict[str, Any]]:
    """Give the lessons that have words of a question, best first, with their ``score``.

    score = confidence x (hit / best hit) x 1 / (1 + 0.01 x days), to three digits.
    """
    if not isinstance(store, DocumentStore):
        return []
    asked = [word.forms for word in question(query)]
    hits = [
        (one, _hit(one, asked))
        for one in _every(store)
        if one["confidence"] >= least and (project is None or one.get("project") in (None, project))
    ]
    best = max((hit for _, hit in hits), default=0.0)
    scored = [
        {**one, "score": round(one["confidence"] * hit / best * _freshness(one, now), 3)}
        for one, hit in hits
        if hit
    ]
    return sorted(scored, key=lambda one: -float(one["score"]))[:limit]


def of_project(store: MemoryStore, project: str) -> list[Lesson]:
    """Give the lessons for a project, its own first: they weigh half as much again."""
    if not isinstance(store, DocumentStore):
        return []
    known = [one for one in _every(store) if one.get("project") in (None, project)]
    return sorted(known, key=lambda one: -_weight(one, project))


def lesson_id(content: str) -> str:
    """Make the id of a lesson from its text (agentmemory 1)."""
    digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
    return f"lsn_{digest[:16]}"


def _every(store: MemoryStore) -> list[Lesson]:
    """Give all lessons; imported ones may lack what ours have."""
    known = map(read, documents_of(store).documents(LESSON).values())
    return [one for one in known if one is not None]


def _known(documents: DocumentStore, id_: str) -> Lesson | None:
    return read(documents.document(LESSON, id_))


def _strengthened(call: Call, documents: DocumentStore, known: Lesson) -> Lesson:
    now = call.state.now()
    lesson = {
        **known,
        "confidence": round(known["confidence"] + GAIN * (1 - known["confidence"]), 12),
        "reinforcements": known["reinforcements"] + 1,
        "lastReinforcedAt": now,
        "updatedAt": now,
    }
    documents.keep_document(LESSON, known["id"], lesson)
    return lesson


def _hit(lesson: Lesson, asked: list[tuple[str, ...]]) -> float:
    text = " ".join((lesson["content"], lesson["context"], *lesson["tags"]))
    have = set(words(text))
    return sum(_counted(forms, have) for forms in asked)


def _counted(forms: tuple[str, ...], have: set[str]) -> float:
    if any(form in have for form in forms):
        return 1.0
    long = tuple(form for form in forms if len(form) >= _SHORTEST_PREFIX)
    return _PREFIX if long and any(word.startswith(long) for word in have) else 0.0


def _freshness(lesson: Lesson, now: float) -> float:
    at = iso_moment(lesson.get("lastReinforcedAt") or lesson["createdAt"]) or now
    return 1 / (1 + 0.01 * max(0.0, now - at) / _DAY)


def _weight(lesson: Lesson, project: str) -> float:
    return float(lesson["confidence"]) * (1.5 if lesson.get("project") == project else 1.0)


def _tags(value: Any) -> list[str]:
    found = value.split(",") if isinstance(value, str) else texts_in({"tags": value}, "tags")
    return list(_named(found))


def _named(values: Any) -> Iterator[str]:
    return (tag for tag in dict.fromkeys(one.strip() for one in values) if tag)


def _context(call: Call) -> str:
    return text_in(call.body, "context") or ""


def _share(value: Any, default: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return default
    return float(value) if 0 <= value <= 1 else default


def _limit(value: Any, default: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return default
    return int(min(max(value, 1), 100))


def _number(call: Call, key: str, default: float) -> float:
    text = call.query.get(key)
    if text is None or not text.strip():
        return default
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if number != number or abs(number) == float("inf"):
        raise CallRefusedError(400, f"invalid numeric parameter: {key}")
    return number


def read(row: Any) -> dict[str, Any] | None:
    """Read a lesson as another server exported it; None for what is none."""
    if not isinstance(row, Mapping):
        return None
    content = text_in(row, "content")
    if content is None or row.get("deleted") is True:
        return None
    created = row.get("createdAt") if iso_moment(str(row.get("createdAt"))) else None
    reinforced = row.get("reinforcements")
    return {
        **row,
        "id": text_in(row, "id") or lesson_id(content),
        "content": content,
        "context": text_in(row, "context") or "",
        "confidence": _share(row.get("confidence"), CONFIDENCE),
        "reinforcements": reinforced if isinstance(reinforced, int) else 0,
        "source": text_in(row, "source") or "import",
        "sourceIds": list(texts_in(row, "sourceIds")),
        "tags": _tags(row.get("tags")),
        "createdAt": created or EPOCH,
        "updatedAt": text_in(row, "updatedAt") or created or EPOCH,
        "decayRate": DECAY,
    }
