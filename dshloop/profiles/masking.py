"""Values of a profile as people may see them: secrets masked, unless they ask for them.

A string under a telling key goes whole, however short, unless it is a reference to a variable;
everywhere else text is a secret by its shape (dshloop.redact).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dshloop.dsh_yaml import JsExpr, Value
from dshloop.redact import MARK, is_telling, redact_text

REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*(?::[^}]*)?\}|\$env:\w+|\$[A-Za-z_]\w*")


def masked(value: Value, path: Sequence[str | int] = ()) -> Value:
    """Give a copy without secrets; `path` is where the value stands, its keys may tell."""
    told = next((step for step in reversed(path) if isinstance(step, str)), "")
    return _masked(value, is_telling(told))


def _masked(value: Value, telling: bool) -> Value:
    if isinstance(value, str):
        return MARK if telling and value and not _is_reference(value) else redact_text(value)
    if isinstance(value, dict):
        return {key: _masked(member, is_telling(key)) for key, member in value.items()}
    if isinstance(value, list):
        return [_masked(item, telling) for item in value]
    if isinstance(value, JsExpr):
        return JsExpr(redact_text(value.source))
    return value


def _is_reference(text: str) -> bool:
    found = REFERENCE.fullmatch(text)
    return found is not None and not re.match(r"\$\{\w+:[^?]", text)
