"""How memories, observations and sessions look to people: text, tables and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from dshloop.cli.memory.common import given, origins
from dshloop.cli.params import invocation
from dshloop.errors import UsageError
from dshloop.result import Lines, Result, Table, View
from dshloop.terminal import one_line
from dshloop.times import iso_time

if TYPE_CHECKING:
    from dshloop.memory.answers import Hit
    from dshloop.memory.entries import Entry
    from dshloop.memory.merging import Origin

SNIPPET = 240  # characters of a text that a hit shows
LINE = 80  # characters of it that stand behind a title
_BRIEF_KEYS = ("store", "score", "position", "kind", "id", "type", "title", "project", "session")
_LABELS = (
    "id", "type", "hook", "project", "agent", "session", "title", "subtitle", "concepts", "files",
    "created_at", "updated_at", "expires_at", "strength", "version", "previous", "repeats",
)  # fmt: skip
_EVERY = "every project"


class Form(NamedTuple):
    """What --format, --brief and --full ask for; ``kind`` is text, json, jsonl or md.

    ``origin`` tells where an entry is from, where several stores were asked.
    """

    kind: str
    brief: bool
    full: bool
    origin: Callable[[Entry], Origin] | None = None

    @property
    def plain(self) -> bool:
        """Whether nothing else than the usual text was asked for."""
        return self.kind == "text" and not (self.brief or self.full)

    def placed(self, entry: Entry) -> tuple[str, ...]:
        """Name the store of an entry, and how many more have it; nothing for one store."""
        if self.origin is None:
            return ()
        store, also, _ = self.origin(entry)
        return (f"{store}+{len(also)}" if also else store,)

    def ranks(self, entry: Entry) -> list[str]:
        """Give the places that a hit has in what stores found, as words."""
        found = {} if self.origin is None else self.origin(entry).ranks
        return [f"{rank} of {store}" for store, rank in found.items()]


def form(ctx: typer.Context) -> Form:
    """Read the options on how an answer is printed; --json is --format json."""
    asked = given(ctx)
    brief, full = "brief" in asked, "full" in asked
    if brief and full:
        raise UsageError("--brief and --full exclude each other")
    kind = asked.get("format", "text")
    if invocation(ctx).json and kind != "jsonl":
        kind = "json"
    return Form(kind, brief, full, origins(ctx))


def row_of(ctx: typer.Context, entry: Entry, row: dict[str, Any]) -> dict[str, Any]:
    """Put the store of an entry into its JSON value, where several were asked."""
    known = origins(ctx)
    return row if known is None else {**row, **known(entry).as_json()}


def listed(
    ctx: typer.Context, rows: Sequence[dict[str, Any]], view: Callable[[Form], View], **more: Any
) -> Result[Any]:
    """Give the answer of a verb that lists: a JSON array, a JSON line for each, or a view."""
    how = form(ctx)
    values = [briefly(row) for row in rows] if how.brief else list(rows)
    data = Lines(values) if how.kind == "jsonl" else values
    return Result(data, view(how) if how.kind in ("text", "md") else "", **more)


def briefly(row: dict[str, Any]) -> dict[str, Any]:
    """Keep of an entry's JSON value what one line of text tells."""
    return {key: row[key] for key in (*_BRIEF_KEYS, "created_at") if key in row}


def hits_view(hits: Sequence[Hit], how: Form, *, why: bool) -> str:
    """Lay out hits, best first."""
    if how.kind == "md":
        return "\n".join(_markdown(hit.entry, how, f"score {hit.score:.2f}") for hit in hits)
    if how.brief and not why:
        return "\n".join(f"{hit.score:.2f}  {_line(hit.entry, how)}" for hit in hits)
    return "\n".join(_hit(hit, how, why=why) for hit in hits)


def entries_view(entries: Sequence[Entry], how: Form, empty: str) -> View:
    """Lay out entries: a table, lines with --brief, pages with --full."""
    if not entries:
        return Table((), (), empty=empty)
    if how.kind == "md":
        return "\n".join(_markdown(entry, how) for entry in entries)
    if how.brief:
        return "\n".join(_line(entry, how) for entry in entries)
    if how.full:
        return "\n\n".join(page(entry, how) for entry in entries)
    columns = (*(("STORE",) if how.origin else ()), "ID", "CREATED", "TYPE", "PROJECT", "TITLE")
    rows = [(*how.placed(entry), *cells(entry)) for entry in entries]
    return Table(columns, rows, empty=empty)


def cells(entry: Entry) -> tuple[str, ...]:
    """Give an entry as a row of a table."""
    project = entry.project or "-"
    return (entry.id, when(entry.created_at), entry.type, project, named(entry))


def named(entry: Entry) -> str:
    """Name an entry on one line: an observation's title is only its tool or hook."""
    from dshloop.memory.entries import MEMORY

    title = one_line(entry.title)
    return title if entry.kind == MEMORY else f"{title}: {one_line(entry.content, LINE)}"


def when(at: float) -> str:
    """Write a moment to the minute, in UTC as everything we print."""
    return iso_time(at)[:16].replace("T", " ")


def counted(entries: Sequence[Entry]) -> str:
    """Count entries by their kinds, in words."""
    from dshloop.memory.entries import MEMORY

    memories = sum(entry.kind == MEMORY for entry in entries)
    others = len(entries) - memories
    parts = []
    if memories or not others:
        parts.append("1 memory" if memories == 1 else f"{memories} memories")
    if others:
        parts.append(f"{others} observation{'s' * (others != 1)}")
    return " and ".join(parts)


def page(entry: Entry, how: Form) -> str:
    """Lay out one entry: its labels, then its text as it is."""
    data = entry.as_json()
    lines = [f"{'store':<9} {name}" for name in how.placed(entry)]
    for key in _LABELS:
        value = data.get(key)
        text = ", ".join(value) if isinstance(value, list) else str(value or "")
        if key == "project" and not text:
            text = _EVERY
        if text:
            lines.append(f"{key.removesuffix('_at'):<9} {one_line(text)}")
    return "\n".join([*lines, "", entry.content])


def _line(entry: Entry, how: Form) -> str:
    return "  ".join((*how.placed(entry), entry.id, named(entry)))


def _hit(hit: Hit, how: Form, *, why: bool) -> str:
    """Lay out one hit: what it is, then its title, and its text where that says more."""
    entry = hit.entry
    labels = (entry.id, entry.type, one_line(entry.project or _EVERY))
    head = "  ".join((f"{hit.score:.2f}", *how.placed(entry), *labels))
    lines = [head, *(_titled(entry, how) if not how.brief else [named(entry)])]
    if hit.folded:
        lines.append(f"(stands for {len(hit.folded)} more that say nearly the same)")
    return "\n  ".join([*lines, *(_reasons(hit, how) if why else [])])


def _titled(entry: Entry, how: Form) -> list[str]:
    title = one_line(entry.title)
    if how.full:
        text = entry.content.split("\n")
        return text if one_line(entry.content).startswith(title) else [title, *text]
    shown = one_line(entry.content, SNIPPET)
    return [shown] if shown.startswith(title) else [title, shown]


def _reasons(hit: Hit, how: Form) -> list[str]:
    why = hit.why
    told = (
        ("words", why.words),
        ("in", why.fields),
        ("as a beginning", why.prefixes),
        ("in its neighbours", why.context),
        ("missing", why.missing),
        ("score", [f"{name} {part:.2f}" for name, part in why.parts.items()]),
        ("number", how.ranks(hit.entry)),
    )
    return [f"{name + ':':<19} {one_line(', '.join(values))}" for name, values in told if values]


def _markdown(entry: Entry, how: Form, *facts: str) -> str:
    """Lay out an entry as a section; its text is quoted, so it can't begin one of its own."""
    title = named(entry) or entry.id
    if how.brief:
        return f"- {title} (`{entry.id}`)"
    labels = [entry.type, entry.project or _EVERY, when(entry.created_at), f"`{entry.id}`", *facts]
    labels += how.placed(entry)
    text = entry.content if how.full else one_line(entry.content, SNIPPET)
    quoted = "\n".join(f"> {line}".rstrip() for line in text.splitlines())
    return f"## {title}\n\n{' · '.join(map(one_line, labels))}\n\n{quoted}\n"
