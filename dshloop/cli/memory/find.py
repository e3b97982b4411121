"""The verbs that find entries: recall by a question, search and list by filters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.memory.common import (
    Count,
    Limit,
    ListVerb,
    MinScore,
    Offset,
    Semantic,
    filters,
    module_app,
)
from dshloop.cli.memory.opening import opened_to_read
from dshloop.cli.memory.view import Form, entries_view, hits_view, listed, row_of
from dshloop.errors import ExitCode, UsageError
from dshloop.result import Result, View

if TYPE_CHECKING:
    from dshloop.memory.entries import Entry

app = module_app()
MOST = 1000  # hits that --count of a question counts

_NOTHING_AT_ALL = "no memory answers this"
_NOTHING = f"{_NOTHING_AT_ALL}; --min-score 0 shows what comes near"

Old = Annotated[bool, typer.Option("--old", help="Superseded versions too.")]


@app.command(cls=ListVerb, epilog="Example: dshloop memory recall when do we deploy --why")
def recall(
    ctx: typer.Context,
    query: Annotated[list[str], typer.Argument(help="What to look for, in plain words.")],
    limit: Limit = 10,
    offset: Offset = 0,
    min_score: MinScore = None,
    semantic: Semantic = None,
    why: Annotated[
        bool, typer.Option("--why", help="Tell which words and parts made the score.")
    ] = False,
    count: Count = False,
) -> Result[Any]:
    """Find what answers a question, best first; exit 3 when there is nothing.

    The score says how much of the question an entry covers: 0 none of its words, 1 all of them,
    rare words more than common ones. What scores too low is not shown. Several stores are asked at
    the same time and their hits ordered by rank: scores of different stores don't compare.
    """
    from dshloop.memory.entries import KINDS

    where = filters(ctx, KINDS)
    if count:
        limit, offset = MOST, 0
    with opened_to_read(ctx) as store:
        hits = store.recall(
            " ".join(query),
            where,
            limit=limit,
            offset=offset,
            min_score=min_score,
            semantic=semantic,
        )
    code = ExitCode.DONE if hits else ExitCode.NOT_FOUND
    if count:
        return Result({"count": len(hits)}, str(len(hits)), exit_code=code)
    return listed(
        ctx,
        [row_of(ctx, hit.entry, hit.as_json()) for hit in hits],
        lambda how: hits_view(hits, how, why=why),
        notices=[] if hits else [_NOTHING if min_score is None else _NOTHING_AT_ALL],
        exit_code=code,
    )


@app.command(cls=ListVerb, epilog="Example: dshloop memory search --file main.py --since 7d")
def search(
    ctx: typer.Context,
    words: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    limit: Limit = 50,
    offset: Offset = 0,
    old: Old = False,
    count: Count = False,
) -> Result[Any]:
    """Find memories and observations by filters only, newest first."""
    from dshloop.memory.entries import KINDS

    if words:
        raise UsageError(
            "search takes filters, and no words",
            hint="To look for words: dshloop memory recall; to look for a file: --file.",
        )
    return newest(ctx, KINDS, limit, offset, old=old, count=count, empty="nothing passes")


@app.command("list", cls=ListVerb, epilog="Example: dshloop memory list --project . --type bug")
def list_memories(
    ctx: typer.Context,
    limit: Limit = 50,
    offset: Offset = 0,
    old: Old = False,
    count: Count = False,
) -> Result[Any]:
    """List memories, newest first."""
    from dshloop.memory.entries import MEMORY

    return newest(ctx, (MEMORY,), limit, offset, old=old, count=count, empty="no memories")


def newest(
    ctx: typer.Context,
    kinds: tuple[str, ...],
    limit: int,
    offset: int,
    *,
    old: bool = False,
    count: bool = False,
    empty: str,
) -> Result[Any]:
    """Give the entries of some kinds that pass the filters, newest first, or their number."""
    where = filters(ctx, kinds, old=old)
    with opened_to_read(ctx) as store:
        if count:
            total = store.count(where)
            return Result({"count": total}, str(total))
        # One more than is shown tells whether there are more.
        found = store.list(where, limit=limit + 1, offset=offset)
    return entries_answer(ctx, found[:limit], empty, more=_more(len(found) > limit, limit + offset))


def entries_answer(
    ctx: typer.Context, entries: Sequence[Entry], empty: str, *, more: list[str]
) -> Result[Any]:
    """Give entries in the form that was asked for."""

    def view(how: Form) -> View:
        return entries_view(entries, how, empty)

    rows = [row_of(ctx, entry, entry.as_json()) for entry in entries]
    return listed(ctx, rows, view, notices=more)


def _more(there_are: bool, offset: int) -> list[str]:
    return [f"there are more: --offset {offset}; --count counts them"] if there_are else []
