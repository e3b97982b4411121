"""The conformance list of the bridge, against the real daemon."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.peers.agentmemory import Worker
from tests.plugins.agentmemory.checks import *  # noqa: F403 - the checks are the tests
from tests.plugins.agentmemory.checks import rows
from tests.plugins.agentmemory.storm import EVENTS, POLICY, SESSIONS, Storm, blow

pytestmark = [pytest.mark.peer, pytest.mark.slow]


@pytest.fixture(scope="module")
def home(agentmemory: Callable[[str], Worker]) -> str:
    """Give the address of the daemon."""
    return agentmemory("open").url


def test_all_arrives_in_order_through_a_storm_and_repeats_are_few(
    agentmemory: Callable[[str], Worker], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dshloop.plugins.agentmemory.row.POLICY", POLICY)
    worker = agentmemory("big")
    storm = Storm(upstream=worker.url)
    try:
        ids = blow(storm, tmp_path, worker.restart)
    finally:
        storm.close()
    count = EVENTS // SESSIONS
    assert min(storm.acknowledged.values()) >= 1
    assert len(storm.acknowledged) == count * SESSIONS
    for id_ in ids:
        # A row that a kill cut in half has no text; it came again.
        whole = [row["narrative"] for row in rows(worker.url, id_) if "narrative" in row]
        told = [one.split(" | ")[0] for one in whole]
        assert list(dict.fromkeys(told)) == [f"event {n} of session {id_}" for n in range(count)]
    repeats = sum(storm.passed_on.values()) - len(storm.passed_on)
    print(f"{repeats} of {len(storm.passed_on)} rows reached the daemon more than once")
