"""A process that can't start leaves nothing running."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dshloop.errors import LoopsFileInvalidError
from dshloop.host.tree import Tree
from dshloop.paths import Places
from dshloop.runs import process
from dshloop.runs.profile import ProfileRows
from dshloop.runs.stored import StoredSessions


def test_rows_are_stopped_when_the_loops_of_the_profile_are_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped: list[int] = []

    class Watched(Tree):
        async def stop(self) -> None:
            await super().stop()
            stopped.append(len(list(self.of_state("running"))))

    def wrong(self: object) -> None:
        raise LoopsFileInvalidError("loops.yml holds no mapping")

    monkeypatch.setattr(process, "Tree", Watched)
    monkeypatch.setattr(process.ProfileLoops, "register", wrong)
    places = Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")
    sessions = StoredSessions(places, tmp_path, lambda: 1.0, "test")
    with pytest.raises(LoopsFileInvalidError):
        asyncio.run(process.start_process(places, sessions, ProfileRows()))
    assert stopped == [0]
