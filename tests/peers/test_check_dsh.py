"""Checks against the real dsh: what it ships is sound, and what was mended it composes again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.running import Ran, dshloop

pytestmark = [pytest.mark.peer, pytest.mark.slow]

DAMAGE = {
    "appended": "# c\n[]\n- insert: [{id: g, name: cordis:group, group: true, config: []}]\n",
    "glued": "[]- {id: llm, disabled: true}\n",
    "empty": "# nothing yet\n",
    "null": "null # later\n",
    "twice": "[]\n- {id: llm, disabled: true}\n[]\n",
    "flow": "[{id: llm, disabled: true}]\n- {id: timer, config: {a: 1}}\n",
    "mark": "- {id: llm, disabled: true}\n\ufeff- {id: timer, disabled: true}\n",
}


class Machine:
    """A machine with the real dsh on PATH and one DSH home."""

    def __init__(self, program: str, root: Path) -> None:
        (root / "bin").mkdir()
        (root / "bin" / "dsh").symlink_to(program)
        self.home = root / "dsh"
        self.variables = {
            "PATH": os.pathsep.join([str(root / "bin"), "/usr/bin", "/bin"]),
            "DSH_HOME": str(self.home),
            "DSHLOOP_DATA": str(root / "data"),
            "DSH_TELEMETRY_DISABLED": "1",
        }

    def ours(self, *words: str) -> Ran:
        return dshloop("profile", *words, variables=self.variables)

    def theirs(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["dsh", *words],
            env={**os.environ, **self.variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    program = os.environ.get("DSHLOOP_TEST_DSH")
    if not program:
        pytest.skip("set DSHLOOP_TEST_DSH to a dsh 0.2.1 (tests/peers/dsh-setup.sh installs one)")
    if shutil.which(program) is None:
        pytest.skip(f"DSHLOOP_TEST_DSH names no program: {program}")
    return Machine(program, tmp_path)


@pytest.mark.parametrize("name", ["web", "headless", "sdk", "sdk-minimal", "acp"])
def test_what_dsh_ships_has_no_findings(machine: Machine, name: str) -> None:
    assert machine.ours("check", name, "--json").json["findings"] == []


def test_damage_that_dsh_ends_at_is_found_and_mended(machine: Machine) -> None:
    assert machine.ours("create", "headless").code == 0
    patch = machine.home / "profiles" / "headless" / "cordis.patch.yml"
    for name, text in DAMAGE.items():
        patch.write_text(text, encoding="utf-8")
        assert machine.theirs("--profile", "headless", "--dump-config").returncode == 1, name
        assert machine.ours("check", "headless").code == 1, name
        assert machine.ours("check", "headless", "--fix").code == 0, name
        said = machine.theirs("--profile", "headless", "--dump-config")
        assert (said.returncode, said.stdout) == (0, machine.ours("dump", "headless").out), name


def test_config_keys_are_checked_with_dshs_own_schema(machine: Machine) -> None:
    assert machine.ours("create", "headless").code == 0
    patch = machine.home / "profiles" / "headless" / "cordis.patch.yml"
    patch.write_text(
        "- id: agent-default-model\n"
        "  config: {provider: deepseek-official, model: x, reasonEffort: high}\n"
        "- id: session-title\n"
        "  config: {fallbackMaxWords: 0, fallbackMaxBytes: 40, maxTitleBytes: 80}\n"
    )
    answer = machine.ours("check", "headless", "--json").json
    told = [(one["code"], one["row"], one["line"]) for one in answer["findings"]]
    assert ("CONFIG_KEY_UNKNOWN", "agent-default-model", 2) in told
    assert ("CONFIG_VALUE_INVALID", "session-title", 4) in told
    (unknown,) = [one for one in answer["findings"] if one["code"] == "CONFIG_KEY_UNKNOWN"]
    assert "reasoningEffort" in unknown["fix"]


def test_a_duplicate_that_021_swallows_is_named_and_mended(machine: Machine) -> None:
    assert machine.ours("create", "headless").code == 0
    folder = machine.home / "profiles" / "headless"
    row = "- insert:\n    - {id: timer, name: '@deepseek-ai/cordis-plugin-timer', config: {a: 1}}\n"
    (folder / "cordis.patch.yml").write_text(row)
    answer = machine.ours("check", "headless", "--json").json
    assert [
        (one["code"], one["row"]) for one in answer["findings"] if one["severity"] == "error"
    ] == [("ROW_ID_DUPLICATE", "timer")]
    assert machine.ours("repair", "headless", "--apply").code == 0
    dump = machine.theirs("--profile", "headless", "--dump-config").stdout
    assert dump.count("- id: timer\n") == 1
    assert dump == machine.ours("dump", "headless").out
    assert json.loads((folder / "package.json").read_text())["dsh"]
