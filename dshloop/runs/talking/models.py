"""Which model a session asks: what was typed, what it asked before, what is set up."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dshloop.drivers.fake import LOCAL_PROVIDERS
from dshloop.errors import UsageError
from dshloop.transcripts.vocabulary import Event

if TYPE_CHECKING:
    from dshloop.llm.providers import Model, Providers


class ModelAsked(NamedTuple):
    """What was typed of the model that is to answer."""

    provider: str | None = None
    model: str | None = None
    max_tokens: int | None = None
    effort: str | None = None
    seed: int | None = None

    @property
    def options(self) -> dict[str, Any]:
        """What was typed, as the dock's ``agentOptions`` say it."""
        said = {
            "provider": self.provider,
            "model": self.model,
            "maxTokens": self.max_tokens,
            "reasoningEffort": self.effort,
            "seed": self.seed,
        }
        return {key: value for key, value in said.items() if value is not None}

    def require_nothing(self, driver: str) -> None:
        """Refuse what a driver without a model could only leave out. Raises USAGE."""
        for name in ("provider", "model", "max_tokens", "effort"):
            if getattr(self, name) is not None:
                option = f"--{name.replace('_', '-')}"
                raise UsageError(f"{option} is for a model, and {driver} asks none", option=option)


def answering(
    asked: ModelAsked,
    pin: Mapping[str, str],
    events: Sequence[Event],
    adapters: Collection[str],
    providers: Providers | None,
) -> dict[str, Any] | None:
    """Give the ``agentOptions`` of who answers a session; None when nobody can.

    A loop's ``pin`` goes before what was typed, that before what the session asked last.
    ``adapters`` are the providers that rows of the profile brought. Raises UNKNOWN_PROVIDER,
    MODEL_NOT_NAMED, MISSING_CREDENTIAL, CREDENTIALS_INVALID, PEER_CONFIG and INSECURE_HTTP.
    """
    provider = pin.get("provider", asked.provider)
    if provider in adapters:
        return asked.options
    chosen = None
    if providers is not None:
        before = _before(events, providers)
        chosen = providers.choose(provider, pin.get("model", asked.model), before)
    if chosen is None or providers is None:
        return asked.options if set(adapters) - LOCAL_PROVIDERS else None
    if chosen.provider not in adapters:
        from dshloop.llm.adapter import require_sendable

        entry = providers.get(chosen.provider)
        require_sendable(entry, providers.require_key(entry))
    return {**asked.options, "provider": chosen.provider, "model": chosen.model}


def _before(events: Sequence[Event], providers: Providers) -> Model | None:
    """Give the model that a session asked last, where its provider is still known."""
    from dshloop.llm.providers import Model

    for event in reversed(events):
        data = event["data"]
        if event["type"] == "request/context" and isinstance(data, dict):
            provider, model = data.get("provider"), data.get("model")
            if isinstance(provider, str) and isinstance(model, str) and providers.find(provider):
                return Model(provider, model)
            return None
    return None
