"""The verbs that care for the embedded store's file: check, reindex, backup."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.memory.common import ReadVerb, WriteVerb, given, module_app
from dshloop.cli.memory.opening import opened
from dshloop.cli.params import invocation
from dshloop.errors import ExitCode, StoreReadOnlyError, UsageError
from dshloop.result import Result

if TYPE_CHECKING:
    from dshloop.memory.sqlite.care.salvage import Salvaged
    from dshloop.memory.sqlite.database import Database

app = module_app()


@app.command(cls=ReadVerb, epilog="Example: dshloop memory check --salvage saved.db")
def check(
    ctx: typer.Context,
    salvage: Annotated[
        str | None,
        typer.Option(
            "--salvage", metavar="NEWFILE", help="Write what is whole to a new database instead."
        ),
    ] = None,
) -> Result[dict[str, Any]]:
    """Compare index, counts, vectors and versions with the rows, and check the file.

    Exit 1 when something is wrong; each finding has a code, how often, and what mends it. Writers
    wait only while the index checks itself, which --readonly leaves out. --salvage never changes
    the damaged file; backup --restore NEWFILE then takes the new one.
    """
    if salvage is not None:
        return _salvage(ctx, salvage)
    from dshloop.memory.sqlite.care.check import check as look
    from dshloop.memory.sqlite.care.check import lines

    with _database(ctx) as database, invocation(ctx).progress("Checking the memory database …"):
        found = look(database, verify="readonly" not in given(ctx))
    code = ExitCode.DONE if found.sound else ExitCode.FAILED
    return Result(found.as_json(), "\n".join(lines(found)), exit_code=code)


@app.command(cls=WriteVerb)
def reindex(
    ctx: typer.Context,
    semantic: Annotated[
        bool, typer.Option("--semantic", help="Make the vectors that are missing, too.")
    ] = False,
) -> Result[dict[str, Any]]:
    """Make the index anew, and the counts, while others read and write.

    It can be broken off and goes on where it was. recall has the old index until the new one is
    whole. A server keeps its index itself: there only vectors are made.
    """
    done = None if semantic and not _has_file(ctx) else _indexed(ctx)
    made = _vectors(ctx) if semantic else None
    said = [
        *([] if done is None else [f"indexed {done} entries"]),
        *([] if made is None else [f"made {made} vectors"]),
    ]
    return Result({"entries": done, "vectors": made}, ", ".join(said))


def _indexed(ctx: typer.Context) -> int:
    """Make the index of a file anew; give how many entries it has."""
    from dshloop.memory.sqlite.care.reindex import reindex as make

    done = 0
    with _database(ctx) as database, invocation(ctx).progress("Making the index anew …"):
        for step in make(database):
            done = step.total
    return done


def _vectors(ctx: typer.Context) -> int:
    """Make the vectors that are missing; give how many they were."""
    from dshloop.memory.sqlite.store import RowStore

    made = 0
    with opened(ctx) as store, invocation(ctx).progress("Making vectors …"):
        if not isinstance(store, RowStore):
            raise UsageError(f"the store {store.name} keeps no vectors of ours")
        for filled in store.embed_missing():
            made = filled.done
    return made


def _has_file(ctx: typer.Context) -> bool:
    from dshloop.memory.sqlite.store import SqliteStore

    with opened(ctx) as store:
        return isinstance(store, SqliteStore)


@app.command(cls=ReadVerb, epilog="Example: dshloop memory backup memory-2026-01-31.db")
def backup(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The copy.")],
    restore: Annotated[
        bool, typer.Option("--restore", help="Bring the copy back instead of making it.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a FILE that is there.")] = False,
) -> Result[dict[str, Any]]:
    """Copy the whole store to a file, as it is at one moment, and verify the copy.

    Others can read and write meanwhile. --restore puts such a copy, or what check --salvage made,
    in the store's place; what was there is kept beside it as memory.db.before-restore.
    """
    from dshloop.memory.sqlite.care.backup import backup as copy
    from dshloop.memory.sqlite.care.backup import restore as bring_back

    if restore and "readonly" in given(ctx):
        raise StoreReadOnlyError("--restore and --readonly exclude each other")
    path, run = _file(ctx, file), invocation(ctx)
    with _database(ctx) as database:
        if restore:
            with run.progress("Bringing the copy back …"):
                done = bring_back(database, path)
        else:
            with run.progress("Copying the memory database …"):
                done = copy(database, path, force=force)
    data = {"path": str(done.path), "bytes": done.bytes, "entries": done.entries}
    said = f"restored from {path}" if restore else f"copied to {path}"
    return Result(data, f"{said}: {done.entries} entries, {done.bytes} bytes")


def _salvage(ctx: typer.Context, file: str) -> Result[dict[str, Any]]:
    from dshloop.memory.sqlite.care.salvage import salvage

    target = _file(ctx, file)
    with _database(ctx) as database, invocation(ctx).progress("Reading what is whole …"):
        done = salvage(database.path, target)
    code = ExitCode.FAILED if done.lost else ExitCode.DONE
    return Result(done.as_json(), "\n".join(_told(done)), exit_code=code)


def _told(done: Salvaged) -> Iterator[str]:
    for name, saved in done.saved.items():
        lost = done.lost.get(name, 0)
        if saved or lost:
            yield f"{name.replace('_', ' ')}: {saved} saved, {lost} lost"
    yield from (f"  lost {id_}" for id_ in done.lost_ids)
    yield f"written to {done.path}"


def _file(ctx: typer.Context, file: str) -> Path:
    from dshloop.paths import absolute

    if not file:
        raise UsageError("a file needs a path")
    env = invocation(ctx).env
    return absolute(file, env.cwd, env.variables)


@contextmanager
def _database(ctx: typer.Context) -> Iterator[Database]:
    """Lend the file of the store that is meant, which must be an embedded one."""
    from dshloop.memory.sqlite.database import Database
    from dshloop.memory.sqlite.store import SqliteStore
    from dshloop.result import Caution

    run = invocation(ctx)
    with opened(ctx) as store:
        if not isinstance(store, SqliteStore):
            raise UsageError(f"the store {store.name} has no file to look after")
    with closing(
        Database(
            store.path,
            readonly="readonly" in given(ctx),
            notice=lambda text: run.cautions.append(Caution(text, "STORE_NOTICE")),
        )
    ) as database:
        yield database
