"""Opening the store, or the stores, that a verb of `dshloop memory` is to work on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from dshloop.cli.invocation import Invocation
from dshloop.cli.memory.common import ORIGIN, asked_several, given
from dshloop.cli.params import invocation
from dshloop.paths import absolute
from dshloop.result import Caution

if TYPE_CHECKING:
    from dshloop.config import Config
    from dshloop.memory.embedding import Embedder
    from dshloop.memory.store import MemoryReader, MemoryStore


@contextmanager
def opened(ctx: typer.Context) -> Iterator[MemoryStore]:
    """Lend the store that is meant: --store, $DSHLOOP_STORE, memory.store, the embedded one."""
    with opened_as(ctx, None, readonly="readonly" in given(ctx)) as store:
        yield store


@contextmanager
def opened_to_read(ctx: typer.Context) -> Iterator[MemoryReader]:
    """Lend what reads the store that is meant, or several; no code that writes is loaded."""
    from dshloop.memory.stores import open_reader

    if asked_several(ctx):
        from dshloop.cli.memory.several import opened_together

        with opened_together(ctx) as several:
            ctx.meta[ORIGIN] = several.origin_of
            yield several
        return
    name, options = way_to_open(ctx)
    reader = open_reader(name, **options, readonly="readonly" in given(ctx))
    try:
        yield reader
    finally:
        reader.close()


@contextmanager
def opened_as(
    ctx: typer.Context, name: str | None, *, readonly: bool = False
) -> Iterator[MemoryStore]:
    """Lend the store of a name, that which is meant when there is none."""
    store = opener(ctx, name=name)(readonly)
    try:
        yield store
    finally:
        store.close()


def opener(
    ctx: typer.Context, notice: Callable[[str], None] | None = None, name: str | None = None
) -> Callable[[bool], MemoryStore]:
    """Give what opens the store that is meant, for reading only when it is told True."""
    from dshloop.memory.stores import open_store

    named, options = way_to_open(ctx, notice, name)
    return lambda readonly: open_store(named, **options, readonly=readonly)


def way_to_open(
    ctx: typer.Context, notice: Callable[[str], None] | None = None, name: str | None = None
) -> tuple[str | None, dict[str, Any]]:
    """Give the name of the store that is meant, and how it is to be opened.

    Without ``notice`` what it tells people is a warning beside the answer.
    """
    run, asked = invocation(ctx), given(ctx)
    config, places = run.config, run.places
    named = name or asked.get("store") or run.env.variables.get("DSHLOOP_STORE")
    return named or config.get("memory.store"), {
        "database": places.memory_db,
        "place": lambda path: absolute(path, run.env.cwd, run.env.variables),
        "clock": run.env.clock,
        "notice": notice or (lambda text: run.cautions.append(Caution(text, "STORE_NOTICE"))),
        "embedder": lambda: _embedder(run, config),
        "semantic": bool(config.get("memory.semantic")),
        "synonyms": places.synonyms,
        "setting": config.get,
        "variables": run.env.variables,
    }


def _embedder(run: Invocation, config: Config) -> Embedder:
    """Open the model that config.yml names. Raises SEMANTIC_UNAVAILABLE."""
    from dshloop.memory.embedding import choice_of, open_embedder

    return open_embedder(choice_of(config.get), run.env.variables)
