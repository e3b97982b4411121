"""The verbs that write: loop use, route, register; driver use, register; agent add, remove."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dshloop.dsh_yaml import load
from tests.running import dshloop

ROOT = Path(__file__).parents[3]
TEAMS = sorted((ROOT / "examples" / "teams").glob("*.yml"))
STRATEGY = "label: Careful\nprompt:\n- {name: a, order: 3, text: Look twice.}\nbudget: {steps: 8}\n"


def dock_config(patch: Path) -> dict[str, object]:
    for item in load(patch.read_text()):
        for row in item.get("insert", []):
            if row["name"] == "dsh-loop-dock":
                config: dict[str, object] = row["config"]
                return config
    raise AssertionError("no dock row")


def test_writers_without_a_profile_are_a_usage_error() -> None:
    for words in (
        ["loop", "use", "standard"],
        ["loop", "route", "code", "standard"],
        ["loop", "unroute", "code"],
        ["loop", "register", "a", "dshloop.loops.standard:ID", "--force"],
        ["driver", "register", "a", "m:o", "--force"],
        ["loop", "register", "a", "nothing_there:x"],
        ["loop", "register", "a", "--from", "nothing-there.yml"],
        ["driver", "register", "a", "nothing_there:x"],
        ["agent", "add", "a"],
        ["agent", "remove", "a"],
    ):
        ran = dshloop(*words, "--json")
        assert ran.code == 2, words
        assert ran.error["code"] == "PROFILE_NOT_NAMED"


def test_use_changes_one_value_and_undo_brings_it_back(docked: Path) -> None:
    before = docked.read_bytes()
    (docked.parent / "loops.yml").write_text("loops:\n  a: {prompt: x}\n")
    shown = dshloop("loop", "use", "a", "--dry-run")
    assert "+        defaultLoop: a # keep" in shown.out
    assert docked.read_bytes() == before
    assert dshloop("loop", "use", "a", "--json").json["changed"] is True
    assert docked.read_bytes() == before.replace(b"defaultLoop: standard", b"defaultLoop: a")
    assert dshloop("undo").code == 0
    assert docked.read_bytes() == before
    ran = dshloop("loop", "use", "b", "--json")
    assert (ran.code, ran.error["code"]) == (3, "UNKNOWN_LOOP")
    assert dshloop("loop", "use", "b", "--force").code == 0


def test_routes_of_presets_and_sessions_come_and_go(docked: Path) -> None:
    before = docked.read_bytes()
    assert dshloop("loop", "route", "a.b", "standard+fake-driver").code == 0
    assert dshloop("loop", "route", "s-1", "standard", "--session").code == 0
    config = dock_config(docked)
    assert config["presetLoops"] == {
        "code": "standard",
        "a.b": {"loop": "standard", "driver": "fake-driver"},
    }
    assert config["sessionLoops"] == {"s-1": "standard"}
    assert b"# keep" in docked.read_bytes()
    found = dshloop("loop", "explain", "--preset", "a.b", "--session", "s-1", "--json").json
    assert (found["source"], found["driver_source"]) == ("route", "preset")
    assert dshloop("loop", "unroute", "s-1").code == 0
    ran = dshloop("loop", "unroute", "cod", "--json")
    assert (ran.code, ran.error["code"]) == (3, "ROUTE_NOT_FOUND")
    assert 'Did you mean "code"?' in ran.error["hint"]
    assert dshloop("loop", "unroute", "a.b", "--preset").code == 0
    assert dock_config(docked)["presetLoops"] == {"code": "standard"}
    for _ in range(4):
        assert dshloop("undo").code == 0
    assert docked.read_bytes() == before


def test_a_key_that_is_both_needs_to_be_told_apart(docked: Path) -> None:
    assert dshloop("loop", "route", "code", "standard", "--session").code == 0
    assert dshloop("loop", "unroute", "code").code == 2
    assert dshloop("loop", "route", "x", "standard", "--session", "--preset").code == 2


@pytest.mark.parametrize(
    ("target", "code", "error"),
    [
        ("nope", 3, "UNKNOWN_LOOP"),
        ("standard+nope", 3, "UNKNOWN_DRIVER"),
        ("standard+", 2, "INVALID_DRIVER"),
        ("A", 2, "INVALID_LOOP_ID"),
        ("own+default", 1, "INVALID_CONFIG"),
    ],
)
def test_a_route_to_nothing_is_refused(docked: Path, target: str, code: int, error: str) -> None:
    (docked.parent / "loops.yml").write_text("loops:\n  own: cli_loops:own_engine\n")
    before = docked.read_bytes()
    ran = dshloop("loop", "route", "code", target, "--json")
    assert (ran.code, ran.error["code"]) == (code, error)
    assert docked.read_bytes() == before


def test_a_missing_dock_row_is_offered(profile: Path) -> None:
    patch = profile / "cordis.patch.yml"
    before = patch.read_bytes()
    ran = dshloop("loop", "use", "standard", "--json")
    assert (ran.code, ran.error["code"]) == (4, "DOCK_ROW_MISSING")
    assert dshloop("loop", "use", "standard", stdin="n\n", tty=True).code == 4
    assert patch.read_bytes() == before
    ran = dshloop("agent", "add", "a", "--yes")
    assert ran.code == 0
    assert "plugin add dsh-loop-dock" in ran.err
    assert dock_config(patch)["agents"] == [{"id": "a"}]
    assert "fake-driver" in [one["name"] for one in dshloop("driver", "list", "--json").json]
    assert dshloop("loop", "check").code == 0
    assert dshloop("undo").code == 0
    assert patch.read_bytes() == before


def test_the_other_engine_goes_off_and_a_disabled_dock_on(profile: Path) -> None:
    patch = profile / "cordis.patch.yml"
    patch.write_text(
        "- insert:\n    - {id: agent-loop, name: '@deepseek-ai/dsh-agent-loop'}\n"
        "    - {id: dock, name: dsh-loop-dock, disabled: true}\n"
    )
    assert dshloop("loop", "use", "standard", "--yes").code == 0
    rows = {row["id"]: row for row in dshloop("profile", "row", "list", "--json").json}
    assert rows["agent-loop"]["state"] == "off"
    assert rows["dock"]["state"] == "on"
    assert rows["agent-loop-dock-default-driver"]["state"] == "on"


def test_a_strategy_is_registered_from_a_file_and_taken_out(docked: Path, tmp_path: Path) -> None:
    source = tmp_path / "careful.yml"
    source.write_text(STRATEGY)
    loops = docked.parent / "loops.yml"
    assert (
        "+  careful:"
        in dshloop("loop", "register", "careful", "--from", str(source), "--dry-run").out
    )
    assert not loops.exists()
    assert dshloop("loop", "register", "careful", "--from", str(source)).code == 0
    assert load(loops.read_text()) == {"loops": {"careful": load(STRATEGY)}}
    ran = dshloop("loop", "register", "careful", "--from", str(source), "--json")
    assert (ran.code, ran.error["code"]) == (4, "DUPLICATE_LOOP")
    assert ran.error["details"]["line"] == 3
    assert dshloop("loop", "register", "critic", "cli_loops:critic").code == 0
    assert dshloop("loop", "use", "critic").code == 0
    assert dshloop("loop", "unregister", "critic").code == 0
    assert dshloop("loop", "check").code == 1
    assert dshloop("loop", "unregister", "critic").code == 3
    assert dshloop("loop", "unregister", "careful").code == 0
    assert dshloop("undo").code == 0
    assert "careful" in loops.read_text()


def test_what_can_not_be_registered_changes_nothing(docked: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yml"
    bad.write_text("promt: x\n")
    for words, code, error in (
        (["a", "cli_broken:x"], 1, "LOOP_IMPORT_FAILED"),
        (["a", "cli_loops:setup"], 1, "INVALID_LOOP_DEFINITION"),
        (["a", "here"], 1, "LOOPS_FILE_INVALID"),
        (["A", "cli_loops:critic"], 2, "INVALID_LOOP_ID"),
        (["a", "--from", str(bad)], 1, "LOOPS_FILE_INVALID"),
        (["a", "--from", str(tmp_path / "none.yml")], 1, "UNREADABLE_FILE"),
        (["a"], 2, "USAGE"),
    ):
        ran = dshloop("loop", "register", *words, "--json")
        assert (ran.code, ran.error["code"]) == (code, error), words
    assert not (docked.parent / "loops.yml").exists()


def test_a_driver_is_registered_and_used(docked: Path) -> None:
    assert dshloop("driver", "register", "mine", "cli_loops:Driver").code == 0
    found = {one["name"]: one for one in dshloop("driver", "list", "--json").json}
    assert found["mine"]["target"] == "cli_loops:Driver"
    assert found["default"]["default"] == "config"
    assert dshloop("driver", "register", "bad", "cli_loops:setup").code == 2
    assert dshloop("driver", "use", "mine").code == 0
    assert dshloop("loop", "explain", "--json").json["driver"] == "mine"
    assert dshloop("driver", "check").code == 0
    assert dshloop("driver", "unregister", "mine").code == 0
    ran = dshloop("driver", "check", "--json")
    assert ran.code == 1
    assert [one["code"] for one in ran.json] == ["UNKNOWN_DRIVER"]


def test_driver_use_needs_no_profile_and_keeps_every_other_byte() -> None:
    settings = Path(os.environ["DSH_HOME"]) / "settings.yaml"
    assert dshloop("driver", "use", "fake-driver").code == 0
    assert settings.read_text() == "agent-loops:\n  defaultDriver: fake-driver\n"
    assert settings.stat().st_mode & 0o777 == 0o600
    text = "# mine\nother: {a: 1} # kept\nagent-loops: {defaultDriver: default} # here\n"
    settings.write_text(text)
    assert "+agent-loops: {defaultDriver: fake-driver} # here" in (
        dshloop("driver", "use", "fake-driver", "--dry-run").out
    )
    assert dshloop("driver", "use", "fake-driver").code == 0
    assert settings.read_text() == text.replace("default}", "fake-driver}")
    assert dshloop("driver", "use", "fake-driver", "--json").json["changed"] is False
    assert dshloop("undo").code == 0
    assert settings.read_text() == text
    for name, code in (("fake-drivr", 3), ("A", 2), ("ping", 2)):
        assert dshloop("driver", "use", name).code == code
    assert settings.read_text() == text


def test_driver_use_waits_for_nobody_who_holds_dshs_lock() -> None:
    settings = Path(os.environ["DSH_HOME"]) / "settings.yaml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    lock = settings.with_name("settings.yaml.lock")
    lock.write_text(f"{os.getppid()}\n")
    ran = dshloop("driver", "use", "fake-driver", "--json")
    assert (ran.code, ran.error["code"]) == (4, "LOCK_HELD")
    assert not settings.exists()


def test_the_fake_driver_of_a_profile_that_has_it_off_is_chosen_with_a_warning(
    docked: Path,
) -> None:
    docked.write_text(docked.read_text().replace("fakeDriver: true", "fakeDriver: false"))
    ran = dshloop("driver", "use", "fake-driver")
    assert ran.code == 0
    assert "dshloop profile set engine.fakeDriver true" in ran.err


def test_an_agent_takes_all_nine_fields(docked: Path) -> None:
    fields = {
        "--session-id": "s",
        "--loop": "standard",
        "--driver": "fake-driver",
        "--provider": "p",
        "--model": "m",
        "--max-tokens": "5",
        "--reasoning-effort": "high",
        "--cwd": "/tmp",
    }
    words = [word for pair in fields.items() for word in pair]
    assert dshloop("agent", "add", "second", *words).code == 0
    assert "- id: first # stays" in docked.read_text()
    agents = dshloop("agent", "list", "--json").json
    assert agents[0] == {"id": "first", "waits_for": None, "where": f"{docked}:9"}
    assert {key: agents[1][key] for key in ("id", "sessionId", "maxTokens", "cwd")} == {
        "id": "second",
        "sessionId": "s",
        "maxTokens": 5,
        "cwd": "/tmp",
    }
    assert dshloop("agent", "add", "third", "--resume-session-id", "t").code == 0
    ran = dshloop("agent", "add", "fourth", "--resume-session-id", "s", "--json")
    assert (ran.code, ran.error["code"]) == (1, "INVALID_CONFIG")
    assert "duplicate exact session identity" in ran.error["message"]
    assert dshloop("agent", "remove", "second").code == 0
    assert [one["id"] for one in dshloop("agent", "list", "--json").json] == ["first", "third"]
    assert dshloop("agent", "remove", "second").code == 3
    assert dshloop("agent", "add").code == 2


@pytest.mark.parametrize("team", TEAMS, ids=lambda path: path.stem)
def test_the_teams_of_the_examples_are_added_and_checked(profile: Path, team: Path) -> None:
    entries = load(team.read_text())["agent-loop-dock"]["agents"]
    loops = sorted({entry["loop"] for entry in entries} - {"standard"})
    drivers = sorted({entry["driver"] for entry in entries if "driver" in entry})
    assert dshloop("agent", "add", "--from", str(team), "--yes").code == 0
    assert dock_config(profile / "cordis.patch.yml")["agents"] == entries
    ran = dshloop("loop", "check", "--json")
    missing = [f"agents[{i}].loop" for i, one in enumerate(entries) if one["loop"] in loops]
    missing += [f"agents[{i}].driver" for i, one in enumerate(entries) if "driver" in one]
    assert sorted(one["path"] for one in ran.json) == sorted(missing)
    assert ran.code == (1 if missing else 0)
    for loop in loops:
        assert dshloop("loop", "register", loop, "cli_loops:critic").code == 0
    for driver in drivers:
        assert dshloop("driver", "register", driver, "cli_loops:Driver").code == 0
    assert dshloop("loop", "check").code == 0
    assert all(one["waits_for"] is None for one in dshloop("agent", "list", "--json").json)


def test_there_are_three_teams() -> None:
    assert len(TEAMS) == 3


@pytest.mark.parametrize(
    ("text", "said", "line"),
    [
        ("agents:\n  - {id: a, modle: x}\n", 'Did you mean "model"?', 2),
        (
            "agent-loop-dock:\n  agents:\n    - {id: a}\n    - {id: b, maxTokens: 0}\n",
            "maxTokens",
            4,
        ),
        ("- {name: a}\n", "agents[0].id must be a non-empty string", 1),
        ("agents: 5\n", "agents must be a list", 1),
        ("5\n", "a team is a list of agents", 1),
    ],
)
def test_a_wrong_team_is_refused_with_its_line(
    docked: Path, tmp_path: Path, text: str, said: str, line: int
) -> None:
    before = docked.read_bytes()
    team = tmp_path / "team.yml"
    team.write_text(text)
    error = dshloop("agent", "add", "--from", str(team), "--json").error
    assert error["code"] == "INVALID_CONFIG"
    assert said in error["message"] + str(error["hint"])
    assert error["details"]["line"] == line
    assert docked.read_bytes() == before


def test_names_of_the_command_line_are_written_as_the_drivers_they_mean(docked: Path) -> None:
    assert dshloop("loop", "route", "code", "standard+fake").code == 0
    assert dshloop("agent", "add", "b", "--driver", "headless").code == 0
    assert dshloop("driver", "use", "fake", "--json").json["driver"] == "fake-driver"
    assert dshloop("driver", "show", "fake", "--json").json["name"] == "fake-driver"
    config = dock_config(docked)
    assert config["presetLoops"] == {"code": {"loop": "standard", "driver": "fake-driver"}}
    assert config["agents"] == [{"id": "first"}, {"id": "b", "driver": "default"}]
    for words in (
        ["loop", "route", "code", "standard+ping"],
        ["agent", "add", "c", "--driver", "ping"],
        ["driver", "use", "ping"],
    ):
        ran = dshloop(*words, "--json")
        assert (ran.code, ran.error["code"]) == (2, "USAGE")
        assert "session run --driver ping" in ran.error["hint"]


def test_a_route_needs_a_key(docked: Path) -> None:
    before = docked.read_bytes()
    ran = dshloop("loop", "route", "", "standard", "--json")
    assert (ran.code, ran.error["code"]) == (2, "USAGE")
    assert docked.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["loop", "use", "broken"], "LOOP_IMPORT_FAILED"),
        (["loop", "route", "code", "broken"], "LOOP_IMPORT_FAILED"),
        (["loop", "route", "code", "standard+no-driver"], "INVALID_DRIVER"),
        (["driver", "use", "no-driver"], "INVALID_DRIVER"),
    ],
)
def test_what_can_not_be_loaded_is_chosen_only_by_force(
    docked: Path, words: list[str], error: str
) -> None:
    (docked.parent / "loops.yml").write_text(
        "loops: {broken: 'cli_broken:x'}\ndrivers: {no-driver: 'cli_loops:critic'}\n"
    )
    before = docked.read_bytes()
    assert dshloop(*words, "--json").error["code"] == error
    assert docked.read_bytes() == before
    assert dshloop(*words, "--force", "--dry-run").code == 0


def test_by_force_a_driver_is_chosen_beside_a_broken_loops_file(docked: Path) -> None:
    (docked.parent / "loops.yml").write_text("loops: 5\n")
    assert dshloop("driver", "use", "mine", "--json").error["code"] == "LOOPS_FILE_INVALID"
    assert dshloop("driver", "use", "mine", "--force").code == 0


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--max-tokens", "0"], "USAGE"),
        (["--loop", "Bad"], "INVALID_LOOP_ID"),
        (["--driver", "a b"], "INVALID_DRIVER"),
    ],
)
def test_an_option_that_can_not_be_is_a_usage_error(
    docked: Path, words: list[str], error: str
) -> None:
    ran = dshloop("agent", "add", "x", *words, "--json")
    assert (ran.code, ran.error["code"]) == (2, error)


def test_a_second_agent_of_an_id_is_told(docked: Path) -> None:
    ran = dshloop("agent", "add", "first")
    assert ran.code == 0
    assert 'there is an agent "first" already' in ran.err
    assert "already" not in dshloop("agent", "add", "second").err


def test_the_row_that_runs_is_the_one_that_is_edited(docked: Path) -> None:
    docked.write_text(
        "- insert:\n"
        "    - {id: dock, name: dsh-loop-dock, config: {defaultLoop: first}}\n"
        "    - {id: dock, name: dsh-loop-dock, config: {defaultLoop: second}}\n"
        "    - {id: engine, name: dsh-loop-dock/headless-driver, config: {fakeDriver: true}}\n"
    )
    assert dshloop("loop", "explain", "--json").json["loop"] == "second"
    assert dshloop("session", "run", "x", "--json").error["details"]["loop"] == "second"
    assert dshloop("loop", "use", "standard").code == 0
    assert dshloop("session", "run", "x", "--driver", "fake").code == 0
