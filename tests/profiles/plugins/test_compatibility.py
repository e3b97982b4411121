from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dshloop.dsh import Program
from dshloop.profiles.bundle import Package
from dshloop.profiles.plugins.compatibility import Engines, exemptions, is_host, unmet
from tests.profiles.packages import places_in, profile_in

PROGRAM = Program("dsh", Path("dsh"), Path())


def engines(dsh: str | None = "0.2.1-rc.2", node: str | None = "20.1.0") -> Engines:
    versions = {"dsh": dsh, "node": node}
    return Engines(
        PROGRAM,
        Program("node", Path("node"), Path()),
        {},
        lambda program, _: versions[program.name],
    )


def found(exempt: dict[str, Any] | None = None, **manifest: Any) -> list[str]:
    package = Package("a", Path("a"), {"version": "1.0.0", **manifest})
    return [one.what for one in unmet(package, engines(), exempt or {})]


@pytest.mark.parametrize(
    ("text", "fits"), [(">=0.2", True), ("^0.2.0", True), ("^0.1", False), ("", False)]
)
def test_the_range_of_engines_dsh(text: str, fits: bool) -> None:
    assert found(engines={"dsh": text}) == ([] if fits else ["engines.dsh"])


def test_engines_decide_alone_else_every_peer_of_dsh() -> None:
    peers = {"@deepseek-ai/dsh": "^0.2.0", "@deepseek-ai/dsh-tools": "^9", "react": "^99"}
    assert found(peerDependencies=peers) == ["peerDependencies @deepseek-ai/dsh-tools"]
    assert found(peerDependencies=peers, engines={"dsh": "*"}) == []


def test_node_is_checked_too() -> None:
    assert found(engines={"node": ">=22"}) == ["engines.node"]
    assert found(engines={"node": ">=18"}) == []


def test_an_exact_exemption_lifts_what_is_said_of_dsh() -> None:
    wanted = {"dsh": "^9", "node": ">=22"}
    assert found({"a@1.0.0": ["0.2.1-rc.2"]}, engines=wanted) == ["engines.node"]
    assert found({"a@1.0.0": ["0.2.1"]}, engines=wanted) == ["engines.dsh", "engines.node"]
    assert found({"a@1.0.1": ["0.2.1-rc.2"]}, engines=wanted) == ["engines.dsh", "engines.node"]


def test_nothing_is_asked_without_a_range_and_nothing_known_without_a_program() -> None:
    def never(program: Program, variables: Any) -> str | None:
        raise AssertionError(program.name)

    plain = Package("a", Path("a"), {"engines": {"npm": "1"}, "peerDependencies": {"react": "1"}})
    assert unmet(plain, Engines(PROGRAM, PROGRAM, {}, never), {}) == []
    odd = Package("a", Path("a"), {"engines": {"dsh": "^9", "node": "^9"}})
    assert unmet(odd, Engines(), {}) == []
    assert unmet(odd, engines(None, None), {}) == []


def test_exemptions_of_a_profile(tmp_path: Path) -> None:
    profile = profile_in(places_in(tmp_path), "p")
    assert exemptions(profile) == {}
    path = profile.folder / "compatibility.json"
    path.write_text(json.dumps({"a@1": ["0.2.1"]}))
    assert exemptions(profile) == {"a@1": ["0.2.1"]}
    path.write_text("{")
    assert exemptions(profile) == {}


def test_host_packages_are_dshs_own() -> None:
    names = ("@deepseek-ai/dsh", "@deepseek-ai/dsh-x", "@deepseek-ai/other", "dsh")
    assert [is_host(name) for name in names] == [True, True, False, False]
