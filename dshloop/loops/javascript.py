"""Values that only dsh can evaluate, in the config of the dock's own rows.

Such a row is refused wherever it is met: routes that are not known must not bind sessions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dshloop.errors import InvalidConfigError
from dshloop.loops.names import ABSENT, is_object


def refuse_javascript(config: object) -> None:
    """Raise INVALID_CONFIG for a config that is, or holds, an expression (``!!js``)."""
    path = next(_expressions(config, ""), None)
    if path is not None:
        raise InvalidConfigError(
            f"{path or 'the config'} is JavaScript (!!js), which only dsh can evaluate",
            hint="Write the value itself here, or run the profile in dsh.",
            path=path,
        )


def _expressions(value: Any, path: str) -> Iterator[str]:
    """Give the paths of all expressions in a value."""
    if value is None or value is ABSENT or isinstance(value, str | int | float):
        return
    if is_object(value):
        for key, item in value.items():
            yield from _expressions(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _expressions(item, f"{path}[{index}]")
    elif isinstance(getattr(value, "source", None), str):  # a JsExpr; YAML need not be imported
        yield path
