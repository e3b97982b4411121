"""Several stores asked as one: --store more than once, or --all-stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from dshloop.cli.memory.common import given
from dshloop.cli.memory.opening import way_to_open
from dshloop.cli.params import invocation
from dshloop.errors import DshloopError, UsageError
from dshloop.memory.federation import PATIENCE, Failure, FederatedReader, Source
from dshloop.memory.stores import EMBEDDED, distinct_stores, open_reader, set_up_stores
from dshloop.paths import absolute
from dshloop.result import Caution

if TYPE_CHECKING:
    from pathlib import Path

    from dshloop.memory.store import MemoryReader


@contextmanager
def opened_together(ctx: typer.Context) -> Iterator[FederatedReader]:
    """Lend what reads all stores that are meant; one that fails is a warning."""
    run = invocation(ctx)

    def warn(failure: Failure) -> None:
        code = failure.error.code if isinstance(failure.error, DshloopError) else "UNEXPECTED"
        text = f"{failure.store} gave no answer: {failure.message}"
        details = {"store": failure.store, "code": code}
        run.cautions.append(Caution(text, "STORE_SKIPPED", details=details))

    sources = [Source(name, _opener(ctx, name)) for name in names_meant(ctx)]
    reader = FederatedReader(sources, patience=_patience(ctx), warn=warn)
    try:
        yield reader
    finally:
        reader.close()


def _opener(ctx: typer.Context, store: str) -> Callable[[], MemoryReader]:
    """Give what opens a store; its notices tell which one it is."""
    run = invocation(ctx)

    def notice(text: str) -> None:
        run.cautions.append(Caution(f"{store}: {text}", "STORE_NOTICE"))

    name, options = way_to_open(ctx, notice, store)
    readonly = "readonly" in given(ctx)
    return lambda: open_reader(name, **options, readonly=readonly)


def names_meant(ctx: typer.Context) -> Sequence[str]:
    """Give the stores that are asked, each under one name. Raises STORE_UNKNOWN."""
    run, asked = invocation(ctx), given(ctx)
    variables, cwd = run.env.variables, run.env.cwd

    def place(path: str) -> Path:
        return absolute(path, cwd, variables)

    one = [asked["store"]] if "store" in asked else []
    named: Sequence[str] = asked.get("stores") or one
    if "all_stores" in asked:
        if named:
            hint = "Give one of them."
            raise UsageError("--store and --all-stores exclude each other", hint=hint)
        named = set_up_stores(run.config.get, variables, place)
    usual = variables.get("DSHLOOP_STORE") or run.config.get("memory.store") or EMBEDDED
    names = [name or usual for name in named or [usual]]
    return distinct_stores(
        names, database=run.places.memory_db, place=place, setting=run.config.get
    )


def _patience(ctx: typer.Context) -> float:
    asked: Any = given(ctx).get("timeout")
    if asked is None:
        return float(invocation(ctx).config.get("memory.timeout") or PATIENCE)
    if not 0 < asked < float("inf"):
        raise typer.BadParameter("it must be a number of seconds above 0", param_hint="--timeout")
    return float(asked)
