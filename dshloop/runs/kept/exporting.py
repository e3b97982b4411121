"""Export a session: what is whole of it, in a form that others can use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args

from dshloop.errors import OutputRefusedError, SessionUnreadableError
from dshloop.files import shown, writing
from dshloop.json_text import json_text
from dshloop.paths import Places, private_folder
from dshloop.runs.kept.show import Shown, show_session
from dshloop.sessions.catalog import title_of
from dshloop.sessions.events import lenient_line
from dshloop.sessions.export.about import About
from dshloop.sessions.export.pieces import last_turns, pieces
from dshloop.sessions.naming import encode_id, folder_of
from dshloop.sessions.to_v4 import v4_events, v4_header
from dshloop.sessions.writing import new_log
from dshloop.times import iso_time
from dshloop.transcripts.dsh import counts_text
from dshloop.transcripts.vocabulary import V0, V4, Event

Format = Literal["markdown", "json", "jsonl", "html", "dsh"]
FORMATS: tuple[Format, ...] = get_args(Format)


@dataclass(frozen=True, slots=True)
class Exported:
    """A session in one format: ``parts`` make up the text, one after the other."""

    session: Shown
    format: Format
    parts: Iterable[str | bytes]

    @property
    def id(self) -> str | None:
        """The session's id, as its header says."""
        header = self.session.transcript.header
        return header.id if header else None

    def text(self) -> str:
        """Give all of it as text."""
        return "".join(
            part if isinstance(part, str) else part.decode("utf-8") for part in self.parts
        )

    def write(self, path: Path) -> None:
        """Write it to a new file. Raises OUTPUT_EXISTS, WRITE_FAILED; nothing is left then."""
        with new_log(path, mode=0o644 if self.format in ("markdown", "html") else 0o600) as file:
            for part in self.parts:
                file.write(
                    part.encode("utf-8", "backslashreplace") if isinstance(part, str) else part
                )


def export_session(
    places: Places, name: str, cwd: Path, form: Format, *, last: int | None = None
) -> Exported:
    """Read a session and put it in a format; ``last`` turns only, or all.

    Raises what finding and reading raise, SESSION_UNREADABLE for a log whose format can't be made
    into dsh's.
    """
    session = show_session(places, name, cwd)
    read = session.transcript
    events = last_turns([*read.events, *read.later], last)
    if form == "markdown":
        from dshloop.sessions.export.markdown import markdown

        return Exported(session, form, [markdown(_about(session), pieces(events))])
    if form == "html":
        from dshloop.sessions.export.page import page

        return Exported(session, form, [page(_about(session), pieces(events))])
    if form == "json":
        whole = session.as_json()
        shown_events = {"events": last_turns(read.events, last), "later_events": []}
        return Exported(session, form, [json_text({**whole, **shown_events}) + "\n"])
    if form == "jsonl":
        return Exported(session, form, _lines(session, events))
    return Exported(session, form, _dsh_lines(session))


def dsh_place(places: Places, session: Shown) -> Path:
    """Give where dsh looks for a session, with the suffix that its other logs have.

    Raises OUTPUT_REFUSED for a session that is dsh's already.
    """
    read = session.transcript
    assert read.header is not None, "only a log with a header can be exported to dsh"
    root = places.dsh_sessions
    if read.path.is_relative_to(root):
        raise OutputRefusedError(
            f"session {read.header.id} is dsh's already", file=shown(read.path)
        )
    plain = any(root.glob("*/*/session*.jsonl"))
    name = "session.v4.jsonl" if plain else "session.v4.jsonl.zstd"
    path = root / folder_of(read.header.cwd) / encode_id(read.header.id) / name
    with writing(path):
        private_folder(path.parent)
    return path


def _about(session: Shown) -> About:
    read, stored = session.transcript, session.stored
    header = read.header
    loop = f"{stored.loop} on {stored.driver}" if stored.driver else stored.loop
    facts: list[tuple[str, str]] = [("Session", header.id if header else "?")]
    if header is not None:
        facts.append(("Started", iso_time(header.created_at / 1000)))
        facts.append(("Folder", header.cwd or "none"))
    facts.append(("Loop", loop + ("" if stored.recorded else " (inferred)")))
    facts.append(("Content", counts_text(read.counts)))
    if read.damage is not None:
        facts.append(("Damage", read.damage.message))
    return About(header.id if header else "?", title_of(read.events), tuple(facts))


def _lines(session: Shown, events: Sequence[Event]) -> Iterator[bytes]:
    header = session.transcript.header
    if header is not None:
        yield lenient_line(header.raw)
    yield from map(lenient_line, events)


def _dsh_lines(session: Shown) -> Iterator[bytes]:
    """Give the lines of a v4 log; an open turn is closed as dsh would close it."""
    read = session.transcript
    if read.header is None or read.header.version not in (V0, V4):
        reason = read.findings[0].message
        raise SessionUnreadableError(
            f"can't make {shown(read.path)} a log of dsh's: {reason}", file=shown(read.path)
        )
    events = chain(read.events, read.closers())
    if read.version == V4:
        return map(lenient_line, chain([dict(read.header.raw)], events))
    return map(
        lenient_line, chain([v4_header(read.header)], v4_events(events, read.header.agent_preset))
    )


def outcome(exported: Exported, out: Path | None, text: str | None) -> dict[str, Any]:
    """Give what a program is told of an export: the text itself, or the file it is in."""
    where = {"text": text} if out is None else {"out": shown(out)}
    return {"id": exported.id, "format": exported.format, **where}
