"""`dshloop memory remember`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.invocation import Invocation
from dshloop.cli.memory import complete
from dshloop.cli.memory.common import (
    AllowSecrets,
    ProjectHere,
    WriteVerb,
    module_app,
    number,
    project,
)
from dshloop.cli.memory.opening import opened
from dshloop.cli.memory.texts import file_text, piped, redaction
from dshloop.cli.params import invocation
from dshloop.errors import UsageError
from dshloop.result import Result
from dshloop.terminal import one_line

if TYPE_CHECKING:
    from dshloop.memory.answers import Remembered

app = module_app()

Type = Annotated[
    str | None,
    typer.Option(
        "--type",
        metavar="TYPE",
        help="pattern, preference, architecture, bug, workflow or fact.",
        autocompletion=complete.memory_types,
    ),
]
Title = Annotated[
    str | None, typer.Option("--title", metavar="TEXT", help="Instead of the first words.")
]
Concepts = Annotated[
    list[str] | None,
    typer.Option(
        "--concept",
        metavar="WORD",
        help="A word to find it by; may be repeated.",
        autocompletion=complete.concepts,
    ),
]
FileRefs = Annotated[
    list[str] | None,
    typer.Option(
        "--file-ref",
        metavar="PATH",
        help="A file it is about; may be repeated.",
        autocompletion=complete.files,
    ),
]
Strength = Annotated[
    float | None,
    typer.Option(
        "--strength", min=0, max=10, metavar="0-10", callback=number, help="How much it is worth."
    ),
]


@app.command(cls=WriteVerb, epilog='Example: dshloop memory remember "We deploy on Fridays"')
def remember(
    ctx: typer.Context,
    text: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT|-]", help="The text; - reads stdin.")
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file", metavar="PATH", help="Read the text from a file (about one: --file-ref)."
        ),
    ] = None,
    kind: Type = None,
    title: Title = None,
    concepts: Concepts = None,
    files: FileRefs = None,
    project_name: ProjectHere = None,
    everywhere: Annotated[
        bool, typer.Option("--global", help="Keep it for every project.")
    ] = False,
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent", metavar="NAME", help="Whose it is.", autocompletion=complete.agents
        ),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(
            "--session", metavar="ID", help="Where it is from.", autocompletion=complete.sessions
        ),
    ] = None,
    ttl: Annotated[
        str | None,
        typer.Option(
            "--ttl",
            metavar="TIME",
            help="Drop it after 24h, 30d, ...",
            autocompletion=complete.moments,
        ),
    ] = None,
    strength: Strength = None,
    allow_secrets: AllowSecrets = False,
) -> Result[dict[str, Any]]:
    """Keep a text, and print its id.

    The same text again is counted, not doubled. A text that is nearly the same as an older one
    takes its place; numbers and names that differ keep both. Secrets are taken out.
    """
    from dshloop.memory.entries import NewMemory
    from dshloop.memory.moments import read_seconds

    run = invocation(ctx)
    new = NewMemory(
        content=_text(run, text or [], file),
        project=_project(run, project_name, everywhere=everywhere),
        type=kind,
        title=title,
        concepts=concepts or (),
        files=files or (),
        agent=agent,
        session=session,
        source={"kind": "command"},
        strength=strength,
        ttl=None if ttl is None else read_seconds(ttl),
    )
    with opened(ctx) as store:
        done = store.remember(new, allow_secrets=allow_secrets)
    return kept(done, [_said(done)])


def kept(done: Remembered, notices: Sequence[str]) -> Result[dict[str, Any]]:
    """Give what came of a memory that was stored or changed."""
    old, similar = done.superseded, done.similar
    data = {
        **done.memory.as_json(),
        "merged": done.merged,
        "superseded": None if old is None else old.id,
        "similar": None
        if similar is None
        else {
            "id": similar.memory.id,
            "title": similar.memory.title,
            "similarity": round(similar.similarity, 2),
        },
        "redacted": done.redacted,
    }
    said = [*notices]
    if similar is not None:
        title = one_line(similar.memory.title)
        said.append(f"similar ({similar.similarity:.2f}): {similar.memory.id}  {title}")
    return Result(data, done.memory.id, notices=said, warnings=redaction(done.redacted))


def _said(done: Remembered) -> str:
    memory = done.memory
    where = f"in project {memory.project}" if memory.project else "for every project"
    if done.merged:
        return f"counted again ({memory.repeats} times) as {memory.type} {where}"
    if done.superseded is not None:
        title = one_line(done.superseded.title)
        return (
            f"remembered as {memory.type} {where}, in place of {done.superseded.id}  {title}\n"
            f"To keep both, undo and say it in other words: dshloop memory undo"
        )
    return f"remembered as {memory.type} {where}"


def _project(run: Invocation, name: str | None, *, everywhere: bool) -> str:
    from dshloop.memory.project import project_here

    if everywhere:
        if name is not None:
            raise UsageError("--global and --project exclude each other")
        return ""
    return project(run, name) or project_here(run.env.variables, run.env.cwd)


def _text(run: Invocation, words: Sequence[str], file: str | None) -> str:
    """Give the text to remember from the one place that was named."""
    from dshloop.errors import MemoryEmptyError

    if file is not None:
        if words:
            raise UsageError(
                "a text and --file exclude each other",
                hint="--file is read as the text. To say what a text is about: --file-ref PATH.",
            )
        return file_text(run, file)
    if list(words) == ["-"]:
        return piped(run)
    if not words:
        raise MemoryEmptyError("there is nothing to remember")
    return " ".join(words)
