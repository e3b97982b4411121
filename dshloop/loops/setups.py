"""Setups, which prepare an agent before anybody sees it, and the commits they give back.

(loop-dock 10)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dshloop.loops.harness import awaited
from dshloop.loops.names import is_object
from dshloop.loops.registry import Setup

Commit = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Committed:
    """What a setup gives back when something is left to do at the moment of publication."""

    commit: Commit


def compose_setups(*setups: object) -> Setup:
    """Make one setup that awaits several, one after the other; what can't be called is left out.

    Its commit runs theirs in order; the first that raises stops the rest. Without any it gives
    back None.
    """
    steps = [setup for setup in setups if callable(setup)]

    async def setup(agent: Any) -> Committed | None:
        commits = []
        for step in steps:
            commit = commit_of(await awaited(step(agent)))
            if commit is not None:
                commits.append(commit)
        return Committed(lambda: _run(commits)) if commits else None

    return setup


def commit_of(result: object) -> Commit | None:
    """Find the commit in what a setup gave back: {commit}, something with one, a function."""
    found = result.get("commit") if is_object(result) else getattr(result, "commit", result)
    return found if callable(found) else None


def _run(commits: list[Commit]) -> None:
    for commit in commits:
        commit()
