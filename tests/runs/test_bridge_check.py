"""The seven boot checks find what they look for."""

from __future__ import annotations

import pytest

from dshloop.errors import PeerDownError
from dshloop.memory.status import Probe, Status
from dshloop.plugins.agentmemory.row import Agentmemory
from dshloop.runs import bridge_check
from dshloop.runs.bridge_check import boot_checks

WELL = Status("agentmemory", "http://localhost:3111", reachable=True, probe=Probe("0.9.29"))
NAMES = [
    "exports",
    "host-needs",
    "defaults",
    "refusal",
    "livez",
    "packages-declared",
    "packages-present",
]


def failed(status: Status = WELL) -> dict[str, str]:
    return {check.name: check.said for check in boot_checks(status) if not check.passed}


def test_all_pass_beside_a_daemon() -> None:
    assert [check.name for check in boot_checks(WELL)] == NAMES
    assert failed() == {}


def test_a_daemon_that_is_away_fails_one() -> None:
    away = WELL._replace(reachable=False, error=PeerDownError("nobody there"))
    assert failed(away) == {"livez": "nobody there"}


@pytest.mark.parametrize(
    ("part", "value", "check"),
    [
        ("name", "other", "exports"),
        ("apply", None, "exports"),
        ("inject", (), "host-needs"),
        ("Config", staticmethod(lambda _raw: object()), "defaults"),
        ("Config", staticmethod(lambda _raw: object()), "refusal"),
    ],
)
def test_a_plugin_that_is_not_what_it_should_be_fails(
    monkeypatch: pytest.MonkeyPatch, part: str, value: object, check: str
) -> None:
    monkeypatch.setattr(Agentmemory, part, value)
    assert check in failed()


def test_a_package_that_is_not_there_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge_check, "PACKAGE", "no-such-package")
    monkeypatch.setattr(bridge_check, "MODULE", "no_such_package")
    assert set(failed()) == {"packages-declared", "packages-present"}
