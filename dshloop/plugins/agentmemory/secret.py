"""The bearer secret of a row: plain, or the name of a variable (dsh-agentmemory-bridge 3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from dshloop.errors import BridgeSecretError

ROW = "dsh-agentmemory"
"""The name of the row, which is where a secret is that no variable holds."""

_REFERENCE = re.compile(
    r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<rest>:(?P<asks>\?)?(?P<text>.*))?\}", re.DOTALL
)
UNSET = "[agentmemory] secret env {} is unset and the reference declares no default"


class Secret(NamedTuple):
    """A secret, empty for none, and the variable that it came from."""

    value: str = ""
    variable: str | None = None

    def __repr__(self) -> str:
        """Show where it is from, never what it is."""
        return f"Secret({self.variable or '…'})"

    @property
    def target(self) -> dict[str, Any] | None:
        """Say where the secret comes from, as an outbox entry keeps it; None without one."""
        if not self.value:
            return None
        return {"variable": self.variable} if self.variable else {"row": ROW}


def resolve(written: str, variables: Mapping[str, str]) -> Secret:
    """Give the secret that a row's key means; an empty variable counts as unset.

    Raises BRIDGE_SECRET, with the message of ``${NAME:?message}`` as it is.
    """
    found = _REFERENCE.fullmatch(written)
    if found is None:
        return Secret(written)
    name = found["name"]
    if variables.get(name):
        return Secret(variables[name], name)
    if found["rest"] is None:
        raise BridgeSecretError(UNSET.format(name), variable=name)
    if found["asks"]:
        raise BridgeSecretError(found["text"] or UNSET.format(name), variable=name)
    return Secret(found["text"])
