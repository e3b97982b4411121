"""`dshloop provider`: the servers of models that sessions ask, and whether they answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.models import model_providers, provider_names
from dshloop.cli.params import Command, invocation, new_app
from dshloop.errors import CredentialsInvalidError
from dshloop.result import Caution, Result, Table

if TYPE_CHECKING:
    from dshloop.llm.providers import Provider, Providers

app = new_app("provider", "List and try the model providers that sessions ask.")


@app.command("list", cls=Command, epilog="Example: dshloop provider list")
def list_providers(ctx: typer.Context) -> Result[list[dict[str, Any]]]:
    """List the providers, their models, and where their keys come from.

    Keys are never shown. The one marked default answers where nothing else is said.
    """
    providers = model_providers(invocation(ctx))()
    warnings: list[Caution] = []
    data = [_as_json(providers, one, warnings) for one in providers.known.values()]
    default = None if warnings else providers.choose()
    chosen = default and providers.get(default.provider).name
    for one in data:
        one["default"] = default.model if default and chosen == one["name"] else None
    rows = [
        (
            f"{one['name']} (default)" if one["default"] else one["name"],
            one["kind"],
            one["url"],
            ", ".join(one["models"]),
            _key_text(one["key"]),
        )
        for one in data
    ]
    table = Table(("NAME", "KIND", "URL", "MODELS", "KEY"), rows)
    return Result(data, table, warnings=warnings)


@app.command("test", cls=Command, epilog="Example: dshloop provider test deepseek")
def ask(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", autocompletion=provider_names, help="The provider.")
    ],
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="One of its models.")
    ] = None,
) -> Result[dict[str, Any]]:
    """Ask a provider something tiny: does it answer, and how fast.

    Sends one short request, which a provider may charge for.
    """
    from dshloop.llm.trial import try_provider

    run = invocation(ctx)
    providers = model_providers(run)()
    provider = providers.get(name)
    chosen = providers.choose(provider.name, model)
    assert chosen is not None, "a provider was named"
    with run.progress(f"Asking {chosen.provider}/{chosen.model} …"):
        trial = try_provider(providers, chosen)
    said = trial.text or "(no text)"
    lines = [
        f"{trial.provider}/{trial.model} answers: {said}",
        f"first words after {trial.first_ms:.0f} ms, all after {trial.whole_ms:.0f} ms",
    ]
    return Result(trial.as_json(), "\n".join(lines))


def _as_json(providers: Providers, provider: Provider, warnings: list[Caution]) -> dict[str, Any]:
    return {
        "name": provider.name,
        "kind": provider.kind,
        "url": provider.url,
        "from": provider.origin,
        "models": list(provider.models),
        "key": _key(providers, provider, warnings),
    }


def _key(providers: Providers, provider: Provider, warnings: list[Caution]) -> dict[str, Any]:
    """Say whether a key is there, and where it is from; a file that can't be read is a warning."""
    variable = provider.key_variable
    if variable is None:
        return {"state": "not needed", "from": None, "variable": None}
    try:
        key = providers.key(provider)
    except CredentialsInvalidError as fault:
        if not warnings:
            text = f"{fault.message}\n  {fault.hint}"
            warnings.append(Caution(text, fault.code, details=fault.as_json()))
        key = None
    state, source = ("missing", None) if key is None else ("set", key.source)
    return {"state": state, "from": source, "variable": variable}


def _key_text(key: dict[str, Any]) -> str:
    if key["state"] == "set":
        return f"set ({key['from']})"
    return f"missing (${key['variable']})" if key["state"] == "missing" else str(key["state"])
