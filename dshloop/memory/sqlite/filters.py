"""Filters as conditions of SQL, over ``entries AS m``."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from dshloop.memory.answers import Filters
from dshloop.memory.entries import KINDS
from dshloop.memory.sqlite.rows import packed

LIVE = "(m.expires_at IS NULL OR m.expires_at > ?)"
"""The condition that an entry has not expired; its value is the time."""


def where(filters: Filters, now: float) -> tuple[str, list[Any]]:
    """Give the conditions joined by AND, and their values."""
    clauses, values = [LIVE], [now]
    kinds = tuple(kind for kind in KINDS if kind in filters.kinds)
    if not kinds:
        clauses.append("1 = 0")
    elif kinds != KINDS:
        _add(clauses, values, f"m.kind IN ({', '.join('?' * len(kinds))})", *kinds)
    if not filters.old:
        clauses.append("m.latest = 1")
    if filters.project is not None:
        _add(clauses, values, "m.project IN (?, '')", packed(filters.project))
    rest, more = labels(filters)
    return " AND ".join(clauses + rest), values + more


def labels(filters: Filters) -> tuple[list[str], list[Any]]:
    """Give the conditions on all but kind, version, project and expiry, and their values."""
    clauses: list[str] = []
    values: list[Any] = []
    for column in ("agent", "type", "session"):
        value = getattr(filters, column)
        if value is not None:
            _add(clauses, values, f"m.{column} = ?", packed(value))
    if filters.session:
        clauses.append("m.session <> ''")  # entries_by_session is an index of these alone
    if filters.since is not None:
        _add(clauses, values, "m.created_at >= ?", filters.since)
    if filters.until is not None:
        _add(clauses, values, "m.created_at < ?", filters.until)
    if filters.concept is not None:
        condition = "m.concepts <> '[]' AND has_concept(m.concepts, ?)"
        _add(clauses, values, condition, json.dumps(filters.concept))
    if filters.file is not None:
        condition = "m.files <> '[]' AND has_file(m.files, ?)"
        _add(clauses, values, condition, json.dumps(filters.file))
    return clauses, values


def add_functions(connection: sqlite3.Connection) -> None:
    """Teach a connection the conditions that SQL has no words for."""
    connection.create_function("has_concept", 2, _has_concept, deterministic=True)
    connection.create_function("has_file", 2, _has_file, deterministic=True)


def same_file(one: str, other: str) -> bool:
    """Tell whether two paths are equal, or either is the end of the other after a slash."""
    one, other = one.replace("\\", "/"), other.replace("\\", "/")
    return one == other or one.endswith("/" + other) or other.endswith("/" + one)


def _add(clauses: list[str], values: list[Any], clause: str, *more: Any) -> None:
    clauses.append(clause)
    values.extend(more)


def _mentions(concepts: tuple[str, ...], wanted: str) -> bool:
    return wanted.casefold() in (concept.casefold() for concept in concepts)


def _has_concept(stored: str, wanted: str) -> bool:
    return _mentions(tuple(json.loads(stored)), json.loads(wanted))


def _has_file(stored: str, wanted: str) -> bool:
    return any(same_file(one, json.loads(wanted)) for one in json.loads(stored))
