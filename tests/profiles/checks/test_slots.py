from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.profiles.layout import Profile
from tests.profiles.checks.made import codes, found, profile, repaired, write
from tests.profiles.packages import places_in, profile_in

ENGINE = "    - {id: agent-loop, name: '@deepseek-ai/dsh-agent-loop', config: {agents: []}}\n"
DOCK = "    - {id: dock, name: dsh-loop-dock, config: {presetLoops: {standard: standard}}}\n"
BRIDGE = "    - {id: bridge, name: dsh-agentmemory, config: {}}\n"
HOOKS = (
    "    - {id: agentmemory-hooks, name: '@deepseek-ai/dsh-hooks-claude-code', "
    "config: {configPath: /h/agentmemory.hooks.json}}\n"
)
SERVER = (
    "    - {id: agentmemory, name: '@deepseek-ai/dsh-mcp-client', "
    "config: {serverName: agentmemory, args: ['-y', '@agentmemory/mcp']}}\n"
)
PATCHOULI = "    - {id: patchouli-agent-loop, name: dsh-patchouli-agent-loop}\n"
BUNDLES = ("dsh-loop-dock", "dsh-agentmemory", "dsh-patchouli-agent-loop")


def rows(root: Path, *lines: str, more: str = "") -> Profile:
    return profile(root, plain=BUNDLES, patch="- insert:\n" + "".join(lines) + more)


def test_the_engine_beside_the_dock_takes_the_slot_twice(tmp_path: Path) -> None:
    made = rows(tmp_path, ENGINE, DOCK)
    (finding,) = found(made)
    assert (finding.code, finding.row, finding.severity) == (
        "AGENT_FACTORY_TWICE",
        "agent-loop",
        "error",
    )
    assert not repaired(made, safe_only=True).mended
    repaired(made)
    assert made.patch.read_text().endswith("- id: agent-loop\n  disabled: true\n")
    assert codes(made) == []


def test_a_patch_that_switched_the_engine_on_is_set_back(tmp_path: Path) -> None:
    made = rows(tmp_path, ENGINE, DOCK, more="- id: agent-loop\n  disabled: false # oops\n")
    repaired(made)
    assert made.patch.read_text().endswith("- id: agent-loop\n  disabled: true # oops\n")


def test_no_taker_of_the_slot_is_told_too(tmp_path: Path) -> None:
    made = rows(tmp_path, ENGINE, more="- {id: agent-loop, disabled: true}\n")
    assert codes(made) == ["AGENT_FACTORY_NONE"]
    made = rows(tmp_path, ENGINE, DOCK, more="- {id: agent-loop, disabled: true}\n")
    assert codes(made) == []


def test_the_bridge_beside_agentmemorys_own_connector(tmp_path: Path) -> None:
    assert codes(rows(tmp_path, BRIDGE, SERVER)) == ["MEMORY_RECORDED_TWICE"]
    assert codes(rows(tmp_path, BRIDGE, HOOKS, SERVER)) == ["MEMORY_RECORDED_TWICE", "RECALL_TWICE"]
    assert codes(rows(tmp_path, HOOKS, SERVER)) == []
    assert codes(rows(tmp_path, BRIDGE)) == []


@pytest.mark.parametrize(
    ("config", "twice"),
    [
        ("{}", True),
        ("{injectContext: false}", False),
        ("{injectContext: false, injectSemantic: true}", True),
        ("{enabled: false}", False),
    ],
)
def test_two_rows_that_inject_recall(tmp_path: Path, config: str, twice: bool) -> None:
    made = rows(tmp_path, BRIDGE.replace("{}}", f"{config}}}"), PATCHOULI)
    assert ("RECALL_TWICE" in codes(made)) == twice


def test_patchouli_may_recall_nothing(tmp_path: Path) -> None:
    quiet = PATCHOULI.replace("}", ", config: {retrieve: {preStep: false}}}")
    assert codes(rows(tmp_path, BRIDGE, quiet)) == []


def test_a_preset_mapped_by_its_old_name_gets_the_new_one_too(tmp_path: Path) -> None:
    made = rows(tmp_path, DOCK.replace("standard: standard", "code: mine"))
    (finding,) = found(made)
    assert (finding.code, finding.row) == ("PRESET_UNKNOWN", "dock")
    assert "profile set dock.presetLoops.ptc mine" in finding.fix
    assert codes(made, dialect="012") == []
    repaired(made)
    assert "presetLoops: {code: mine, ptc: mine}" in made.patch.read_text()
    assert codes(made) == []


def test_presets_of_the_profile_and_of_the_user_are_known(tmp_path: Path) -> None:
    preset = (
        "    - {id: p, name: '@deepseek-ai/dsh-agent-preset', config: {id: special, plugins: []}}\n"
    )
    made = rows(
        tmp_path, DOCK.replace("standard: standard", "special: a, own: b, spezial: c"), preset
    )
    own = made.dsh_home / ".agent-presets" / "own"
    own.mkdir(parents=True)
    (own / "agent.cordis.yml").write_text("[]\n")
    (finding,) = found(made)
    assert "maps spezial" in finding.why
    assert "special" in finding.fix


def test_a_bundle_may_name_its_own_module_by_a_path(tmp_path: Path) -> None:
    made = profile(tmp_path, "dsh-agentmemory", "dsh-loop-dock", patch="- insert:\n" + ENGINE)
    bridge = made.modules / "dsh-agentmemory" / "cordis.patch.yml"
    write(bridge, "- insert: [{id: bridge, name: ./index.js}]\n")
    write(
        made.modules / "dsh-loop-dock" / "cordis.patch.yml",
        "- insert: [{id: d, name: ./index.js}]\n",
    )
    write(made.home_patch, "- {id: bridge, config: {secret: plain-text}}\n")
    assert set(codes(made)) == {"AGENT_FACTORY_TWICE", "SECRET_PLAIN"}


def test_a_row_of_the_home_stays_for_a_profile_that_wants_its_package(tmp_path: Path) -> None:
    made = profile(tmp_path)
    profile_in(places_in(tmp_path), "other", dependencies={"theirs": "1.0.0"})
    write(made.home_patch, "- insert: [{id: x, name: theirs}]\n")
    assert codes(made) == ["ROW_NAME_UNRESOLVED"]


def test_an_engine_that_is_there_twice_by_its_id_stays_on(tmp_path: Path) -> None:
    made = profile(tmp_path, "b", patch="- insert:\n" + ENGINE)
    write(made.modules / "b" / "cordis.patch.yml", "- insert:\n" + ENGINE)
    assert codes(made) == ["ROW_ID_DUPLICATE"]
    repaired(made)
    assert codes(made) == []
    assert "disabled" not in made.patch.read_text()
