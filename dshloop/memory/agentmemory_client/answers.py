"""What the daemon answers, as values, and how each is read from its JSON: pure.

Anything that isn't there is read as nothing; rows stay the daemon's own mappings, which
`interchange.agentmemory_shape` makes entries of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dshloop.memory.interchange import fields

Row = Mapping[str, Any]


class Alive(NamedTuple):
    """What GET /livez says: that something answers, not that our secret is right."""

    status: str
    service: str

    @property
    def ok(self) -> bool:
        """Whether the daemon says that it is well."""
        return self.status == "ok"


class Health(NamedTuple):
    """What GET /health says; ``status`` is healthy, degraded or critical."""

    status: str
    version: str
    service: str
    alerts: tuple[str, ...] = ()


class Flags(NamedTuple):
    """Which features are on; ``provider`` noop: no language model, ``embeddings`` none: words
    only."""

    version: str
    provider: str
    embeddings: str
    enabled: tuple[str, ...]

    @property
    def model(self) -> str | None:
        """Who makes vectors, None where nobody does."""
        return None if self.embeddings in ("", "none") else self.embeddings


class Started(NamedTuple):
    """A session that began, and the window of what is known of its project ("" for nothing)."""

    session: Row
    context: str


class Noted(NamedTuple):
    """An observation that was taken: its id, or None for one the daemon holds for a repeat."""

    id: str | None

    @property
    def duplicate(self) -> bool:
        """Whether nothing was stored, because the same had been within five minutes."""
        return self.id is None


class Window(NamedTuple):
    """Text for a prompt, as the daemon wraps it ("" for nothing); ``tokens`` is its own count."""

    text: str
    blocks: int = 0
    tokens: int = 0
    truncated: bool = False


class Hit(NamedTuple):
    """A search result in any format. A memory's ``session`` is "memory", its ``type`` "decision".

    ``narrative`` is "" where the format has none; ``row`` is the result as it came, in format full
    its observation.
    """

    id: str
    session: str
    title: str
    type: str
    score: float
    narrative: str
    at: float | None
    row: Row


class Kept(NamedTuple):
    """A memory that was stored, and the one that it is like (``id``, ``title``, ``similarity``)."""

    memory: Row
    similar: Row | None = None


class Page(NamedTuple):
    """Rows of a list; ``total`` None: the daemon doesn't page it, these are all."""

    rows: Sequence[Row]
    total: int | None = None


class Counts(NamedTuple):
    """How many memories there are, and how many of them are latest versions."""

    total: int
    latest: int


def alive(value: Row) -> Alive:
    """Read the answer of livez."""
    return Alive(fields.text(value, "status"), fields.text(value, "service"))


def health(value: Row) -> Health:
    """Read the answer of health."""
    told = _object(value, "health")
    return Health(
        fields.text(value, "status"),
        fields.text(value, "version"),
        fields.text(value, "service"),
        fields.texts(told, "alerts"),
    )


def flags(value: Row) -> Flags:
    """Read the answer of config/flags."""
    on = [fields.text(one, "key") for one in objects(value, "flags") if one.get("enabled") is True]
    return Flags(
        fields.text(value, "version"),
        fields.text(value, "provider"),
        fields.text(value, "embeddingProvider"),
        tuple(on),
    )


def started(value: Row) -> Started:
    """Read the answer of session/start."""
    return Started(_object(value, "session"), fields.text(value, "context"))


def noted(value: Row) -> Noted:
    """Read the answer of observe."""
    return Noted(fields.some_text(value, "observationId"))


def window(value: Row) -> Window:
    """Read the answer of context, file-context and enrich."""
    return Window(
        fields.text(value, "context"),
        int(fields.number(value, "blocks", 0)),
        int(fields.number(value, "tokens", 0)),
        value.get("truncated") is True,
    )


def hits(value: Row) -> tuple[Hit, ...]:
    """Read the results of search and smart-search in any of their formats."""
    return tuple(_hit(one) for one in objects(value, "results"))


def _hit(result: Row) -> Hit:
    row = _object(result, "observation") or result
    return Hit(
        id=fields.text(row, "id") or fields.text(result, "obsId"),
        session=fields.text(result, "sessionId") or fields.text(row, "sessionId"),
        title=fields.text(row, "title"),
        type=fields.text(row, "type"),
        score=fields.number(result, "score", 0.0),
        narrative=fields.text(row, "narrative"),
        at=fields.moment(row, "timestamp"),
        row=row,
    )


def kept(value: Row) -> Kept:
    """Read the answer of remember and evolve."""
    return Kept(_object(value, "memory"), _object(value, "similarTo") or None)


def memory(value: Row) -> Row | None:
    """Read the answer of memories/ID, None when there is none."""
    return _object(value, "memory") or None


def page(key: str, value: Row) -> Page:
    """Read a list."""
    total = fields.finite(value.get("total"))
    return Page(objects(value, key), None if total is None else int(total))


def counts(value: Row) -> Counts:
    """Read the counts of memories."""
    total = int(fields.number(value, "total", 0))
    return Counts(total, int(fields.number(value, "latestCount", total)))


def deleted(value: Row) -> int:
    """Read how many rows are gone; 0.9.29 counts some that never were (agentmemory 13, D11)."""
    return int(fields.number(value, "deleted", 0))


def whole(value: Row) -> Row:
    """Give the answer as it came."""
    return value


def nothing(_value: Row) -> None:
    """Read nothing: that it succeeded is all."""


def objects(value: Row, key: str) -> tuple[Row, ...]:
    """Give the objects of a list."""
    found = value.get(key)
    rows = found if isinstance(found, (list, tuple)) else ()
    return tuple(one for one in rows if isinstance(one, Mapping))


def _object(value: Row, key: str) -> Row:
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}
