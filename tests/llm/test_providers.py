"""Which providers there are, and which one answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from dshloop.config import read_config
from dshloop.errors import (
    ConfigInvalidError,
    MissingCredentialError,
    ModelNotNamedError,
    UnknownProviderError,
)
from dshloop.llm.credentials import Keyring
from dshloop.llm.providers import Model, Providers, read_providers
from dshloop.paths import Places

LOCAL = """\
providers:
  local:
    kind: openai
    url: http://127.0.0.1:1/v1
    models: [small, large]
"""


def providers(
    tmp_path: Path, text: str = "", variables: Mapping[str, str] | None = None
) -> Providers:
    places = Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")
    if text:
        places.config.mkdir(exist_ok=True)
        places.config_file.write_text(text)
    return read_providers(read_config(places), Keyring(variables or {}, places.dsh_home))


def test_three_are_built_in_and_none_can_answer_without_a_key(tmp_path: Path) -> None:
    known = providers(tmp_path)
    assert list(known.known) == ["deepseek", "openai", "anthropic"]
    assert list(known.usable()) == []
    assert known.choose() is None


def test_the_first_with_a_key_answers(tmp_path: Path) -> None:
    known = providers(tmp_path, variables={"OPENAI_API_KEY": "x", "ANTHROPIC_API_KEY": "y"})
    assert known.choose() == Model("openai", "gpt-5")
    known = providers(tmp_path, variables={"DEEPSEEK_API_KEY": "x", "OPENAI_API_KEY": "x"})
    assert known.choose() == Model("deepseek", "deepseek-flash")


def test_what_config_yml_adds_goes_first_and_needs_no_key_unless_it_says_so(tmp_path: Path) -> None:
    known = providers(tmp_path, LOCAL, {"DEEPSEEK_API_KEY": "x"})
    assert known.choose() == Model("local", "small")
    assert known.get("local").dialect == "plain"
    asked = providers(tmp_path, LOCAL + "    key_variable: LOCAL_KEY\n", {"DEEPSEEK_API_KEY": "x"})
    assert asked.choose() == Model("deepseek", "deepseek-flash")
    with pytest.raises(MissingCredentialError) as caught:
        asked.require_key(asked.get("local"))
    assert "LOCAL_KEY" in caught.value.message
    assert "dshloop provider test local" in (caught.value.hint or "")


def test_named_goes_before_earlier_before_configured(tmp_path: Path) -> None:
    known = providers(tmp_path, "model: openai/gpt-9\n" + LOCAL)
    before = Model("anthropic", "claude-x")
    assert known.choose() == Model("openai", "gpt-9")
    assert known.choose(before=before) == before
    assert known.choose("local", before=before) == Model("local", "small")
    assert known.choose("local", "large") == Model("local", "large")
    assert known.choose("anthropic", before=before) == before
    assert known.choose(model="claude-y", before=before) == Model("anthropic", "claude-y")
    assert known.choose("openai") == Model("openai", "gpt-9")
    assert known.choose(model="local/large") == Model("local", "large")
    assert known.choose(model="someone/large") == Model("openai", "someone/large")
    assert known.choose(model="local/") == Model("local", "small")
    assert known.choose(model="/models/large") == Model("openai", "/models/large")


def test_a_model_may_be_configured_by_its_provider_alone(tmp_path: Path) -> None:
    assert providers(tmp_path, "model: anthropic\n").choose() == Model(
        "anthropic", "claude-sonnet-4-5"
    )


def test_names_that_mean_nothing_are_refused(tmp_path: Path) -> None:
    known = providers(tmp_path, LOCAL.replace("[small, large]", "[]"))
    with pytest.raises(UnknownProviderError) as caught:
        known.choose("deepsek")
    assert caught.value.hint == 'Did you mean "deepseek"?'
    with pytest.raises(ModelNotNamedError):
        known.choose("local")


def test_dsh_calls_deepseek_by_another_name(tmp_path: Path) -> None:
    assert providers(tmp_path).get("deepseek-official").name == "deepseek"


def test_variables_move_a_built_in_and_change_time_outs(tmp_path: Path) -> None:
    known = providers(
        tmp_path,
        variables={
            "DEEPSEEK_BASE_URL": "http://127.0.0.1:9",
            "DSHLOOP_CONNECT_TIMEOUT": "1.5",
            "DSHLOOP_IDLE_TIMEOUT": "never",
        },
    )
    deepseek = known.get("deepseek")
    assert (deepseek.url, deepseek.origin) == ("http://127.0.0.1:9", "$DEEPSEEK_BASE_URL")
    assert deepseek.dialect == "deepseek"
    assert (deepseek.connect_timeout, deepseek.idle_timeout) == (1.5, 300.0)


def test_an_entry_changes_what_it_names_of_a_built_in(tmp_path: Path) -> None:
    text = "providers:\n  openai: {models: [gpt-x], idle_timeout: 5}\n"
    changed = providers(tmp_path, text).get("openai")
    assert (changed.models, changed.idle_timeout, changed.key_variable) == (
        ("gpt-x",), 5, "OPENAI_API_KEY",
    )  # fmt: skip
    assert changed.dialect == "openai"


def test_a_window_is_one_number_or_one_for_each_model(tmp_path: Path) -> None:
    text = "providers:\n  a: {kind: openai, url: http://x, context_window: "
    assert providers(tmp_path, text + "8192}\n").get("a").window_of("any") == 8192
    found = providers(tmp_path, text + "{small: 4096}}\n")
    windows = [found.get("a").window_of(model) for model in ("small", "large", None)]
    assert windows == [4096, None, None]
    assert found.get("anthropic").window_of("claude-sonnet-4-5") == 200_000


@pytest.mark.parametrize(
    ("url", "dialect"),
    [
        ("https://api.deepseek.com", "deepseek"),
        ("https://deepseek.com.example", "plain"),
        ("https://api.openai.com/v1", "openai"),
        ("https://api.anthropic.com", "anthropic"),
    ],
)
def test_a_host_tells_the_dialect(tmp_path: Path, url: str, dialect: str) -> None:
    text = f"providers:\n  mine: {{kind: openai, url: '{url}'}}\n"
    assert providers(tmp_path, text).get("mine").dialect == dialect


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("providers: [a]\n", 1, "mapping of names"),
        ("providers:\n  a: x\n", 2, "must be a mapping"),
        ("providers:\n  a: {kind: openai}\n", 2, "needs url"),
        ("providers:\n  a: {url: http://x}\n", 2, "needs kind"),
        ("providers:\n  a:\n    kind: grpc\n    url: http://x\n", 3, "openai or anthropic"),
        ("providers:\n  a:\n    kind: openai\n    url: ftp://x\n", 4, "http or https"),
        ("providers:\n  a:\n    kind: openai\n    url: http://u:p@x\n", 4, "without user"),
        ("providers:\n  a:\n    kind: openai\n    models: [1]\n", 4, "list of names"),
        ("providers:\n  a:\n    kind: openai\n    api_key: sk\n", 4, "no key"),
        ("providers:\n  a:\n    headers: {X: 1}\n", 3, "mapping of texts"),
        ("providers:\n  a:\n    idle_timeout: 0\n", 3, "seconds"),
        ("providers:\n  a:\n    context_window: 0\n", 3, "number of tokens"),
        ("providers:\n  a:\n    context_window: {m: true}\n", 3, "number of tokens"),
        ("providers:\n  a/b: {kind: openai, url: http://x}\n", 2, "slash"),
        ("model: ghost/x\n", 1, "ghost"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, text: str, line: int, said: str
) -> None:
    with pytest.raises(ConfigInvalidError) as caught:
        providers(tmp_path, text)
    assert caught.value.details["line"] == line
    assert said in caught.value.message + (caught.value.hint or "")
