"""Our copy of the agentmemory cases, replayed against the real worker: they say what it does."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.conformance.cases import load_cases
from tests.conformance.test_agentmemory import replay
from tests.peers.agentmemory import Worker

pytestmark = [pytest.mark.peer, pytest.mark.slow]


@pytest.mark.parametrize("case", load_cases("agentmemory.json"))
def test_the_worker_does_what_the_cases_say(
    case: Mapping[str, Any], agentmemory: Callable[[str], Worker]
) -> None:
    client = replay.Client(agentmemory(case.get("profile", "open")).url, None, 120.0)
    token = "".join(random.SystemRandom().choices(replay.LETTERS, k=6))
    reason, status, raw, _ = replay.run_case(client, case, token, "original")
    assert reason is None, f"{reason}\n{status} {raw[:1500]!r}"
