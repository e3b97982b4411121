"""The commands that give a conversation out: as a file, as text, as JSON."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from dshloop.cli.repl.words import count_of, file_of
from dshloop.errors import UsageError
from dshloop.files import shown
from dshloop.paths import absolute

if TYPE_CHECKING:
    from dshloop.cli.repl.talk import Talk
    from dshloop.runs.kept.exporting import Exported, Format

_SUFFIXES: dict[str, Format] = {
    ".html": "html", ".htm": "html", ".json": "json", ".jsonl": "jsonl",
}  # fmt: skip
_NAMES: dict[str, Format] = {
    "markdown": "markdown", "md": "markdown", "html": "html", "json": "json", "jsonl": "jsonl",
}  # fmt: skip
_CONTROL = re.compile("[\x7f-\x9f\u2028\u2029]")


async def save(talk: Talk, words: str) -> None:
    """Write the session to a new file."""
    words = file_of(words)
    if not words:
        raise UsageError("/save needs the name of a file", hint="/save talk.md")
    _write(talk, words, _SUFFIXES.get(Path(words).suffix.lower(), "markdown"))


async def export(talk: Talk, words: str) -> None:
    """Print the session, or write it to a new file."""
    first, _, rest = words.partition(" ")
    form, file = (_NAMES[first], rest.strip()) if first in _NAMES else (None, words)
    file = file_of(file)
    if file:
        named = _SUFFIXES.get(Path(file).suffix.lower(), "markdown")
        _write(talk, file, form or named)
    else:
        talk.screen.write(_exported(talk, form or "markdown").text())


async def json(talk: Talk, words: str) -> None:
    """Print turns as the JSON that `session export --format json` gives."""
    last = None if words == "all" else count_of(words or "1")
    if last is None and words != "all":
        raise UsageError(f'/json takes a number of turns or all, not "{words}"', hint="/json 2")
    text = _exported(talk, "json", last).text()
    # What would act on a terminal is written as JSON's own escapes, so that it stays JSON.
    talk.screen.write(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def _write(talk: Talk, name: str, form: Format) -> None:
    path = absolute(name, talk.env.cwd, talk.env.variables)
    _exported(talk, form).write(path)
    talk.screen.notice(f"wrote {shown(path)}")


def _exported(talk: Talk, form: Format, last: int | None = None) -> Exported:
    from dshloop.runs.kept.exporting import export_session

    talk.require_stored()
    if not talk.conversation.kept:
        talk.screen.notice("without what was said here, which is kept nowhere (--read-only)")
    return export_session(
        talk.places, talk.conversation.id, talk.env.cwd, form, last=last
    )  # fmt: skip
