"""`dshloop provider list | test` as a user runs them; no key is ever shown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.fake_model import fake_model
from tests.http.server import Said, in_turn, serving
from tests.running import Ran, dshloop

KEY = "this-is-the-key-of-the-tests"


def configured(text: str) -> None:
    folder = Path(os.environ["DSHLOOP_CONFIG"])
    folder.mkdir(exist_ok=True)
    (folder / "config.yml").write_text(text)


def stored(text: str, mode: int = 0o600) -> None:
    folder = Path(os.environ["DSH_HOME"])
    folder.mkdir(exist_ok=True)
    path = folder / ".credentials.yaml"
    path.write_text(text)
    path.chmod(mode)


def shown(*words: str, variables: Mapping[str, str] | None = None) -> Ran:
    ran = dshloop("provider", *words, variables=variables)
    assert KEY not in ran.out + ran.err
    return ran


def test_the_list_says_where_each_key_is_from() -> None:
    stored(f"version: 1\nrefs: {{ANTHROPIC_API_KEY: {KEY}}}\n")
    configured(
        "model: mine/m\n"
        "providers:\n  mine: {kind: openai, url: 'http://127.0.0.1:1/v1', models: [m, n]}\n"
    )
    ran = shown("list", "--json", variables={"OPENAI_API_KEY": KEY})
    assert ran.code == 0
    found = {one["name"]: one for one in ran.json}
    assert list(found) == ["mine", "deepseek", "openai", "anthropic"]
    assert found["mine"] == {
        "name": "mine",
        "kind": "openai",
        "url": "http://127.0.0.1:1/v1",
        "from": "config.yml",
        "models": ["m", "n"],
        "key": {"state": "not needed", "from": None, "variable": None},
        "default": "m",
    }
    states = {name: (one["key"]["state"], one["key"]["from"]) for name, one in found.items()}
    assert states["deepseek"] == ("missing", None)
    assert states["openai"] == ("set", "$OPENAI_API_KEY")
    assert states["anthropic"][0] == "set"
    assert states["anthropic"][1].endswith(".credentials.yaml")
    table = shown("list", variables={"OPENAI_API_KEY": KEY}).out
    assert "mine (default)" in table
    assert "missing ($DEEPSEEK_API_KEY)" in table


def test_a_file_of_keys_that_others_can_read_is_a_warning() -> None:
    stored(f"version: 1\nrefs: {{OPENAI_API_KEY: {KEY}}}\n", mode=0o644)
    ran = shown("list")
    assert ran.code == 0
    assert ran.err.count("can be read by others") == 1
    assert "chmod 600" in ran.err


def test_a_mistake_in_config_yml_is_named() -> None:
    configured("providers:\n  mine:\n    kind: openai\n    api_key: x\n    url: http://x\n")
    ran = shown("list", "--json")
    assert (ran.code, ran.error["code"]) == (1, "CONFIG_INVALID")
    assert ran.error["details"]["line"] == 4
    assert "key_variable" in ran.error["hint"]


@pytest.mark.parametrize("name", ["deepseek", "openai"])
def test_a_provider_that_answers(name: str, tmp_path: Path) -> None:
    with fake_model(tmp_path, [{"text": "unused"}]) as model:
        upper = name.upper()
        variables = {f"{upper}_API_KEY": KEY, f"{upper}_BASE_URL": model.url}
        ran = shown("test", name, "--model", "some", "--json", variables=variables)
        (asked,) = model.asked
    assert ran.code == 0
    assert (ran.json["provider"], ran.json["model"], ran.json["text"]) == (name, "some", "side")
    assert 0 < ran.json["first_ms"] <= ran.json["whole_ms"]
    assert asked["body"]["model"] == "some"
    assert "tools" not in asked["body"]


def test_one_that_is_not_there_is_unreachable() -> None:
    configured("providers:\n  mine: {kind: openai, url: 'http://127.0.0.1:1', models: [m]}\n")
    ran = shown("test", "mine", "--json")
    assert (ran.code, ran.error["code"]) == (5, "PROVIDER_UNREACHABLE")
    assert ran.error["details"]["failure"]["code"] == "TRANSPORT"


def test_one_that_does_not_take_the_key_has_failed() -> None:
    body = {"error": {"message": f"bad key {KEY}", "code": "invalid_api_key"}}
    with serving(in_turn(Said(401, body))) as server:
        variables = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url}
        ran = shown("test", "openai", "--json", variables=variables)
    assert (ran.code, ran.error["code"]) == (1, "PROVIDER_REFUSED")
    assert ran.error["details"]["failure"]["code"] == "AUTH"
    assert "OPENAI_API_KEY" in ran.error["hint"]


def test_without_a_key_the_variable_is_named() -> None:
    ran = shown("test", "deepseek")
    assert ran.code == 1
    assert "MISSING_CREDENTIAL" in ran.err
    assert "export DEEPSEEK_API_KEY=" in ran.err


def test_the_default_driver_shows_which_model_it_asks() -> None:
    assert "none is set up" in dshloop("driver", "show", "default").out
    configured("model: openai/some\n")
    assert dshloop("driver", "show", "default", "--json").json["model"] == "openai/some"
    assert dshloop("driver", "show", "fake-driver", "--json").json["model"] is None


def test_names_that_mean_nothing() -> None:
    assert shown("test", "depseek", "--json").error["code"] == "UNKNOWN_PROVIDER"
    configured("providers:\n  mine: {kind: openai, url: 'http://127.0.0.1:1'}\n")
    ran = shown("test", "mine", "--json")
    assert (ran.code, ran.error["code"]) == (2, "MODEL_NOT_NAMED")
