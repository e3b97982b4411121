"""How a file is laid out, learned from its own text: how deep keys, dashes and items stand in."""

from __future__ import annotations

from dshloop.dsh_yaml import Document, Value
from dshloop.splice.change import Path
from dshloop.splice.lines import column, line_start, newline_of
from dshloop.splice.write import Habits

_LOOK_AT = 200
"""How many maps and lists are looked at around one place."""


def learn_habits(
    document: Document,
    path: Path,
    *,
    portable: bool = False,
    known: dict[int, dict[str, int]] | None = None,
) -> Habits:
    """Learn the layout from what is nearest to a path: the maps and lists around it first.

    `known` keeps what was learned of each of them, for the next edit of this document.
    """
    known = {} if known is None else known
    holders = []
    inner = document.value
    for step in (*path, None):
        if not isinstance(inner, dict | list):
            break
        holders.append(inner)
        inner = _member(inner, step)
    found: dict[str, int] = {}
    for holder in reversed(holders):
        if id(holder) not in known:
            known[id(holder)] = _learn(document, holder)
        found = {**known[id(holder)], **found}
        if len(found) == 3:
            break
    return Habits(newline_of(document.text.text), portable=portable, **found)


def _learn(document: Document, holder: Value) -> dict[str, int]:
    found: dict[str, int] = {}
    pending, seen = [holder], 0
    while pending and len(found) < 3 and seen < _LOOK_AT:
        current = pending.pop(0)
        seen += 1
        pairs = current.items() if isinstance(current, dict) else enumerate(current)
        for key, inner in list(pairs)[:_LOOK_AT]:
            if isinstance(inner, dict | list):
                _learn_one(document, current, key, inner, found)
                pending.append(inner)
    return found


def _learn_one(
    document: Document, outer: Value, key: str | int, inner: Value, found: dict[str, int]
) -> None:
    text, start = document.text.text, document.start(inner)
    at = document.start(outer, key)
    if start is None or at is None or start < at or text[start : start + 1] in ("[", "{", ""):
        return
    own = column(text, start)
    if isinstance(outer, list):
        dash = text.rfind("-", line_start(text, start), start)
        if dash >= 0 and own > column(text, dash):
            found.setdefault("gap", own - column(text, dash))
        return
    columns = own - column(text, at)
    if isinstance(inner, list):
        found.setdefault("dash", columns)
    elif columns > 0:
        found.setdefault("step", columns)


def _member(holder: Value, step: str | int | None) -> Value:
    if isinstance(holder, dict) and step is not None:
        return holder.get(str(step))
    if isinstance(holder, list) and isinstance(step, int) and step < len(holder):
        return holder[step]
    return None
