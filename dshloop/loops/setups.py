"""Several setups as one, and their commits as one (loop-dock 10)."""

from __future__ import annotations

from typing import Any, NamedTuple

from dshloop.host.setup import Commit, prepare, run_commit
from dshloop.loops.registry import Setup


class Committed(NamedTuple):
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
            commit = await prepare(step, agent)
            if commit is not None:
                commits.append(commit)
        return Committed(lambda: _run(commits)) if commits else None

    return setup


def _run(commits: list[Commit]) -> None:
    for commit in commits:
        run_commit(commit)
