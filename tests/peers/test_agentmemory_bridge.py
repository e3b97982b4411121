"""The conformance list of the bridge, against the real daemon."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.peers.agentmemory import Worker
from tests.plugins.agentmemory.checks import *  # noqa: F403 - the checks are the tests

pytestmark = [pytest.mark.peer, pytest.mark.slow]


@pytest.fixture(scope="module")
def home(agentmemory: Callable[[str], Worker]) -> str:
    """Give the address of the daemon."""
    return agentmemory("open").url
