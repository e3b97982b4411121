"""`dshloop session replay` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.drivers.dsh import Dsh
from tests.drivers.engines import Stage
from tests.running import dshloop

SAMPLES = sorted((Path(__file__).parents[2] / "data" / "sessions").glob("*.session.*"))
FAKE = ("session", "run", "--driver", "fake")


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_logs_of_dsh_are_played(sample: Path, isolated: Path) -> None:
    before = sample.read_bytes()
    ran = dshloop("session", "replay", str(sample), "--recorded", "--assert", "--json")
    assert (ran.code, ran.json["differences"]) == (0, [])
    assert ran.json["turns"] == 1
    assert sample.read_bytes() == before
    assert not (isolated / "data").exists()


def test_nothing_differs_on_the_same_driver() -> None:
    dshloop(*FAKE, "--session-id", "s", "one")
    dshloop("session", "run", "--resume", "s", "two")
    ran = dshloop("session", "replay", "s", "--assert")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "s on standard on fake-driver, new answers: 2 turns, 13 events, nothing differs\n"
    )


def test_what_requests_are_made_with_changes_where_it_did() -> None:
    dshloop(*FAKE, "--session-id", "s", "one")
    for more in (("--seed", "3", "two"), ("three",)):
        dshloop("session", "run", "--resume", "s", *more)
    ran = dshloop("session", "replay", "s", "--recorded", "--assert", "--json")
    assert (ran.code, ran.json["differences"]) == (0, [])


@pytest.mark.parametrize("driver", ["fake", "ping"])
def test_drivers_without_a_model_play_what_was_recorded(driver: str) -> None:
    dshloop(*FAKE, "--session-id", "s", "one")
    ran = dshloop("session", "replay", "s", "--recorded", "--driver", driver, "--json")
    assert ran.code == 0, ran.err
    assert {each["type"] for each in ran.json["differences"]} <= {
        "request/header", "assistant/message",
    }  # fmt: skip
    changed = [change["path"] for each in ran.json["differences"] for change in each["changes"]]
    assert "message.content[0].text" not in changed


def test_another_driver_says_something_else() -> None:
    dshloop(*FAKE, "--session-id", "s", "one")
    ran = dshloop("session", "replay", "s", "--driver", "ping")
    assert ran.code == 0
    assert "~ assistant/message" in ran.out
    assert "loop-ping" in ran.out
    asserted = dshloop("session", "replay", "s", "--driver", "ping", "--assert", "--json")
    assert (asserted.code, asserted.json["same"]) == (1, False)
    paths = [change["path"] for each in asserted.json["differences"] for change in each["changes"]]
    assert "message.content[0].text" in paths


def test_what_a_loop_adds_is_found(isolated: Path) -> None:
    assert dshloop("profile", "create", "p", "--template", "empty").code == 0
    folder = isolated / "dsh" / "profiles" / "p"
    (folder / "loops.yml").write_text("loops:\n  careful:\n    prompt: Be careful.\n")
    dshloop(*FAKE, "--profile", "p", "--session-id", "s", "one")
    replay = ("session", "replay", "s", "--profile", "p", "--recorded", "--assert", "--json")
    assert dshloop(*replay).code == 0
    ran = dshloop(*replay, "--loop", "careful")
    assert ran.code == 1
    (found,) = ran.json["differences"]
    assert (found["type"], found["changes"][0]["path"]) == ("request/header", "system")
    assert "Be careful." in found["changes"][0]["replayed"]


def test_a_replay_can_be_kept() -> None:
    dshloop(*FAKE, "--session-id", "s", "one")
    ran = dshloop("session", "replay", "s", "--keep", "--json")
    kept = ran.json["kept"]["id"]
    assert {row["id"] for row in dshloop("session", "list", "--json").json} == {"s", kept}
    assert dshloop("session", "fsck", kept).code == 0
    again = dshloop("session", "replay", "s", "--json")
    assert again.json["kept"] is None
    assert len(dshloop("session", "list", "--json").json) == 2


@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (["nope"], 3, "SESSION_NOT_FOUND"),
        (["s", "--loop", "nope"], 3, "UNKNOWN_LOOP"),
        (["s", "--recorded", "--driver", "dsh"], 4, "REPLAY_REFUSED"),
        (["s", "--recorded", "--driver", "acp"], 4, "REPLAY_REFUSED"),
    ],
)
def test_what_cannot_be_played(words: list[str], code: int, name: str) -> None:
    dshloop(*FAKE, "--session-id", "s", "one")
    ran = dshloop("session", "replay", "--json", *words)
    assert (ran.code, ran.out, ran.error["code"]) == (code, "", name)


@pytest.mark.parametrize(
    "words", [("--driver", "dsh"), ("--driver", "acp", "--command", "dsh --profile acp")]
)
def test_sessions_of_other_engines_are_played_on_ours(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Stage(tmp_path, Dsh)
    made.plan()
    for name in ("PATH", "ENGINE_PLAN", "ENGINE_ASKED"):
        monkeypatch.setenv(name, made.settings.variables[name])
    assert dshloop("session", "run", *words, "--session-id", "s", "hi").code == 0
    asked = len(made.methods())
    ran = dshloop("session", "replay", "s", "--recorded", "--assert", "--json")
    assert (ran.code, ran.json["differences"]) == (0, [])
    assert (ran.json["driver"], len(made.methods())) == ("default", asked)


def test_what_memory_recalled_is_played(tmp_path: Path) -> None:
    assert dshloop("memory", "remember", "We deploy on Fridays", cwd=tmp_path).code == 0
    ran = dshloop(*FAKE, "--memory", "--session-id", "s", "When do we deploy?", cwd=tmp_path)
    assert ran.code == 0
    assert "We deploy on Fridays" in dshloop("session", "show", "s").out
    assert dshloop("session", "replay", "s", "--recorded", "--assert").code == 0
    live = dshloop("session", "replay", "s", "--json")
    assert [each["type"] for each in live.json["differences"]] == ["user/message"]


def test_what_is_whole_of_a_damaged_log_is_played() -> None:
    dshloop(*FAKE, "--session-id", "s", "one")
    log = Path(dshloop("session", "show", "s", "--json").json["path"])
    log.write_bytes(log.read_bytes() + b'{"type": "turn/sta')
    ran = dshloop("session", "replay", "s", "--recorded", "--assert")
    assert ran.code == 0
    assert "nothing differs" in ran.out
    assert ran.err != ""
