"""How large a value is once its aliases are written out, and whether it contains itself."""

from __future__ import annotations

from dshloop.dsh_yaml.values import Value
from dshloop.errors import DshYamlUnwritableError

MAX_NODES = 5_000_000
MAX_DEPTH = 200
"""How deep a value may be; a file's own limit is 100, only aliases lead deeper."""


def check_writable(value: Value) -> None:
    """Raise DSH_YAML_UNWRITABLE for a value that contains itself or is too deep or too large."""
    if not isinstance(value, dict | list):
        return
    sizes: dict[int, int] = {}
    depths: dict[int, int] = {}
    open_ids: set[int] = set()
    pending: list[tuple[Value, bool]] = [(value, False)]
    while pending:
        node, done = pending.pop()
        if not isinstance(node, dict | list) or id(node) in sizes:
            continue
        children = node.values() if isinstance(node, dict) else node
        if done:
            nested = [id(child) for child in children if isinstance(child, dict | list)]
            sizes[id(node)] = 1 + len(node) + sum(sizes[child] for child in nested)
            depths[id(node)] = 1 + max((depths[child] for child in nested), default=0)
            open_ids.discard(id(node))
            continue
        open_ids.add(id(node))
        pending.append((node, True))
        for child in children:
            if id(child) in open_ids:
                raise DshYamlUnwritableError("the value contains itself")
            if isinstance(child, dict | list):
                pending.append((child, False))
    _check_limits(max(depths.values(), default=0), max(sizes.values(), default=0))


def _check_limits(depth: int, size: int) -> None:
    if depth > MAX_DEPTH:
        raise DshYamlUnwritableError(f"the value is {depth} levels deep; {MAX_DEPTH} are possible")
    if size > MAX_NODES:
        raise DshYamlUnwritableError(
            f"its aliases make {size} entries of the value; {MAX_NODES} are possible"
        )
