"""What ``dsh --dump-config`` prints: rows under headers that name their layers (dsh-profiles 9)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from dshloop.dsh_yaml import JsExpr, Value, dump, stringify
from dshloop.dsh_yaml.extent import check_writable
from dshloop.dsh_yaml.values import MAX_SAFE_INTEGER
from dshloop.profiles.layers import Layer
from dshloop.profiles.patch import Composer

# what JavaScript's trimEnd() takes away
_BLANKS = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_LOOK_DIFFERENT_IN_PYTHON = ("NaN", "Infinity", "-0.0")


class Attribution(NamedTuple):
    """Labels of the layer that made a top-level row and of those that changed its JSON since."""

    origin: str
    patchers: tuple[str, ...]

    @property
    def header(self) -> str:
        """The comment line above the row."""
        patched = f", patched by {', '.join(self.patchers)}" if self.patchers else ""
        return f"# == {self.origin}{patched}"


def attribute(layers: Sequence[Layer]) -> list[Attribution]:
    """Say for each top-level row where it is from and which layers changed it.

    A prefix of the layers composes to the state after its last layer, so one pass over all
    layers gives what DSH gets by composing every prefix anew.
    """
    composer = Composer()
    origins: list[str] = []
    patchers: list[list[str]] = []
    before: list[str] = []
    for layer in layers:
        composer.apply(layer)
        if not layer.patches:
            continue
        check_writable(composer.rows)
        after = [json_form(row) for row in composer.rows]
        for number, (old, new) in enumerate(zip(before, after, strict=False)):
            if old != new:
                patchers[number].append(layer.label)
        added = len(after) - len(before)
        origins += [layer.label] * added
        patchers += [[] for _ in range(added)]
        before = after
    pairs = zip(origins, patchers, strict=True)
    return [Attribution(origin, tuple(labels)) for origin, labels in pairs]


def json_form(value: Value) -> str:
    """Give a text that is equal for two values exactly when their ``JSON.stringify`` is."""
    text = json.dumps(value, default=_expression, separators=(",", ":"))
    if any(word in text for word in _LOOK_DIFFERENT_IN_PYTHON):
        return json.dumps(json.loads(stringify(value), parse_int=_double), separators=(",", ":"))
    return text


def _double(digits: str) -> int | float:
    return int(digits) if abs(int(digits)) <= MAX_SAFE_INTEGER else float(digits)


def _expression(value: Any) -> Any:
    if isinstance(value, JsExpr):
        return value.as_json()
    raise TypeError(f"{type(value).__name__} is no value of a profile")


def dump_rows(
    rows: Sequence[Value],
    attributions: Sequence[Attribution],
    expressions: Mapping[int, Value] | None = None,
) -> str:
    """Give the dump's text; each run of rows with equal headers gets one header.

    DSH cuts blanks and line breaks off the end of each run, even those of a string that ends it.
    `expressions` are of `Composer.expressions`.
    """
    if not rows:
        return "\n"
    if expressions:
        rows = [_as_expressions(row, expressions) for row in rows]
    runs = groupby(zip(attributions, rows, strict=True), key=lambda pair: pair[0])
    texts = ((at, dump([row for _, row in run])) for at, run in runs)
    return "".join(f"{at.header}\n{text.rstrip(_BLANKS)}\n" for at, text in texts)


def _as_expressions(value: Value, expressions: Mapping[int, Value]) -> Value:
    """Put what a row inherits as ``__jsExpr`` in its place; js-yaml takes such a map for one."""
    if isinstance(value, list):
        return [_as_expressions(item, expressions) for item in value]
    if not isinstance(value, dict):
        return value
    if id(value) in expressions and "__jsExpr" not in value:
        return {"__jsExpr": expressions[id(value)]}
    return {key: _as_expressions(item, expressions) for key, item in value.items()}
