"""`dshloop config` and `dshloop doctor` as a user runs them."""

from __future__ import annotations

import os
from pathlib import Path

from tests.running import dshloop


def config_file() -> Path:
    return Path(os.environ["DSHLOOP_CONFIG"]) / "config.yml"


def test_set_get_list_unset() -> None:
    assert dshloop("config", "set", "profile", "web").code == 0
    assert dshloop("config", "get", "profile").out == "web\n"
    listed = {row["key"]: row["value"] for row in dshloop("config", "list", "--json").json}
    assert listed["profile"] == "web"
    assert dshloop("config", "unset", "profile").code == 0
    assert dshloop("config", "get", "profile").out == ""


def test_set_keeps_comments_and_undo_brings_the_bytes_back() -> None:
    config_file().parent.mkdir(parents=True)
    before = b"# mine\r\nprofile: web  # usual\r\n"
    config_file().write_bytes(before)
    dshloop("config", "set", "profile", "acp")
    assert config_file().read_bytes() == before.replace(b"web", b"acp")
    assert dshloop("undo").code == 0
    assert config_file().read_bytes() == before


def test_dry_run_shows_the_diff_and_writes_nothing() -> None:
    ran = dshloop("config", "set", "profile", "web", "--dry-run")
    assert "+profile: web" in ran.out
    assert not config_file().exists()


def test_a_broken_file_is_one_clear_error() -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text("profile: [}\n")
    ran = dshloop("config", "list", "--json")
    assert (ran.code, ran.out) == (1, "")
    assert ran.error["code"] == "CONFIG_INVALID"
    assert ran.error["details"]["line"] == 1


def test_doctor_tells_versions_paths_and_programs() -> None:
    report = dshloop("doctor", "--json").json
    assert report["versions"]["dshloop"]
    paths = {item["name"]: item for item in report["paths"]}
    assert paths["DSH home"]["path"] == os.environ["DSH_HOME"]
    assert paths["memory"]["state"].startswith("missing")
    assert {item["name"] for item in report["programs"]} == {"dsh", "node", "pnpm"}
    assert report["extras"]["dev"] is True


def test_doctor_warns_of_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    ran = dshloop("doctor", "--data-dir", str(blocked / "data"))
    assert ran.code == 0
    assert "can't be written" in ran.err
