"""`dshloop memory edit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.invocation import Invocation
from dshloop.cli.memory.common import (
    AllowSecrets,
    Id,
    WriteVerb,
    module_app,
)
from dshloop.cli.memory.keep import Concepts, FileRefs, Strength, Type, kept
from dshloop.cli.memory.opening import opened
from dshloop.cli.memory.texts import piped
from dshloop.cli.params import invocation
from dshloop.errors import MemoryEmptyError, UsageError
from dshloop.result import Result

if TYPE_CHECKING:
    from dshloop.memory.entries import Entry

app = module_app()


@app.command(cls=WriteVerb, epilog="Example: dshloop memory edit mem_01a2 --type workflow")
def edit(
    ctx: typer.Context,
    memory_id: Annotated[str, Id],
    text: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT|-]", help="The text; - reads stdin.")
    ] = None,
    content: Annotated[
        str | None, typer.Option("--content", metavar="TEXT", help="The new text.")
    ] = None,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="The new title.")
    ] = None,
    kind: Type = None,
    concepts: Concepts = None,
    files: FileRefs = None,
    strength: Strength = None,
    allow_secrets: AllowSecrets = False,
) -> Result[dict[str, Any]]:
    """Store a new version of a memory, and print its id; what isn't given stays.

    On a terminal, without a text and options, the text is edited in $VISUAL or $EDITOR. Given
    concepts and files take the place of the old ones; --concept "" drops them.
    """
    run = invocation(ctx)
    new = _content(run, text or [], content)
    concepts, files = concepts or None, files or None  # an option that isn't given is []
    labels = (title, kind, concepts, files, strength)
    with opened(ctx) as store:
        if new is None and all(label is None for label in labels):
            old = store.get(memory_id)
            new, memory_id = _edited(run, old), old.id
            if new == old.content:
                return Result({**old.as_json(), "changed": False}, notices=["nothing was changed"])
        done = store.edit(
            memory_id,
            content=new,
            title=title,
            type=kind,
            concepts=concepts,
            files=files,
            strength=strength,
            allow_secrets=allow_secrets,
        )
    changed = done.superseded is not None
    said = f"version {done.memory.version}" if changed else "nothing was changed"
    result = kept(done, [said])
    return result._replace(data={**result.data, "changed": changed})


def _content(run: Invocation, words: list[str], content: str | None) -> str | None:
    if words and content is not None:
        raise UsageError("a text and --content exclude each other", hint="Give one of them.")
    if words == ["-"] or content == "-":
        content = piped(run)
    elif words:
        content = " ".join(words)
    if content is not None and not content.strip():
        raise MemoryEmptyError("there is nothing to remember: the text is blank")
    return content


def _edited(run: Invocation, old: Entry) -> str:
    """Let the user edit the text of a memory on a copy."""
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from dshloop.files import read_text
    from dshloop.profiles.edits.hand_edit import editor_command, run_editor

    if not (run.env.interactive and run.env.stderr_tty):
        raise UsageError(
            "there is nothing to change, and the editor needs a terminal",
            hint="Give a text, -, --content, --title, --type, --concept, --file-ref or --strength.",
        )
    variables = run.env.variables
    command = editor_command(variables)
    with TemporaryDirectory(prefix="dshloop-edit-") as folder:
        copy = Path(folder) / f"{old.id}.md"
        copy.write_bytes((old.content + "\n").encode("utf-8", "surrogatepass"))
        copy.chmod(0o600)
        before = copy.read_bytes()
        run_editor(command, copy, variables)
        if copy.exists() and copy.read_bytes() == before:
            return old.content
        text = read_text(copy)
    new = "" if text is None else text.value.rstrip("\r\n")
    if not new.strip():
        raise MemoryEmptyError("nothing was changed: the text is blank")
    return new
