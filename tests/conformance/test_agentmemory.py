"""The agentmemory contract, replayed against our server in a process of its own."""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import pytest

from dshloop.memory.server.routes import BASE, ROUTES
from tests.conformance.cases import DATA, load_cases
from tests.memory.server.serving import Served, start

SECRET = "test-secret"
PROFILES: Mapping[str, Mapping[str, str]] = {
    "open": {},
    "secret": {"AGENTMEMORY_SECRET": SECRET},
    "isolated": {
        "AGENT_ID": "agentA",
        "AGENTMEMORY_AGENT_SCOPE": "isolated",
        "TOKEN_BUDGET": "300",
    },
    "big": {},
}
OPTIONAL = ("commits", "timeline", "files", "lessons", "other")
"""Groups that no DSH client depends on: what is left out of them answers 404 without a body."""

Serve = Callable[[str], Served]


def replay_tool() -> ModuleType:
    """Load the replay tool, which is data: it is run as it was written."""
    spec = importlib.util.spec_from_file_location("replay", DATA / "replay_agentmemory.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


replay = replay_tool()


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Give a server of a profile, started when it is first asked for."""
    running: dict[str, Served] = {}

    def of(profile: str) -> Served:
        if profile not in running:
            data = tmp_path_factory.mktemp(profile)
            running[profile] = start(data, **PROFILES[profile])
        return running[profile]

    yield of
    for code, out, err in [one.stop() for one in running.values()]:
        assert code == 0, err
        assert " 500 " not in err, err
        assert '"outcome": "stopped"' in out


@pytest.mark.parametrize("case", load_cases("agentmemory.json"))
def test_agentmemory(case: Mapping[str, Any], serve: Serve) -> None:
    server = serve(case.get("profile", "open"))
    client = replay.Client(server.url, None, 120.0)
    token = "".join(random.SystemRandom().choices(replay.LETTERS, k=6))
    if case["group"] in OPTIONAL and not is_served(case["method"], case["path"]):
        case = {**case, "expect_better": {"status": 404, "empty": True}}
    reason, status, raw, _ = replay.run_case(client, case, token, "better")
    assert reason is None, f"{reason}\n{status} {raw[:1500]!r}"


def is_served(method: str, path: str) -> bool:
    """Tell whether a path is one of our routes, with whatever method."""
    bare = path.partition("?")[0].removeprefix(BASE)
    return any(one.path.partition("{")[0] == bare for one in ROUTES)
