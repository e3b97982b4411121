"""Everything arrives at `memory serve` exactly once and in order, whatever happens on the way.

``DSHLOOP_TEST_BRIDGE_EVENTS=10000`` is the long run.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.memory.server.serving import Served, start
from tests.plugins.agentmemory.checks import rows
from tests.plugins.agentmemory.storm import EVENTS, HARMS, POLICY, SESSIONS, Storm, blow

pytestmark = pytest.mark.slow


def test_all_arrives_once_and_in_order_through_a_storm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dshloop.plugins.agentmemory.row.POLICY", POLICY)
    served: list[Served] = [start(tmp_path / "home")]
    port = str(served[0].port)

    def restart() -> None:
        served[-1].kill()
        served.append(start(tmp_path / "home", "--port", port))

    storm = Storm(upstream=served[0].url)
    try:
        ids = blow(storm, tmp_path / "data", restart)
        for id_ in ids:
            told = [row["narrative"] for row in rows(served[-1].url, id_)]
            wanted = [f"event {number} of session {id_}" for number in range(EVENTS // SESSIONS)]
            assert told == wanted
    finally:
        storm.close()
        served[-1].kill()
    assert set(storm.harmed) == set(HARMS)
    assert len(storm.acknowledged) == EVENTS // SESSIONS * SESSIONS
    assert min(storm.acknowledged.values()) >= 1
    assert max(storm.passed_on.values()) > 1  # some came twice, and were told apart
