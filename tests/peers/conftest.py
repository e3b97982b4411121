"""The peers that several tests talk to.

``$DSHLOOP_TEST_AGENTMEMORY`` is the folder that agentmemory-setup.sh has filled.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conformance.test_agentmemory import PROFILES
from tests.peers.agentmemory import WORKER, Worker


@pytest.fixture(scope="module")
def agentmemory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Worker]]:
    """Give the worker of a profile, started when a module first asks for it.

    Modules share none: what one has stored shows in the contexts of another.
    """
    named = os.environ.get("DSHLOOP_TEST_AGENTMEMORY")
    if not named or not (Path(named) / WORKER).is_file():
        pytest.skip("$DSHLOOP_TEST_AGENTMEMORY names no folder with agentmemory")
    if shutil.which("node") is None:
        pytest.skip("there is no node")
    running: dict[str, Worker] = {}

    def of(profile: str) -> Worker:
        if profile not in running:
            root = tmp_path_factory.mktemp(profile)
            running[profile] = Worker(Path(named), root, PROFILES[profile])
        return running[profile]

    yield of
    for one in running.values():
        one.stop()
