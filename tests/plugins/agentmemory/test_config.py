"""The keys of the row, its secret, and which project a session belongs to."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dshloop.cli.row_schemas import ROW_SCHEMAS
from dshloop.errors import BridgeSecretError
from dshloop.host.rows import ABSENT
from dshloop.plugins.agentmemory.config import KEYS, BridgeConfig, read_bridge_config
from dshloop.plugins.agentmemory.project import project_of
from dshloop.plugins.agentmemory.secret import Secret, resolve

WHOLE = {
    "curlTimeoutMs": 60_000,
    "observeBatchLimit": 200,
    "maxContentChars": 100_000,
    "maxArgsChars": 50_000,
    "injectContextMaxChars": 200_000,
    "injectSemanticMaxResults": 50,
    "injectSemanticMaxChars": 100_000,
}


def test_there_are_seventeen_keys_of_dsh_and_four_of_ours() -> None:
    assert len(KEYS) == 21
    assert KEYS[17:] == ("store", "readOnly", "isolateAgent", "allowInsecureHttp")


def test_the_manual_and_profile_check_know_all_keys() -> None:
    manual = (Path(__file__).parents[3] / "docs" / "agentmemory.md").read_text(encoding="utf-8")
    for key in KEYS:
        assert f"| `{key}` |" in manual
    assert set(KEYS) == set(ROW_SCHEMAS["dsh-agentmemory"]["properties"])


@pytest.mark.parametrize("raw", [ABSENT, None, {}, {"unknown": 1, "enabled": None}])
def test_what_is_left_out_is_the_default_and_other_keys_pass(raw: Any) -> None:
    assert read_bridge_config(raw) == BridgeConfig()


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"curlTimeoutMs": -5}, "$.curlTimeoutMs expected number >= 1 but got -5"),
        ({"curlTimeoutMs": 60001}, "$.curlTimeoutMs expected number <= 60000 but got 60001"),
        ({"curlTimeoutMs": "4000"}, "$.curlTimeoutMs expected number but got 4000"),
        ({"curlTimeoutMs": True}, "$.curlTimeoutMs expected number but got true"),
        ({"curlTimeoutMs": 1.5}, "$.curlTimeoutMs expected whole number but got 1.5"),
        ({"curlTimeoutMs": float("nan")}, "$.curlTimeoutMs expected whole number but got NaN"),
        ({"enabled": "yes"}, "$.enabled expected boolean but got yes"),
        ({"baseUrl": 5}, "$.baseUrl expected string but got 5"),
        ({"store": "cloud"}, "$.store expected daemon or local but got cloud"),
        ("x", "expected object but got x"),
        ([], "expected object but got []"),
    ],
)
def test_what_is_wrong_is_named(raw: Any, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        read_bridge_config(raw)


@pytest.mark.parametrize(("key", "most"), WHOLE.items())
def test_numbers_have_ranges(key: str, most: int) -> None:
    for value in (1, most, float(most)):
        config = read_bridge_config({key: value})
        assert value in [getattr(config, name) for name in BridgeConfig.__slots__]  # type: ignore[attr-defined]
    for value in (0, most + 1):
        with pytest.raises(ValueError, match=rf"^\$\.{key} expected number [<>]= \d+ but got"):
            read_bridge_config({key: value})


def test_a_secret_says_where_it_is_from_and_never_what_it_is() -> None:
    variables = {"TOKEN": "hush-hush"}
    found = resolve("${TOKEN}", variables)
    assert (found.value, found.target) == ("hush-hush", {"variable": "TOKEN"})
    plain = resolve("hush-hush", variables)
    assert (plain.value, plain.target) == ("hush-hush", {"row": "dsh-agentmemory"})
    assert "hush-hush" not in f"{found!r} {plain!r}"
    assert Secret().target is None
    for written in ("${TOKEN", "a${TOKEN}", "${TOKEN} ", "${TO-KEN}", "$TOKEN"):
        assert resolve(written, variables).value == written
    with pytest.raises(BridgeSecretError, match=r"^a: b \}$"):
        resolve("${NO:?a: b }}", variables)


@pytest.mark.parametrize(
    ("cwd", "project"),
    [
        (None, "DSH"),
        ("", "DSH"),
        ("/", "DSH"),
        ("/nowhere/at/all/shop/", "shop"),
        (r"C:\Users\me\shop", "shop"),
        ("relative/shop", "shop"),
        ("/nowhere/with\0nul", "with\0nul"),
    ],
)
def test_a_project_is_the_last_part_of_a_folder_that_is_not_here(
    cwd: str | None, project: str
) -> None:
    assert project_of({}, cwd) == project
    assert project_of({"AGENTMEMORY_PROJECT_NAME": " named "}, cwd) == "named"


def test_a_project_is_the_git_top_level(tmp_path: Path) -> None:
    top, below = tmp_path / "top", tmp_path / "top" / "a" / "b"
    below.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    assert project_of({}, str(below)) == "top"
    alone = tmp_path / "alone"
    alone.mkdir()
    assert project_of({}, str(alone)) == "alone"


@pytest.mark.parametrize("secret", [["a-secret"], {"value": "a-secret"}, 12345, True])
def test_a_secret_of_another_type_is_not_shown(secret: Any) -> None:
    with pytest.raises(ValueError, match=r"\$\.secret expected string but got \[") as told:
        read_bridge_config({"secret": secret})
    assert "a-secret" not in str(told.value)
    assert "12345" not in str(told.value)
