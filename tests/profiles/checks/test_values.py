from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.profiles.layout import Profile
from tests.profiles.checks.made import codes, found, profile, write


def with_config(root: Path, config: str, name: str = "b") -> Profile:
    patch = f"- insert:\n    - id: x\n      name: {name}\n      config:\n        {config}\n"
    return profile(root, "b", plain=("dsh-agentmemory",), patch=patch)


@pytest.mark.parametrize(
    "text", ["${HOME}", "$HOME", "$env:HOME", "${{ env.X }}", "%APPDATA%", "a/${HOME}/b"]
)
def test_references_that_nobody_resolves(tmp_path: Path, text: str) -> None:
    (finding,) = found(with_config(tmp_path, f"dir: '{text}'"))
    assert finding.code == "ENV_REFERENCE_LITERAL"
    assert finding.place is not None
    assert (finding.row, finding.place.line) == ("x", 5)


@pytest.mark.parametrize(
    "value", ["!!js process.env.HOME", "costs 5$", "'a\n\n  $HOME'", "'${lower case}'", "US$"]
)
def test_what_is_no_reference(tmp_path: Path, value: str) -> None:
    assert codes(with_config(tmp_path, f"text: {value}")) == []


def test_the_secret_of_agentmemory_may_be_a_reference_and_should(tmp_path: Path) -> None:
    bridge = "dsh-agentmemory"
    for value in ("'${SECRET}'", "'${SECRET:?set it}'", "''", "!!js process.env.S"):
        assert codes(with_config(tmp_path, f"secret: {value}", bridge)) == []
    (finding,) = found(with_config(tmp_path, "secret: abc", bridge))
    assert finding.code == "SECRET_PLAIN"
    assert "abc" not in finding.as_text()


def test_other_secrets_in_plain_text(tmp_path: Path) -> None:
    key = "sk-" + "a1" * 16
    for config in (f"x: {key}", "apiKey: hunter2hunter2"):
        (finding,) = found(with_config(tmp_path, config))
        assert finding.code == "SECRET_PLAIN"
        assert key not in finding.as_text()
        assert "hunter2" not in finding.as_text()


@pytest.mark.parametrize("value", ["./x.js", "../x", "['-m', './server.js']", "'.\\x'"])
def test_paths_that_depend_on_the_working_folder(tmp_path: Path, value: str) -> None:
    (finding,) = found(with_config(tmp_path, f"args: {value}"))
    assert finding.code == "PATH_CWD_RELATIVE"


@pytest.mark.parametrize("value", ["/abs/x", "...", "x/./y", "['.']"])
def test_paths_that_do_not(tmp_path: Path, value: str) -> None:
    assert codes(with_config(tmp_path, f"args: {value}")) == []


def test_relative_paths_of_a_bundle_are_told_with_its_name(tmp_path: Path) -> None:
    made = profile(tmp_path, "b")
    write(
        made.modules / "b" / "cordis.patch.yml",
        "- insert: [{id: m, name: b, config: {args: [./mcp.js], text: '${X}'}}]\n",
    )
    (finding,) = found(made)
    assert finding.place is not None
    assert (finding.code, finding.place.label) == ("PATH_CWD_RELATIVE", "b")
