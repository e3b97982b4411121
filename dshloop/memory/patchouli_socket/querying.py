"""The query language of the storage daemon: one JSON object as a text (patchouli 9.5). Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

ORDERS = ("relevance", "newest", "oldest", "id_asc", "id_desc")
OPERATORS = ("$eq", "$ne", "$lt", "$lte", "$gt", "$gte", "$contains")
KEYS = ("text", "ids", "where", "order", "cursor")


def instruction(
    *,
    text: str | None = None,
    ids: Sequence[str] = (),
    where: Mapping[str, Any] | None = None,
    order: str | None = None,
) -> dict[str, Any]:
    """Make a query. Raises ValueError for what the daemon would refuse."""
    made: dict[str, Any] = {}
    if text is not None:
        if not text.strip():
            raise ValueError("a query's text must not be blank")
        made["text"] = text.strip()
    if ids:
        made["ids"] = list(dict.fromkeys(ids))
    if where:
        for pointer, wanted in where.items():
            _check(pointer, wanted)
        made["where"] = dict(where)
    if order is not None:
        if order not in ORDERS or (order == "relevance" and text is None):
            raise ValueError(f"a query can't be ordered by {order}")
        made["order"] = order
    return made


def query_text(made: Mapping[str, Any]) -> str:
    """Write a query as the text that the daemon takes."""
    return json.dumps(made, ensure_ascii=False, separators=(",", ":"))


def _check(pointer: str, wanted: Any) -> None:
    if pointer and not pointer.startswith("/"):
        raise ValueError(f'"{pointer}" is no JSON pointer')
    if isinstance(wanted, Mapping) and len(wanted) == 1:
        (operator,) = wanted
        if operator.startswith("$") and operator not in OPERATORS:
            raise ValueError(f"there is no operator {operator}")
