"""loop list, show, explain, check and demo."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.running import dshloop


def test_without_a_profile_the_built_in_one_is_shown() -> None:
    (loop,) = dshloop("loop", "list", "--json").json
    assert (loop["id"], loop["kind"], loop["from"]) == ("standard", "strategy", "built-in")
    shown = dshloop("loop", "show", "standard", "--json").json
    assert shown["default"] is True
    assert "preset ptc" in shown["routes"]
    assert dshloop("loop", "check").code == 0


def test_loops_of_the_file_are_listed_and_a_broken_one_is_told(docked: Path) -> None:
    (docked.parent / "loops.yml").write_text(
        "loops:\n  critic: cli_loops:critic\n  bad: cli_broken:x\n"
        "  standard: {label: Ours, prompt: Be brief., budget: {steps: 3}}\n"
    )
    ran = dshloop("loop", "list")
    assert ran.code == 0
    assert "A critic" in ran.out
    assert "ValueError: no key" in ran.err
    assert '"standard" of profile' in ran.err
    found = {loop["id"]: loop for loop in dshloop("loop", "list", "--json").json}
    assert found["bad"]["fault"]["code"] == "LOOP_IMPORT_FAILED"
    assert found["standard"]["shadows"] == [{"from": "built-in", "where": "dshloop"}]
    assert found["standard"]["does"]["budget"] == {"steps": 3}
    assert dshloop("loop", "show", "critc").code == 3
    assert "Did you mean" in dshloop("loop", "show", "critc").err
    assert "loops.yml:4" in dshloop("loop", "show", "standard").out


def test_explain_shows_every_candidate_in_order(docked: Path) -> None:
    found = dshloop("loop", "explain", "--preset", "code", "--driver", "fake", "--json").json
    assert {"loop", "driver", "source", "driver_source", "candidates"} <= found.keys()
    assert (found["loop"], found["source"]) == ("standard", "preset")
    assert (found["driver"], found["driver_source"]) == ("fake-driver", "explicit")
    won = [(one["dimension"], one["from"]) for one in found["candidates"] if one["won"]]
    assert won == [("loop", "preset route"), ("driver", "explicit")]
    places = {
        one["from"]: one["where"] for one in found["candidates"] if one["dimension"] == "loop"
    }
    assert places["preset route"] == f"{docked}:7 (presetLoops.code)"
    assert "conflict" not in found
    ping = dshloop("loop", "explain", "--driver", "ping", "--json").json
    assert (ping["driver"], ping.get("conflict")) == ("default", None)
    text = dshloop("loop", "explain").out
    assert text.startswith("loop    standard  (default)\ndriver  default  (config)\n")


def test_explain_names_the_conflict_and_what_mends_it(docked: Path) -> None:
    docked.write_text(docked.read_text().replace("fakeDriver: true", "fakeDriver: 'true'"))
    found = dshloop("loop", "explain", "--driver", "fake-driver", "--json").json
    assert found["conflict"]["code"] == "MISSING_DRIVER"
    assert "dshloop profile set engine.fakeDriver true" in found["conflict"]["hint"]
    (finding,) = dshloop("loop", "check", "--json").json
    assert (finding["code"], finding["severity"]) == ("FAKE_DRIVER_OFF", "warning")


def test_a_loop_of_a_javascript_row_is_named(docked: Path) -> None:
    text = docked.read_text() + "    - {id: pack, name: their-pack, config: {loopId: theirs}}\n"
    docked.write_text(text.replace("{code: standard}", "{code: theirs}"))
    found = dshloop("loop", "explain", "--preset", "code", "--json").json
    assert found["conflict"]["code"] == "UNKNOWN_LOOP"
    assert "row pack (their-pack) registers it" in found["conflict"]["hint"]
    assert "--driver dsh" in found["conflict"]["hint"]
    ran = dshloop("session", "run", "hi", "--preset", "code", "--driver", "fake", "--json")
    assert (ran.code, ran.error["hint"]) == (3, found["conflict"]["hint"])
    asked = dshloop("loop", "explain", "--loop", "theirs", "--json").json
    assert "row pack (their-pack) registers it" in asked["conflict"]["hint"]
    ran = dshloop("loop", "check", "--json")
    assert ran.code == 0
    assert [one["code"] for one in ran.json] == ["FOREIGN_LOOP"]
    routed = dshloop("loop", "route", "minimal", "theirs")
    assert routed.code == 0
    assert "--driver dsh" in routed.err


def test_check_finds_what_is_wrong_with_its_line(docked: Path) -> None:
    docked.write_text(
        docked.read_text()
        .replace("{code: standard}", "{code: standrad}")
        .replace("agents:", "agnets: 1\n        agents:")
        .replace("id: first", "{id: first, driver: nobody}")
    )
    (docked.parent / "loops.yml").write_text("loops:\n  a: {driver: nobody}\n")
    ran = dshloop("loop", "check", "--json")
    assert ran.code == 1
    found = {one["path"]: one for one in ran.json}
    assert found["agnets"]["code"] == "UNKNOWN_KEY"
    assert found["agnets"]["line"] == 8
    assert found["presetLoops.code.loop"]["line"] == 7
    assert 'Did you mean "standard"?' in found["presetLoops.code.loop"]["hint"]
    assert found["agents[0].driver"]["file"] == str(docked)
    assert found["a.driver"]["code"] == "UNKNOWN_DRIVER"


def test_a_config_that_can_not_be_used_is_one_finding_and_explain_refuses(docked: Path) -> None:
    docked.write_text(docked.read_text().replace("{code: standard}", "[1]"))
    ran = dshloop("loop", "check", "--json")
    assert ran.code == 1
    assert [(one["code"], one["line"]) for one in ran.json] == [("INVALID_CONFIG", 7)]
    assert dshloop("loop", "explain", "--json").error["code"] == "INVALID_CONFIG"
    assert dshloop("loop", "list").code == 0


@pytest.mark.parametrize(
    ("old", "new", "path", "line"),
    [
        ("{code: standard}", "!!js process.env.ROUTES", "presetLoops", 7),
        (
            "config:\n        defaultLoop",
            "config: !!js c\n      other:\n        defaultLoop",
            "",
            5,
        ),
        ("id: first", "{id: first, model: !!js m}", "agents[0].model", 9),
        ("{fakeDriver: true}", "{maxParallelToolCalls: !!js n}", "maxParallelToolCalls", 10),
        ("{fakeDriver: true}", "{fakeDriver: !!js 'true'}", "fakeDriver", 10),
        ("{fakeDriver: true}", "{maxParallelToolCalls: 0}", "maxParallelToolCalls", 10),
        ("{fakeDriver: true}", "[1]", "", 10),
    ],
)
def test_a_config_that_can_not_be_known_here_binds_no_session(
    docked: Path, old: str, new: str, path: str, line: int
) -> None:
    docked.write_text(docked.read_text().replace(old, new))
    ran = dshloop("loop", "check", "--json")
    assert ran.code == 1
    (finding,) = ran.json
    assert (finding["code"], finding["path"]) == ("INVALID_CONFIG", path)
    assert (finding["file"], finding["line"]) == (str(docked), line)
    commands = (
        ("loop", "explain"),
        ("session", "run", "hi", "--driver", "fake", "--session-id", "s1"),
        ("agent", "start"),
    )
    for words in commands:
        refused = dshloop(*words, "--json")
        assert (refused.code, refused.error["code"]) == (1, "INVALID_CONFIG"), words
        assert f"{docked}:{line}" in refused.error["message"], words
        assert refused.error["details"]["line"] == line
        assert ("JavaScript" in refused.error["message"]) == ("!!js" in new)
    assert dshloop("session", "show", "s1").code == 3


def test_a_wrong_loops_file_is_one_clear_error(docked: Path) -> None:
    (docked.parent / "loops.yml").write_text("loops:\n  a: {promt: x}\n")
    error = dshloop("loop", "list", "--json").error
    assert error["code"] == "LOOPS_FILE_INVALID"
    assert error["details"]["line"] == 2
    assert 'Did you mean "prompt"?' in error["hint"]


def test_settings_decide_and_what_they_say_wrong_is_found() -> None:
    settings = Path(os.environ["DSH_HOME"]) / "settings.yaml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("# mine\nagent-loops:\n  defaultDriver: nobody\n")
    found = dshloop("loop", "explain", "--json").json
    assert found["conflict"]["details"]["origin"] == "settings"
    ran = dshloop("loop", "check", "--json")
    assert ran.code == 1
    assert (ran.json[0]["code"], ran.json[0]["line"]) == ("UNKNOWN_DRIVER", 3)


def test_a_dock_row_without_an_engine_row_has_only_drivers_of_other_programs(docked: Path) -> None:
    text = docked.read_text()
    docked.write_text(text[: text.index("    - {id: engine")])
    ran = dshloop("driver", "list", "--json")
    assert [one["name"] for one in ran.json] == ["acp", "dsh"]
    found = dshloop("loop", "explain", "--json").json
    assert found["conflict"]["code"] == "MISSING_DRIVER"
    assert dshloop("session", "run", "hi", "--driver", "fake", "--json").error["code"] == (
        "MISSING_DRIVER"
    )


def test_settings_that_are_no_yaml_are_named(docked: Path) -> None:
    settings = Path(os.environ["DSH_HOME"]) / "settings.yaml"
    settings.write_text("x: [\n")
    assert dshloop("driver", "list").code == 0
    assert [one["code"] for one in dshloop("loop", "check", "--json").json] == ["DSH_YAML_INVALID"]
    ran = dshloop("driver", "use", "fake-driver", "--json")
    assert (ran.code, ran.error["code"]) == (1, "DSH_YAML_INVALID")
    assert str(settings) in ran.error["message"]
    assert settings.read_text() == "x: [\n"


def test_resume_counts_what_the_log_records() -> None:
    ran = dshloop("session", "run", "hi", "--driver", "fake", "--session-id", "s1")
    assert ran.code == 0
    found = dshloop("loop", "explain", "--resume", "--session", "s1", "--json").json
    assert found["recorded"] is True
    assert (found["driver"], found["driver_source"]) == ("fake-driver", "persisted")
    asked = ("loop", "explain", "--resume", "--session", "s1", "--driver", "default", "--json")
    assert dshloop(*asked).json["conflict"]["code"] == "LOOP_SWITCH"
    assert dshloop("loop", "explain", "--resume", "--session", "nope").code == 3
    assert dshloop("loop", "explain", "--resume", "--preset", "code").code == 2


def test_a_route_that_stands_in_a_sessions_way_is_removed_as_the_hint_says(docked: Path) -> None:
    assert dshloop("session", "run", "hi", "--driver", "fake", "--session-id", "s1").code == 0
    assert dshloop("loop", "route", "s1", "standard+default", "--session").code == 0
    (log,) = Path(os.environ["DSHLOOP_DATA"]).rglob("session.jsonl")
    before = log.read_bytes()
    refused = dshloop("session", "run", "hi", "--resume", "s1", "--json")
    assert (refused.code, refused.error["code"]) == (4, "LOOP_SWITCH")
    about = ("session", "field", "stored", "requested", "requested_by", "stored_by")
    assert [refused.error["details"][name] for name in about] == [
        "s1", "driver", "fake-driver", "default", "route", "binding",
    ]  # fmt: skip
    assert log.read_bytes() == before
    assert "dshloop loop unroute s1 --session" in refused.error["hint"]
    assert dshloop("loop", "unroute", "s1", "--session").code == 0
    assert dshloop("session", "run", "hi", "--resume", "s1").code == 0


def test_a_log_that_can_not_be_read_is_refused() -> None:
    dshloop("session", "run", "hi", "--driver", "fake", "--session-id", "s1")
    (log,) = Path(os.environ["DSHLOOP_DATA"]).rglob("session.jsonl")
    lines = log.read_bytes().split(b"\n")
    lines[3] = b"{"
    log.write_bytes(b"\n".join(lines))
    ran = dshloop("loop", "explain", "--resume", "--session", "s1", "--json")
    assert ran.code == 4
    assert ran.error["code"] == "SESSION_UNREADABLE"
    assert log.read_bytes() == b"\n".join(lines)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "two-strategies",
            [
                "create agent-a -> loop standard",
                "setup standard",
                "create agent-b -> loop loop-b",
                "setup loop-b",
                "",
                "Two agents, one dock, two different loops.",
            ],
        ),
        (
            "two-drivers",
            [
                '[loop-x] create agent "agent-a" on loop-x',
                '[loop-y] create agent "agent-b" on loop-y',
                "",
                "agent-a ran on: loop-x",
                "agent-b ran on: loop-y",
                "",
                "Two agents, two different loops, one dock.",
            ],
        ),
    ],
)
def test_the_demos_tell_which_loop_each_agent_ran_on(name: str, lines: list[str]) -> None:
    ran = dshloop("loop", "demo", name)
    assert ran.code == 0
    assert ran.out.splitlines() == lines
    assert dshloop("loop", "demo", name, "--json").json == {"demo": name, "lines": lines}


def test_a_demo_there_is_none_of_is_a_usage_error() -> None:
    assert dshloop("loop", "demo", "three").code == 2


def test_the_metadata_of_packages_is_read_only_where_one_offers_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("importlib.metadata.distributions", None)
        assert dshloop("loop", "explain").code == 0
        assert dshloop("loop", "list").code == 0
        assert dshloop("driver", "use", "fake-driver").code == 0
        assert dshloop("session", "run", "hi", "--driver", "fake").code == 0
    info = tmp_path / "site" / "pack-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pack\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[dshloop.loops]\ntheirs = cli_loops:critic\n")
    assert dshloop("loop", "explain", "--loop", "theirs", "--json").json["loop"] == "theirs"
    assert "theirs" in dshloop("loop", "list").out
    assert dshloop("loop", "show", "theirs", "--json").json["where"] == "pack"


def test_check_finds_presets_and_events_that_nobody_has(docked: Path) -> None:
    text = (
        "loops:\n  a: {presets: nopreset, hooks: {agent/prestep: cli_loops:setup}}\n"
        "  b: {hooks: {of/mine: cli_loops:setup, agent/request: cli_loops:setup}}\n"
        "  c: {presets: [minimal, ptc], hooks: {agent/status: 'json:__doc__'}}\n"
    )
    (docked.parent / "loops.yml").write_text(text)
    ran = dshloop("loop", "check", "--json")
    found = {one["path"]: one for one in ran.json}
    assert ran.code == 1
    assert found["a.presets"]["code"] == "PRESET_NOT_FOUND"
    event = found["a.hooks.agent/prestep"]
    assert (event["severity"], event["line"]) == ("error", 2)
    assert event["hint"] == 'Did you mean "agent/pre-step"?'
    assert found["b.hooks.of/mine"]["severity"] == "warning"
    assert "json:__doc__ is str" in found["c"]["message"]
    assert not [path for path in found if path.startswith(("c.", "b.hooks.agent"))]


@pytest.mark.parametrize("broken", [b"agent-loops: [", b"\xff\xfe\x00"])
def test_settings_that_can_not_be_read_are_told(docked: Path, broken: bytes) -> None:
    settings = Path(os.environ["DSH_HOME"]) / "settings.yaml"
    settings.write_bytes(broken)
    said = "the settings can't be read, so the config's default driver counts"
    docked.write_text(
        docked.read_text().replace(
            "standard # keep", "standard\n        defaultDriver: fake-driver"
        )
    )
    for words in (["loop", "explain"], ["driver", "list"], ["session", "run", "hi"]):
        ran = dshloop(*words)
        assert ran.code == 0, words
        assert said in ran.err
        assert str(settings) in ran.err


def test_lines_in_keys_and_labels_break_no_table(docked: Path) -> None:
    (docked.parent / "loops.yml").write_text('loops: {a: {label: "one\\ntwo", prompt: "x\\ny"}}')
    docked.write_text(docked.read_text().replace("{code: standard}", '{"a\\nb": a}'))
    shown = dshloop("loop", "show", "a").out.splitlines()
    assert "label   one two" in shown
    assert "routes  preset a b" in shown
    lines = dshloop("loop", "explain", "--preset", "a\nb").out.splitlines()
    assert all(line[:1] in ("", " ", "*") for line in lines[3:])
    assert any(line.endswith("loops.yml:1") for line in lines if "strategy" in line)
    builtin = dshloop("loop", "explain").out.splitlines()
    assert any(line.endswith("built-in (dshloop)") for line in builtin if "strategy" in line)


def test_rows_that_only_dsh_can_run_are_listed_as_such(docked: Path) -> None:
    more = (
        "    - {id: theirs, name: their-plugin}\n"
        "    - {id: ours, name: dshloop/prompt, config: {text: x}}\n"
        "    - {id: script, name: dsh-loop-dock/headless-driver, config: {a: !!js 1}}\n"
        "    - {id: out, name: dsh-loop-dock, disabled: true}\n"
    )
    docked.write_text(docked.read_text() + more)
    rows = {row["id"]: row["runs_in"] for row in dshloop("profile", "row", "list", "--json").json}
    both = ["dsh", "dshloop"]
    assert rows == {
        "dock": both,
        "engine": both,
        "theirs": ["dsh"],
        "ours": ["dshloop"],
        "script": ["dsh"],
        "out": [],
    }
    lines = [line.split() for line in dshloop("profile", "row", "list").out.splitlines()]
    assert ["dock", "dsh-loop-dock", "on", "dsh,", "dshloop", str(docked)] in lines
    assert ["theirs", "their-plugin", "on", "dsh", str(docked)] in lines


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ("{id: two, name: dsh-loop-dock}", "AGENT_FACTORY_TAKEN"),
        ("{id: two, name: dsh-loop-dock/headless-driver}", "DUPLICATE_DRIVER"),
    ],
)
def test_check_finds_a_second_row_that_no_run_starts_with(
    docked: Path, row: str, code: str
) -> None:
    docked.write_text(f"{docked.read_text()}    - {row}\n")
    [found] = dshloop("loop", "check", "--json").json
    assert (found["code"], found["severity"], found["line"]) == (code, "error", 11)
    assert dshloop("session", "run", "x", "--json").error["code"] == code
    docked.write_text(docked.read_text().replace("{id: two", "{id: two, disabled: true"))
    assert dshloop("loop", "check", "--json").json == []
    assert dshloop("session", "run", "x", "--driver", "fake").code == 0


def test_check_finds_a_mistyped_key_of_the_engine_row(docked: Path) -> None:
    text = docked.read_text()
    docked.write_text(text.replace("fakeDriver: true", "fakedriver: true, systemPrompt: x"))
    found = dshloop("loop", "check", "--json").json
    assert [(one["code"], one["path"]) for one in found if one["line"] == 10] == [
        ("UNKNOWN_KEY", "fakedriver")
    ]
    assert found[-1]["hint"] == 'Did you mean "fakeDriver"?'


def test_unknown_keys_are_found_in_a_config_that_can_not_be_used(docked: Path) -> None:
    text = docked.read_text().replace("{code: standard}", "[]\n        sesionLoops: {}")
    docked.write_text(text)
    found = {one["path"]: one["code"] for one in dshloop("loop", "check", "--json").json}
    assert found == {"presetLoops": "INVALID_CONFIG", "sesionLoops": "UNKNOWN_KEY"}


@pytest.mark.parametrize("text", ["agent-loops: 5\n", "- agent-loops\n"])
def test_settings_of_another_shape_are_told(docked: Path, text: str) -> None:
    settings = Path(os.environ["DSH_HOME"]) / "settings.yaml"
    settings.write_text(text)
    assert "the settings can't be read" in dshloop("driver", "list").err
    assert [one["code"] for one in dshloop("loop", "check", "--json").json] == ["SETTINGS_INVALID"]
    error = dshloop("driver", "use", "fake-driver", "--json").error
    assert error["code"] == "SPLICE_REFUSED"
    assert error["message"].count(str(settings)) == 1


def test_a_default_driver_that_nobody_has_is_told_in_the_list(docked: Path) -> None:
    settings = Path(os.environ["DSH_HOME"]) / "settings.yaml"
    settings.write_text("agent-loops: {defaultDriver: nobody}\n")
    assert 'the default driver "nobody" is not registered' in dshloop("driver", "list").err
    settings.unlink()
    assert "not registered" not in dshloop("driver", "list").err


def test_a_stored_session_is_pointed_to_its_resume(docked: Path) -> None:
    assert dshloop("session", "run", "x", "--driver", "fake", "--session-id", "s").code == 0
    assert "with --resume" in dshloop("loop", "explain", "--session", "s").out
    assert "with --resume" in dshloop("loop", "explain", "--session", "last").out
    assert dshloop("loop", "explain", "--session", "t", "--json").json["notices"] == []


def test_a_route_there_is_none_of_names_where_it_would_be(docked: Path) -> None:
    found = dshloop("loop", "explain", "--preset", "none", "--json").json["candidates"]
    assert found[2]["where"] == f"{docked}:7 (presetLoops)"
