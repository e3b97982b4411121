"""Model providers: those that are built in, and those of config.yml's ``providers``.

An entry of config.yml that has the name of a built-in one changes what it names of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from dshloop.config import Config
from dshloop.errors import (
    DshloopError,
    MissingCredentialError,
    ModelNotNamedError,
    UnknownProviderError,
)
from dshloop.llm.credentials import Key, Keyring
from dshloop.llm.wire import Dialect, Kind

CONNECT, IDLE = "DSHLOOP_CONNECT_TIMEOUT", "DSHLOOP_IDLE_TIMEOUT"
"""Variables: seconds to wait for a connection, and for the next piece of an answer."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A server of models. Without a ``key_variable`` it is asked without a key.

    ``url_variable`` names the variable that takes the place of ``url``; ``models`` are those it is
    known to have, the first one is used where none is named. Time-outs are in seconds.
    ``context_window`` is in tokens: one number, or one a model.
    """

    name: str
    kind: Kind
    url: str
    key_variable: str | None = None
    url_variable: str | None = None
    models: Sequence[str] = ()
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    dialect: Dialect = "plain"
    max_tokens: int | None = None
    context_window: int | Mapping[str, int] | None = None
    connect_timeout: float = 10.0
    idle_timeout: float = 300.0
    allow_insecure_http: bool = False
    aliases: Sequence[str] = ()
    origin: str = "built-in"

    @property
    def takes_images(self) -> bool:
        """Whether its models are sent images."""
        return self.dialect != "deepseek"

    @property
    def takes_seed(self) -> bool:
        """Whether its wire has a seed."""
        return self.kind == "openai"

    def window_of(self, model: str | None) -> int | None:
        """Give how many tokens a model takes in all, None where nobody said."""
        window = self.context_window
        return window.get(model or "") if isinstance(window, Mapping) else window


BUILT_IN = (
    Provider(
        "deepseek",
        "anthropic",
        "https://api.deepseek.com/anthropic",
        key_variable="DEEPSEEK_API_KEY",
        url_variable="DEEPSEEK_BASE_URL",
        models=("deepseek-flash", "deepseek-v4-pro"),
        dialect="deepseek",
        max_tokens=256_000,
        context_window=1_000_000,
        aliases=("deepseek-official",),
    ),
    Provider(
        "openai",
        "openai",
        "https://api.openai.com/v1",
        key_variable="OPENAI_API_KEY",
        url_variable="OPENAI_BASE_URL",
        models=("gpt-5",),
        context_window={"gpt-5": 400_000},
        dialect="openai",
    ),
    Provider(
        "anthropic",
        "anthropic",
        "https://api.anthropic.com",
        key_variable="ANTHROPIC_API_KEY",
        url_variable="ANTHROPIC_BASE_URL",
        models=("claude-sonnet-4-5",),
        context_window={"claude-sonnet-4-5": 200_000},
        dialect="anthropic",
    ),
)
"""Names, addresses and variables as DSH and the providers' own programs have them."""


class Model(NamedTuple):
    """Which model of which provider."""

    provider: str
    model: str


@dataclass(frozen=True)
class Providers:
    """All providers, those of config.yml first; ``default`` is config.yml's ``model``."""

    known: Mapping[str, Provider]
    keys: Keyring
    default: str | None = None

    def get(self, name: str) -> Provider:
        """Give a provider by its name or an alias. Raises UNKNOWN_PROVIDER with near matches."""
        found = self.find(name)
        if found is not None:
            return found
        from difflib import get_close_matches

        near = get_close_matches(name, self.known, n=1)
        raise UnknownProviderError(
            f'there is no model provider "{name}"',
            hint=f'Did you mean "{near[0]}"?' if near else None,
            provider=name,
            available=list(self.known),
        )

    def find(self, name: str) -> Provider | None:
        """Give a provider by its name or an alias, None when there is none."""
        if name in self.known:
            return self.known[name]
        return next((one for one in self.known.values() if name in one.aliases), None)

    def key(self, provider: Provider) -> Key | None:
        """Give a provider's key; None when it needs none or there is none."""
        return None if provider.key_variable is None else self.keys.find(provider.key_variable)

    def usable(self) -> Iterator[Provider]:
        """Yield the providers that have what they need, those of config.yml first."""
        for provider in self.known.values():
            if provider.key_variable is None or self.key(provider) is not None:
                yield provider

    def require_key(self, provider: Provider) -> Key | None:
        """Give the key a provider needs. Raises MISSING_CREDENTIAL naming variable and command."""
        key = self.key(provider)
        if key is None and provider.key_variable is not None:
            raise missing_credential(provider)
        return key

    def choose(
        self, provider: str | None = None, model: str | None = None, before: Model | None = None
    ) -> Model | None:
        """Decide who answers: what is named, else as before, else config.yml's ``model``, else the
        first provider that can; None when there is none.

        ``model`` may be PROVIDER/MODEL where no provider is named, and PROVIDER/ alone. Raises
        UNKNOWN_PROVIDER and MODEL_NOT_NAMED.
        """
        if provider is None and model is not None:
            provider, model = self._split(model)
        settled = [one for one in (before, self._configured()) if one is not None]
        if provider is not None:
            return Model(provider, model or self._model_of(self.get(provider), settled))
        if settled:
            return Model(settled[0].provider, model or settled[0].model)
        first = next(self.usable(), None)
        return None if first is None else Model(first.name, model or self._model_of(first, ()))

    def _split(self, model: str) -> tuple[str | None, str]:
        provider, slash, rest = model.partition("/")
        return (provider, rest) if slash and self.find(provider) else (None, model)

    def _configured(self) -> Model | None:
        if self.default is None:
            return None
        provider, model = self._split(self.default)
        if provider is None:
            provider, model = self.default.partition("/")[0], ""
        return Model(provider, model or self._model_of(self.get(provider), ()))

    @staticmethod
    def _model_of(provider: Provider, settled: Sequence[Model]) -> str:
        names = (provider.name, *provider.aliases)
        known = [one.model for one in settled if one.provider in names]
        found = next(iter((*known, *provider.models)), None)
        if found is None:
            raise ModelNotNamedError(
                f'no model of provider "{provider.name}" is named', provider=provider.name
            )
        return found


def missing_credential(provider: Provider) -> MissingCredentialError:
    """Make the error for a provider whose key nobody has."""
    name = provider.key_variable
    return MissingCredentialError(
        f'provider "{provider.name}" needs a key: {name} is not set, and DSH has none stored',
        hint=f"export {name}=…, then try it: dshloop provider test {provider.name}",
        provider=provider.name,
        variable=name,
    )


def read_providers(config: Config, keys: Keyring) -> Providers:
    """Read the providers. Raises CONFIG_INVALID with file, line and key."""
    built_in = {one.name: one for one in BUILT_IN}
    entries = config.get("providers")
    found: dict[str, Provider] = {}
    if entries is not None:
        from dshloop.llm.provider_config import read_entries

        found = read_entries(config, entries, built_in)
    known = {**found, **{name: one for name, one in built_in.items() if name not in found}}
    placed = {name: _placed(one, keys.variables) for name, one in known.items()}
    default = config.get("model")
    providers = Providers(placed, keys, default)
    if default is not None:
        _require_default(config, providers)
    return providers


def _require_default(config: Config, providers: Providers) -> None:
    from dshloop.llm.provider_config import refuse

    try:
        providers.choose()
    except DshloopError as error:
        refuse(config, ("model",), f"model {providers.default!r}: {error.message}")


def _placed(provider: Provider, variables: Mapping[str, str]) -> Provider:
    """Put in what variables say of an address and of time-outs."""
    changes: dict[str, Any] = {}
    url = variables.get(provider.url_variable or "", "").strip()
    if url and provider.origin == "built-in":
        changes = {"url": url, "origin": f"${provider.url_variable}"}
    for name, key in ((CONNECT, "connect_timeout"), (IDLE, "idle_timeout")):
        seconds = _seconds(variables.get(name, ""))
        if seconds is not None:
            changes[key] = seconds
    return replace(provider, **changes) if changes else provider


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < float("inf") else None


def dialect_of(url: str) -> Dialect:
    """Tell whose extensions a server understands, by its host."""
    host = urlsplit(url).hostname or ""
    if host == "deepseek.com" or host.endswith(".deepseek.com"):
        return "deepseek"
    known: dict[str, Dialect] = {"api.openai.com": "openai", "api.anthropic.com": "anthropic"}
    return known.get(host, "plain")
