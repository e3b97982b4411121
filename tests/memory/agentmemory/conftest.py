"""The daemon of these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.memory.agentmemory.daemons import Daemons


@pytest.fixture(scope="package")
def daemons() -> Iterator[Daemons]:
    """Run a server for all tests of this package."""
    one = Daemons()
    yield one
    one.stop()
