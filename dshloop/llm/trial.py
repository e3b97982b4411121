"""One tiny request to a provider: does it answer, who does, and how fast."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dshloop.errors import ProviderRefusedError, ProviderUnreachableError
from dshloop.llm.adapter import ProviderAdapter
from dshloop.llm.messages import Assembly, ModelRequest, plain_text, user_message
from dshloop.llm.providers import Model, Provider, Providers

PROMPT = "Answer with the one word: ready"
MAX_TOKENS = 64
PATIENCE = 60.0  # seconds for the next piece of the answer
_UNREACHABLE = frozenset({"TRANSPORT", "TIMEOUT"})


@dataclass(frozen=True, slots=True)
class Trial:
    """What came back. Times are milliseconds from the request: to the first chunk, to the end."""

    provider: str
    model: str
    text: str
    usage: Mapping[str, int]
    first_ms: float
    whole_ms: float

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        return {
            "provider": self.provider,
            "model": self.model,
            "text": self.text,
            "usage": dict(self.usage),
            "first_ms": round(self.first_ms, 1),
            "whole_ms": round(self.whole_ms, 1),
        }


def try_provider(providers: Providers, model: Model) -> Trial:
    """Ask a model something small.

    Raises MISSING_CREDENTIAL, PROVIDER_UNREACHABLE when there was no answer at all, and
    PROVIDER_REFUSED for any other failure, which the details hold.
    """
    provider = providers.get(model.provider)
    key = providers.require_key(provider)
    patient = replace(provider, idle_timeout=min(provider.idle_timeout, PATIENCE))
    adapter = ProviderAdapter(patient, lambda: key, providers.keys.variables)
    return asyncio.run(_try(adapter, provider, model.model))


async def _try(adapter: ProviderAdapter, provider: Provider, model: str) -> Trial:
    request = ModelRequest(
        provider.name, model, messages=[user_message(PROMPT)], max_tokens=MAX_TOKENS
    )
    answer, begun, first = Assembly(), time.perf_counter(), 0.0
    try:
        async for chunk in adapter.stream(request):
            first = first or time.perf_counter()
            answer.add(chunk)
    finally:
        await adapter.close()
    ended = time.perf_counter()
    reason = answer.finish or {}
    if "failure" in reason:
        raise _refused(provider, reason["failure"])
    return Trial(
        provider.name,
        model,
        plain_text(answer.content()).strip(),
        answer.usage or {},
        (first - begun) * 1000,
        (ended - begun) * 1000,
    )


def _refused(
    provider: Provider, failure: Mapping[str, Any]
) -> ProviderUnreachableError | ProviderRefusedError:
    message = f'provider "{provider.name}": {failure["message"]} ({failure["code"]})'
    details: dict[str, Any] = {
        "provider": provider.name,
        "url": provider.url,
        "failure": dict(failure),
    }
    if failure["code"] in _UNREACHABLE:
        return ProviderUnreachableError(message, **details)
    hint = None
    if failure["code"] == "AUTH" and provider.key_variable is not None:
        hint = f"The server does not take the key of {provider.key_variable}: get a new one."
    return ProviderRefusedError(message, hint=hint, **details)
