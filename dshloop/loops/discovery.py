"""Loops and drivers that installed packages offer, by entry points (loop-dock 17)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

Group = Literal["dshloop.loops", "dshloop.drivers"]


class Offered(NamedTuple):
    """An entry point: its name is the id; nothing of it is imported yet."""

    id: str
    target: str
    distribution: str


def offered(group: Group, name: str | None = None) -> list[Offered]:
    """Give what packages offer in a group, or of one name only; a package counts once.

    Reads the metadata of every distribution, so it is asked only for names that aren't known
    otherwise, and by what lists or checks (design 2).
    """
    found = dict.fromkeys(_entry_points(group))
    return sorted(one for one in found if name is None or one.id == name)


def _entry_points(group: Group) -> Iterator[Offered]:
    from importlib.metadata import distributions

    for distribution in distributions():
        for point in distribution.entry_points:
            if point.group == group:
                yield Offered(point.name, point.value.partition(" ")[0], distribution.name)
