"""An explanation as people read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dshloop.dsh_yaml import JsExpr, Value, escape_surrogates, stringify, truthy
from dshloop.profiles.explanation import Contribution, Explanation, Instance, Unheard
from dshloop.profiles.layers import Place
from dshloop.profiles.patch import UNDEFINED

_LONGEST = 200  # characters of a value on its line


def explanation_text(found: Explanation) -> str:
    """Give the lines: each row of the id with its contributions, then what came to nothing."""
    lines: list[str] = []
    for number, instance in enumerate(found.instances, 1):
        lines += _head(found, instance, number)
        lines += _said(instance.contributions)
        lines += _ends(found, instance)
    if not found.instances:
        lines.append(f"{_title(found)}: no layer has such a row")
    if found.unheard:
        lines.append("came to nothing")
        lines += [f"  {_at(one.place, one.layer)}  {_why(one)}" for one in found.unheard]
    return "\n".join(lines)


def shown_value(value: Value) -> str:
    """Give a value on one line, cut where it is long."""
    if value is UNDEFINED:
        return "nothing"
    text = escape_surrogates(f"!!js {value.source}" if isinstance(value, JsExpr) else _json(value))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"


def _json(value: Value) -> str:
    return stringify(value)


def _title(found: Explanation) -> str:
    return ".".join(map(str, (found.row, *found.key)))


def _head(found: Explanation, one: Instance, number: int) -> Iterator[str]:
    several = f" ({number} of {len(found.instances)})" if len(found.instances) > 1 else ""
    name = "" if one.name is UNDEFINED else f"  {shown_value(one.name)}"
    yield f"{_title(found)}{several}{name}"
    if one.groups:
        yield f"  in group {' > '.join(one.groups)}"
    if not one.in_tree:
        yield "  in no tree: the group it was in was replaced"
    elif len(found.instances) > 1:
        yield f"  {'patches of this id change' if one.target else 'no patch reaches'} this row"
    if one.disabled_by is not None:
        yield f"  off: its group {one.disabled_by} is disabled"
    elif isinstance(one.disabled, JsExpr):
        yield f"  off when {one.disabled.source}"
    elif truthy(one.disabled):
        yield f"  off: disabled is {shown_value(one.disabled)}"


def _said(contributions: Sequence[Contribution]) -> Iterator[str]:
    for one in contributions:
        mark = "*" if one.wins else " "
        yield f" {mark} {_at(one.place, one.layer)}  {_did(one)}"
        if one.action == "set" and one.before is not UNDEFINED and one.after is not UNDEFINED:
            yield f"       replaced {shown_value(one.before)}"
        if one.lost:
            yield f"       lost {', '.join('.'.join(map(str, path)) for path in one.lost)}"


def _did(one: Contribution) -> str:
    if one.action == "insert":
        return f"inserted the row with {shown_value(one.after)}" if one.key else "inserted the row"
    key = ".".join(map(str, one.key))
    if one.after is UNDEFINED:
        return f"lost {key}: it replaced the config around it (was {shown_value(one.before)})"
    return f"set {key} to {shown_value(one.after)}"


def _ends(found: Explanation, one: Instance) -> Iterator[str]:
    if found.key:
        yield f"  value: {shown_value(one.value)}"


def _why(one: Unheard) -> str:
    return one.message.removeprefix("patch: ").removeprefix("patch insert: ")


def _at(place: Place | None, layer: str) -> str:
    if place is None or place.file is None:
        return layer or "a layer without a file"
    at = place.file if place.line is None else f"{place.file}:{place.line}:{place.column}"
    return at if layer == place.file else f"{layer} ({at})"
