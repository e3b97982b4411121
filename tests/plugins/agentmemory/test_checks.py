"""The conformance list of the bridge, against `memory serve`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.memory.server.serving import served
from tests.plugins.agentmemory.checks import *  # noqa: F403 - the checks are the tests


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the address of our own server."""
    with served(tmp_path_factory.mktemp("home")) as one:
        yield one.url
