"""`dshloop memory`: remember, recall and manage memories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.invocation import Invocation
from dshloop.cli.memory_complete import memory_ids, memory_projects, memory_stores, memory_types
from dshloop.cli.memory_view import hit_block, page
from dshloop.cli.params import Command, invocation, new_app
from dshloop.errors import ExitCode
from dshloop.result import Caution, Result, Table
from dshloop.terminal import one_line

if TYPE_CHECKING:
    from dshloop.memory.store import Filters, MemoryStore

app = new_app("memory", "Remember, recall and manage memories.")

Type = Annotated[
    str | None,
    typer.Option(
        "--type",
        metavar="TYPE",
        help="pattern, preference, architecture, bug, workflow or fact.",
        autocompletion=memory_types,
    ),
]
Project = Annotated[
    str | None,
    typer.Option(
        "--project",
        metavar="NAME",
        help="The project; . is this one.",
        autocompletion=memory_projects,
    ),
]
Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="NAME",
        help="The store instead of $DSHLOOP_STORE or memory.store.",
        autocompletion=memory_stores,
    ),
]
Limit = Annotated[int, typer.Option("--limit", min=1, metavar="N", help="Show at most N.")]
Id = typer.Argument(metavar="ID", help="The id, or its beginning.", autocompletion=memory_ids)


def _number(value: float | None) -> float | None:
    """Refuse NaN, which no range keeps out."""
    if value is not None and value != value:
        raise typer.BadParameter("it is not a number")
    return value


@app.command(cls=Command)
def remember(
    ctx: typer.Context,
    text: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT|-]", help="The text; - reads stdin.")
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", metavar="PATH", help="Read the text from a file.")
    ] = None,
    kind: Type = None,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="Instead of the first words.")
    ] = None,
    concepts: Annotated[
        list[str] | None,
        typer.Option("--concept", metavar="WORD", help="A word to find it by; may be repeated."),
    ] = None,
    files: Annotated[
        list[str] | None,
        typer.Option("--file-ref", metavar="PATH", help="A file it is about; may be repeated."),
    ] = None,
    project: Project = None,
    store: Store = None,
) -> Result[dict[str, Any]]:
    """Keep a text; the same text again is counted, not doubled. Prints the memory's id."""
    from dshloop.memory.entries import NewMemory
    from dshloop.memory.project import project_filter, project_here

    run = invocation(ctx)
    env = run.env
    new = NewMemory(
        content=_text(run, text or [], file),
        project=project_filter(project, env.variables, env.cwd)
        or project_here(env.variables, env.cwd),
        type=kind,
        title=title,
        concepts=concepts or (),
        files=files or (),
        source={"kind": "command"},
    )
    with _opened(run, store) as memories:
        done = memories.remember(new)
    memory = done.memory
    said = f"counted again ({memory.repeats} times)" if done.merged else "remembered"
    return Result(
        {**memory.as_json(), "merged": done.merged},
        memory.id,
        notices=[f"{said} as {memory.type} in project {memory.project}"],
    )


@app.command(cls=Command)
def recall(
    ctx: typer.Context,
    query: Annotated[list[str], typer.Argument(help="What to look for, in plain words.")],
    project: Project = None,
    kind: Type = None,
    limit: Limit = 10,
    min_score: Annotated[
        float | None,
        typer.Option(
            "--min-score",
            min=0.0,
            max=1.0,
            metavar="SCORE",
            callback=_number,
            help="Hide hits that score lower.",
        ),
    ] = None,
    store: Store = None,
) -> Result[list[dict[str, Any]]]:
    """Find the memories that answer a question, best first; exit 3 when there is none.

    The score says how much of the question a memory covers: 0 none of its words, 1 all of them.
    """
    run = invocation(ctx)
    question = " ".join(query)
    with _opened(run, store) as memories:
        hits = memories.recall(
            question, _filters(run, project, kind), limit=limit, min_score=min_score
        )
    if not hits:
        return Result([], notices=["no memory answers this"], exit_code=ExitCode.NOT_FOUND)
    return Result([hit.as_json() for hit in hits], "\n".join(map(hit_block, hits)))


@app.command("list", cls=Command)
def list_memories(
    ctx: typer.Context,
    project: Project = None,
    kind: Type = None,
    limit: Limit = 50,
    store: Store = None,
) -> Result[list[dict[str, Any]]]:
    """List memories, newest first."""
    run = invocation(ctx)
    with _opened(run, store) as memories:
        # One more than is shown tells whether there are more.
        found = memories.list(_filters(run, project, kind), limit=limit + 1)
    shown = found[:limit]
    rows = [(memory.id, memory.type, memory.project, memory.title) for memory in shown]
    more = [f"there are more: --limit {2 * limit}"] if len(found) > limit else []
    return Result(
        [memory.as_json() for memory in shown],
        Table(("ID", "TYPE", "PROJECT", "TITLE"), rows, empty="no memories"),
        notices=more,
    )


@app.command(cls=Command)
def show(
    ctx: typer.Context, memory_id: Annotated[str, Id], store: Store = None
) -> Result[dict[str, Any]]:
    """Show one memory in full."""
    run = invocation(ctx)
    with _opened(run, store) as memories:
        memory = memories.get(memory_id)
    return Result(memory.as_json(), page(memory))


@app.command(cls=Command)
def forget(
    ctx: typer.Context,
    memory_ids: Annotated[list[str], Id],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be deleted, and keep it.")
    ] = False,
    store: Store = None,
) -> Result[dict[str, Any]]:
    """Delete memories for good; exit 3 when an id names none."""
    run = invocation(ctx)
    with _opened(run, store) as memories:
        done = memories.forget(memory_ids, dry_run=dry_run)
    ids = [memory.id for memory in done.entries]
    count = "1 memory" if len(ids) == 1 else f"{len(ids)} memories"
    lines = [f"{'would forget' if dry_run else 'forgot'} {count}"]
    lines += [f"  {memory.id}  {one_line(memory.title)}" for memory in done.entries]
    return Result(
        {
            "deleted": 0 if dry_run else len(ids),
            "dry_run": dry_run,
            "ids": ids,
            "missing": list(done.missing),
        },
        "\n".join(lines),
        warnings=[
            Caution(f"no memory has the id {one}", "MEMORY_NOT_FOUND") for one in done.missing
        ],
        exit_code=ExitCode.NOT_FOUND if done.missing else ExitCode.DONE,
    )


@app.command(cls=Command)
def stats(ctx: typer.Context, store: Store = None) -> Result[dict[str, Any]]:
    """Count what is stored, by type and project."""
    run = invocation(ctx)
    with _opened(run, store) as memories:
        found = memories.stats()
    lines = [f"{found.memories} memories in {found.where} ({found.store})"]
    lines += [f"  type     {name}: {number}" for name, number in found.types.items()]
    lines += [f"  project  {one_line(name)}: {number}" for name, number in found.projects.items()]
    return Result(found.as_json(), "\n".join(lines))


@contextmanager
def _opened(run: Invocation, name: str | None) -> Iterator[MemoryStore]:
    """Lend the store that is meant: --store, $DSHLOOP_STORE, memory.store, the embedded one."""
    from dshloop.memory.stores import open_store

    named = name or run.env.variables.get("DSHLOOP_STORE") or run.config.get("memory.store")
    store = open_store(named, database=run.places.memory_db, clock=run.env.clock)
    try:
        yield store
    finally:
        store.close()


def _filters(run: Invocation, project: str | None, kind: str | None) -> Filters:
    from dshloop.memory.entries import check_type
    from dshloop.memory.project import project_filter
    from dshloop.memory.store import Filters

    env = run.env
    return Filters(
        project=project_filter(project, env.variables, env.cwd),
        type=None if kind is None else check_type(kind),
    )


def _text(run: Invocation, words: Sequence[str], file: str | None) -> str:
    """Give the text to remember from the one place that was named; final newlines don't count."""
    from dshloop.errors import MemoryEmptyError, UsageError

    if file is not None:
        if words:
            raise UsageError("a text and --file exclude each other", hint="Give one of them.")
        return _file_text(run, file)
    if list(words) == ["-"]:
        return _piped_text(run)
    if not words:
        raise MemoryEmptyError("there is nothing to remember")
    return " ".join(words)


def _file_text(run: Invocation, file: str) -> str:
    from dshloop.errors import UnreadableFileError
    from dshloop.files import read_text
    from dshloop.paths import absolute

    text = read_text(absolute(file, run.env.cwd, run.env.variables))
    if text is None:
        raise UnreadableFileError(f"there is no file {file}", file=file)
    return text.value.rstrip("\r\n")


def _piped_text(run: Invocation) -> str:
    from pathlib import Path

    from dshloop.files import decode

    buffer = getattr(run.env.stdin, "buffer", None)
    if buffer is None:
        return run.env.stdin.read().rstrip("\r\n")
    return decode(buffer.read(), Path("standard input")).value.rstrip("\r\n")
