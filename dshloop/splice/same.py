"""Whether two values are the same to DSH: types, order of keys and all."""

from __future__ import annotations

from collections.abc import Mapping

from dshloop.dsh_yaml import Value

_COLLECTIONS = (dict, list)


def same(one: Value, other: Value, swapped: Mapping[int, Value] | None = None) -> bool:
    """Compare strictly: true is not 1, keys have an order, NaN is NaN, -0 is not 0.

    `swapped` puts other values in the place of parts of `one`, by their ids; the order of keys
    of a map that was put in so does not count. Shared and cyclic parts are compared once.
    """
    swaps = swapped or {}
    seen: set[tuple[int, int]] = set()
    pending: list[tuple[Value, Value]] = [(one, other)]
    while pending:
        left, right = pending.pop()
        loose = id(left) in swaps
        if loose:
            left = swaps[id(left)]
        if type(left) not in _COLLECTIONS:
            if not _same_scalar(left, right):
                return False
            continue
        if type(right) is not type(left) or len(left) != len(right):
            return False
        if (id(left), id(right)) in seen:
            continue
        seen.add((id(left), id(right)))
        if type(left) is list:
            pairs = zip(left, right, strict=True)
        elif list(left) == list(right):
            pairs = zip(left.values(), right.values(), strict=True)
        elif loose and left.keys() == right.keys():
            pairs = zip(left.values(), [right[key] for key in left], strict=True)
        else:
            return False
        for item, twin in pairs:
            if type(item) in _COLLECTIONS:
                pending.append((item, twin))
            elif item is not twin and not _same_scalar(item, twin):
                return False
    return True


def _same_scalar(one: Value, other: Value) -> bool:
    if type(one) is type(other) and type(one) is not float:
        return bool(one == other)
    if isinstance(one, bool) or isinstance(other, bool):
        return False
    if isinstance(one, int | float) and isinstance(other, int | float):
        return repr(float(one)) == repr(float(other))
    return False
