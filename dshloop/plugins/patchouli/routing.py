"""Which memory plugins a call reaches, as the user's config says (patchouli 8.2). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dshloop.plugins.patchouli.config import Keys

RETRIEVE_TIMEOUT_MS = 30_000
UPDATE_TIMEOUT_MS = 30_000
OPERATIONS = ("update", "retrieve", "subscribe")


@dataclass(frozen=True, slots=True)
class Route:
    """What of all calls one plugin gets; an empty side is open."""

    enabled: bool = True
    operations: tuple[str, ...] = ()
    source_types: tuple[str, ...] = ()
    source_ids: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    retrieve_timeout_ms: float | None = None

    def takes(self, operation: str, meta: Mapping[str, Any]) -> bool:
        """Whether a call passes."""
        source = meta.get("source") or {}
        attributes = meta.get("attributes") or {}
        return (
            self.enabled
            and _among(operation, self.operations)
            and _among(source.get("type"), self.source_types)
            and _among(source.get("id"), self.source_ids)
            and _among(meta.get("scope"), self.scopes)
            and all(
                key in attributes and _same(attributes[key], value)
                for key, value in self.attributes.items()
            )
        )


OPEN = Route()


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """The config of the row `dsh-patchouli`.

    ``update_timeout_ms`` 0 is no limit; ``store`` is whether our own store takes part.
    """

    routing: Mapping[str, Route] = field(default_factory=dict)
    retrieve_timeout_ms: float = RETRIEVE_TIMEOUT_MS
    update_timeout_ms: float = UPDATE_TIMEOUT_MS
    store: bool = True

    def route(self, plugin_id: str) -> Route:
        """Give the route of a plugin, an open one when none is set."""
        return self.routing.get(plugin_id, OPEN)

    def retrieve_limit(self, plugin_id: str) -> float:
        """Give how long a plugin may take to answer, in milliseconds."""
        return self.route(plugin_id).retrieve_timeout_ms or self.retrieve_timeout_ms


def read_service_config(raw: Any) -> ServiceConfig:
    """Check the config of the row. Raises ValueError."""
    keys = Keys(raw, "")
    config = ServiceConfig(
        routing={name: _route(keys.group("routing"), name) for name in keys.group("routing").names},
        retrieve_timeout_ms=_milliseconds(keys.any("retrieveTimeoutMs")) or RETRIEVE_TIMEOUT_MS,
        update_timeout_ms=keys.number("updateTimeoutMs", UPDATE_TIMEOUT_MS, least=0),
        store=keys.flag("store", True),
    )
    keys.finish()
    return config


def _route(routing: Keys, name: str) -> Route:
    keys = routing.group(name)
    operations = keys.texts("operations")
    for operation in operations:
        if operation not in OPERATIONS:
            raise ValueError(f'{keys.path}operations: "{operation}" is none of {OPERATIONS}')
    route = Route(
        enabled=keys.flag("enabled", True),
        operations=operations,
        source_types=keys.texts("sourceTypes"),
        source_ids=keys.texts("sourceIds"),
        scopes=keys.texts("scopes"),
        attributes=keys.mapping("attributes"),
        retrieve_timeout_ms=_milliseconds(keys.any("retrieveTimeoutMs")),
    )
    keys.finish()
    return route


def _milliseconds(value: Any) -> float | None:
    """Give a positive number; anything else falls back, as in the original."""
    good = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if good and 0 < value < float("inf") else None


def _among(value: Any, allowed: tuple[str, ...]) -> bool:
    return not allowed or value in allowed


def _same(left: Any, right: Any) -> bool:
    """Whether two JSON values are deeply equal; true is no number."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)
