"""What stands at the top of an exported session."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class About:
    """Id, title, and the other facts as pairs of name and value."""

    id: str
    title: str
    facts: tuple[tuple[str, str], ...]
