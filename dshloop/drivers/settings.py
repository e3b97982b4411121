"""Where engines of their own are found, and how long they may be silent; a service of the host."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dshloop.host.host import Host

SERVICE = "engines"
PATIENCE = 600.0
"""Seconds: an engine that tells only of whole answers is silent while a model writes a long one."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What the drivers of other programs need of this machine.

    ``variables`` is the environment that the program gets; ``acp_command`` how an ACP agent is
    started.
    """

    variables: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    dsh_home: Path | None = None
    acp_command: tuple[str, ...] | None = None
    patience: float = PATIENCE


def settings_of(owner: Host) -> EngineSettings:
    """Give what the host's process was started with."""
    found: EngineSettings | None = owner.service(SERVICE)
    return EngineSettings() if found is None else found
