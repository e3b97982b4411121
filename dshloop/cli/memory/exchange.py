"""The verbs that carry memory in, or from store to store: import, ingest, migrate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from dshloop.cli.invocation import Invocation
from dshloop.cli.memory import complete
from dshloop.cli.memory.common import (
    AllowSecrets,
    FilterWriteVerb,
    WriteVerb,
    chosen,
    module_app,
    project,
)
from dshloop.cli.memory.opening import opened, opened_as
from dshloop.cli.memory.report_view import counted, not_carried
from dshloop.cli.params import invocation
from dshloop.errors import ExitCode, UsageError
from dshloop.result import Result

if TYPE_CHECKING:
    from pathlib import Path

    from dshloop.memory.interchange.report import Item, Report
    from dshloop.memory.store import MemoryStore

app = module_app()

OnConflict = Annotated[
    str,
    typer.Option(
        "--on-conflict",
        metavar="HOW",
        help="What is there already: skip (it stays), overwrite, merge.",
        autocompletion=complete.conflicts,
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Count, and write nothing.")]
ForProject = Annotated[
    str | None,
    typer.Option(
        "--project",
        metavar="NAME",
        help="The project of what names none; . is the current one.",
        autocompletion=complete.projects,
    ),
]


@app.command("import", cls=WriteVerb, epilog="Example: dshloop memory import backup.jsonl")
def import_(
    ctx: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE|FOLDER|-", help="What to read; - is standard input.")
    ],
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="dshloop, agentmemory, mcp, markdown, or auto (as without it).",
            autocompletion=complete.imports,
        ),
    ] = "auto",
    on_conflict: OnConflict = "skip",
    project_name: ForProject = None,
    dry_run: DryRun = False,
    allow_secrets: AllowSecrets = False,
) -> Result[dict[str, Any]]:
    """Read memories from an export of dshloop or agentmemory, a memory.json of MCP, or Markdown.

    What is there already is left alone, so that an import can be run again, also one that was cut
    short. Secrets are taken out. undo takes all of it back.
    """
    from dshloop.memory.interchange.sources import AUTO, FORMATS

    run = invocation(ctx)
    if form != AUTO and form not in FORMATS:
        known = ", ".join((AUTO, *FORMATS))
        raise UsageError(f'--format is one of {known}, not "{form}"', option="--format")
    name = project(run, project_name) or ""

    def items(_store: MemoryStore, report: Report) -> Iterator[Item]:
        return _file_items(run, file, form, name, report)

    return _carried(ctx, items, _conflict(on_conflict), "Importing",
                    dry_run=dry_run, allow_secrets=allow_secrets, more={"file": file})  # fmt: skip


@app.command(cls=WriteVerb, epilog="Example: dshloop memory ingest ~/.claude/projects")
def ingest(
    ctx: typer.Context,
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Logs, or folders of logs.")
    ],
    project_name: Annotated[
        str | None,
        typer.Option(
            "--project",
            metavar="NAME",
            help="Instead of the name of the folder that a session ran in.",
            autocompletion=complete.projects,
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also sessions that were observed as they happened.")
    ] = False,
    dry_run: DryRun = False,
    allow_secrets: AllowSecrets = False,
) -> Result[dict[str, Any]]:
    """Read session logs of DSH, dshloop, Claude Code and Codex: prompts, tool calls, answers.

    They become observations. A log that has grown since adds what is new.
    """
    from dshloop.memory.interchange.ingesting import items as items_of
    from dshloop.paths import absolute

    run = invocation(ctx)
    named = project(run, project_name)
    found = [absolute(path, run.env.cwd, run.env.variables) for path in paths]

    def items(store: MemoryStore, report: Report) -> Iterator[Item]:
        return items_of(
            store, found, report, project=named, again=again, allow_secrets=allow_secrets
        )

    return _carried(ctx, items, "merge", "Ingesting",
                    dry_run=dry_run, allow_secrets=allow_secrets, more={})  # fmt: skip


@app.command(
    cls=FilterWriteVerb, epilog="Example: dshloop memory migrate embedded:old/memory.db embedded"
)
def migrate(
    ctx: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="FROM", help="A store: embedded, embedded:PATH.", autocompletion=complete.stores
        ),
    ],
    target: Annotated[
        str, typer.Argument(metavar="TO", help="Another one.", autocompletion=complete.stores)
    ],
    on_conflict: OnConflict = "skip",
    dry_run: DryRun = False,
    allow_secrets: AllowSecrets = False,
) -> Result[dict[str, Any]]:
    """Carry all that a store holds over to another one, which keeps what it has.

    PATH is a database file, or a data folder that holds one. The old store is only read.
    """
    from dshloop.memory.interchange.carrying import migrate as carry_over
    from dshloop.memory.interchange.report import Report

    where, how = chosen(ctx), _conflict(on_conflict)
    run, report = invocation(ctx), Report()
    with (
        opened_as(ctx, source, readonly=True) as old,
        opened_as(ctx, target) as new,
        run.progress("Migrating …") as tell,
    ):
        if old.stats().where == new.stats().where:
            raise UsageError(f"{source} and {target} are the same store")
        carry_over(
            old,
            new,
            report,
            where,
            on_conflict=how,
            dry_run=dry_run,
            allow_secrets=allow_secrets,
            now=run.env.clock(),
            told=_telling(tell, "Migrating"),
        )
    return _answer(run, report, dry_run=dry_run, more={"from": source, "to": target})


def _carried(
    ctx: typer.Context,
    items: Callable[[MemoryStore, Report], Iterator[Item]],
    on_conflict: str,
    doing: str,
    *,
    dry_run: bool,
    allow_secrets: bool,
    more: dict[str, Any],
) -> Result[dict[str, Any]]:
    from dshloop.memory.interchange.carrying import carry
    from dshloop.memory.interchange.report import Report

    run, report = invocation(ctx), Report()
    with opened(ctx) as store, run.progress(f"{doing} …") as tell:
        carry(
            store,
            items(store, report),
            report,
            on_conflict=on_conflict,
            dry_run=dry_run,
            allow_secrets=allow_secrets,
            now=run.env.clock(),
            told=_telling(tell, doing),
        )
    return _answer(run, report, dry_run=dry_run, more=more)


def _telling(tell: Callable[[str], None], doing: str) -> Callable[[int], None]:
    return lambda count: tell(f"{doing} … {count:,}")


def _file_items(run: Invocation, file: str, form: str, name: str, report: Report) -> Iterator[Item]:
    from dshloop.memory.interchange import sources
    from dshloop.paths import absolute

    if file == "-":
        with _spooled(run) as stream:
            at = run.env.clock()
            yield from sources.stream_records(stream, form, report, project=name, at=at)
        return
    path: Path = absolute(file, run.env.cwd, run.env.variables)
    yield from sources.records(path, form, report, project=name)


@contextmanager
def _spooled(run: Invocation) -> Iterator[BinaryIO]:
    """Lend standard input as a file that can be read more than once."""
    import shutil
    from tempfile import TemporaryFile

    if run.env.stdin_tty:
        raise UsageError("- reads standard input, which is a terminal", hint="Name a file.")
    with TemporaryFile() as file:
        buffer = getattr(run.env.stdin, "buffer", None)
        if buffer is None:
            file.write(run.env.stdin.read().encode("utf-8", "surrogateescape"))
        else:
            shutil.copyfileobj(buffer, file)
        file.seek(0)
        yield file


def _answer(
    run: Invocation, report: Report, *, dry_run: bool, more: dict[str, Any]
) -> Result[dict[str, Any]]:
    data = {**more, "dry_run": dry_run, **report.as_json(), "notes": report.notes}
    would = "would be " if dry_run else ""
    lines = [
        f"{would}{what}: {counted(data[what])}"
        for what in ("added", "replaced", "merged")
        if report.total(what) or what == "added"
    ]
    if report.total("same"):
        lines.append(f"there already: {counted(data['same'])}")
    failed = bool(report.lost) and not (report.changed or report.total("same"))
    nothing = failed and not (report.total("kept") or report.total("forgotten"))
    code = ExitCode.FAILED if nothing else ExitCode.DONE
    notices = []
    if report.total("added") and not dry_run and run.config.get("memory.semantic"):
        notices.append("recall by meaning needs: dshloop memory reindex --semantic")
    view = "\n".join(lines)
    return Result(data, view, notices=notices, warnings=not_carried(report), exit_code=code)


def _conflict(how: str) -> str:
    from dshloop.memory.answers import CONFLICTS

    if how not in CONFLICTS:
        known = ", ".join(CONFLICTS)
        raise UsageError(f'--on-conflict is one of {known}, not "{how}"', option="--on-conflict")
    return how
