"""What commands that ask a model share: the providers that are set up, and what is typed of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dshloop.cli.invocation import Invocation
from dshloop.cli.params import invocation

if TYPE_CHECKING:
    from dshloop.llm.providers import Providers
    from dshloop.runs.talking.conversation import RunOptions


def model_providers(run: Invocation) -> Callable[[], Providers]:
    """Give what reads the providers, the first time it is called. That raises CONFIG_INVALID."""
    from functools import cache

    @cache
    def read() -> Providers:
        from dshloop.llm.credentials import Keyring
        from dshloop.llm.providers import read_providers

        return read_providers(run.config, Keyring(run.env.variables, run.places.dsh_home))

    return read


def asking(
    run: Invocation,
    options: RunOptions,
    provider: str | None,
    model: str | None,
    max_tokens: int | None,
    effort: str | None,
    seed: int | None = None,
) -> RunOptions:
    """Add what was typed of a model, and where models are found."""
    from dataclasses import replace

    from dshloop.runs.talking.models import ModelAsked

    asked = ModelAsked(provider, model, max_tokens, effort, seed)
    return replace(options, model=asked, providers=model_providers(run))


def answering_model(run: Invocation) -> str | None:
    """Give the PROVIDER/MODEL that answers where nobody says, None when none is set up."""
    chosen = model_providers(run)().choose()
    return None if chosen is None else "/".join(chosen)


def provider_names(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    """Offer the providers by name."""
    known = model_providers(invocation(ctx))().known
    return [(name, one.url) for name, one in known.items() if name.startswith(incomplete)]


def model_names(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    """Offer the models that are listed of all providers, as PROVIDER/MODEL."""
    known = model_providers(invocation(ctx))().known
    names = [f"{name}/{model}" for name, one in known.items() for model in one.models]
    return [(name, "model") for name in names if name.startswith(incomplete)]
