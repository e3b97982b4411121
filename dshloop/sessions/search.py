"""Full-text search over all sessions: who said it, in which turn of which session.

The index follows the logs: a log that only grew is indexed from its last ended turn on, one that
is otherwise new is indexed anew, and what is gone is forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshloop.errors import DshloopError, SearchFailedError
from dshloop.files import shown
from dshloop.sessions.catalog import Entry
from dshloop.sessions.export.pieces import Piece, pieces
from dshloop.sessions.index import SessionIndex, transaction
from dshloop.terminal import one_line
from dshloop.text import Word, question, words
from dshloop.times import iso_time
from dshloop.transcripts.scan import open_scan
from dshloop.transcripts.vocabulary import Event

if TYPE_CHECKING:
    import sqlite3

_LONGEST = {"tool": 20_000}  # characters of a passage that are indexed
_LONGEST_OTHER = 200_000
_BATCH = 50  # logs in one transaction
_TAIL = 64  # bytes by which a log that grew is known
_SNIPPET = 120  # characters
_TOKEN = re.compile(r"[\w-]+")
_KINDS = frozenset({"user", "assistant", "thinking", "tool", "context"})


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage that was found; ``time`` in epoch ms."""

    session: str
    home: str
    path: str
    turn: int
    seq: int
    time: int
    kind: str
    snippet: str

    def as_json(self) -> dict[str, Any]:
        """Give it as a JSON object."""
        return {
            "session": self.session,
            "home": self.home,
            "turn": self.turn,
            "seq": self.seq,
            "time": iso_time(self.time / 1000),
            "kind": self.kind,
            "snippet": self.snippet,
            "path": self.path,
        }


@dataclass(frozen=True, slots=True)
class Found:
    """Hits by session, the newest first, and by turn; whether there were more."""

    hits: list[Hit]
    more: bool


def search(index: SessionIndex, found: Sequence[Entry], text: str, *, limit: int) -> Found:
    """Ask the index for what was said in some sessions; `bring_up_to_date` comes first.

    Every word of ``text`` must be in one passage. Raises SEARCH_FAILED when the index can be
    neither used nor made.
    """
    asked = question(text)
    if not asked or not found:
        return Found([], False)
    rows = index.attempt(lambda connection: _search(connection, found, asked, limit), None)
    if rows is None:
        raise SearchFailedError(
            f"the index {shown(index.path)} can't be used: it is locked or can't be written",
            file=shown(index.path),
        )
    return Found([_hit(row, asked) for row in rows[:limit]], len(rows) > limit)


def _hit(row: tuple[Any, ...], asked: tuple[Word, ...]) -> Hit:
    session, home, path, turn, seq, time, kind, said = row
    return Hit(session, home, path, turn, seq, time, kind, _snippet(said, asked))


def bring_up_to_date(index: SessionIndex, found: Sequence[Entry]) -> None:
    """Index what is new in any session, as well as that can be done; ``found`` is all of them."""
    index.attempt(lambda connection: update(connection, found), None)


def _search(
    connection: sqlite3.Connection, found: Sequence[Entry], asked: tuple[Word, ...], limit: int
) -> list[tuple[Any, ...]]:
    wanted = {entry.file for entry in found}
    rows = connection.execute(
        "SELECT session, home, path, turn, seq, time, kind, said FROM passage_index"
        " JOIN passage ON passage.id = passage_index.rowid JOIN searched USING (log)"
        " WHERE passage_index MATCH ? ORDER BY searched.updated DESC, log, seq",
        (_match(asked),),
    )
    hits = []
    for row in rows:
        if row[2] in wanted:
            hits.append(row)
            if len(hits) > limit:
                break
    return hits


def _match(asked: tuple[Word, ...]) -> str:
    return " AND ".join(f"({_form(word)})" for word in asked)


def _form(word: Word) -> str:
    parts = " AND ".join(map(_quoted, word.parts))
    if word.exact is None:
        return parts
    return f"{_quoted(word.exact)} OR ({parts})" if parts else _quoted(word.exact)


def _quoted(form: str) -> str:
    return '"' + form.replace('"', '""') + '"'


# --- the index ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Known:
    """What is indexed of a log: up to which turn's end, and how the file ended then."""

    log: int
    size: int
    updated: float
    through: int
    tail: bytes


def update(connection: sqlite3.Connection, found: Sequence[Entry]) -> None:
    """Index what is new or changed; logs that are gone from the disk are forgotten."""
    known = {
        row[0]: _Known(*row[1:])
        for row in connection.execute(
            "SELECT path, log, size, updated, through, tail FROM searched"
        )
    }
    changed = [entry for entry in found if not _is_current(known.get(entry.file), entry)]
    there = {entry.file for entry in found}
    gone = [each.log for path, each in known.items() if path not in there and _is_gone(path)]
    if gone:
        with transaction(connection):
            for log in gone:
                _forget(connection, log, after=-1)
                connection.execute("DELETE FROM searched WHERE log = ?", (log,))
    for start in range(0, len(changed), _BATCH):
        with transaction(connection):
            for entry in changed[start : start + _BATCH]:
                _index(connection, entry, known.get(entry.file))


def _is_current(known: _Known | None, entry: Entry) -> bool:
    return known is not None and (known.size, known.updated) == (entry.size, entry.updated)


def _is_gone(path: str) -> bool:
    return not Path(path).exists()


def _index(connection: sqlite3.Connection, entry: Entry, known: _Known | None) -> None:
    grew = known is not None and entry.size > known.size and _tail(entry, known.size) == known.tail
    through = known.through if known is not None and grew else -1
    if known is None:
        log = connection.execute(
            "INSERT INTO searched (path, size, updated, session, home, through, tail)"
            " VALUES (?, 0, 0, ?, ?, -1, '')",
            (entry.file, entry.id, entry.home),
        ).lastrowid
        assert log is not None
    else:
        log = known.log
        _forget(connection, log, after=through)
    reading = _Reading(through)
    for turn, piece in reading.passages(entry):
        _add(connection, log, turn, piece)
    connection.execute(
        "UPDATE searched SET size = ?, updated = ?, through = ?, tail = ? WHERE log = ?",
        (entry.size, entry.updated, reading.through, _tail(entry, entry.size), log),
    )


class _Reading:
    """One pass over a log for what is to be indexed of it."""

    def __init__(self, through: int) -> None:
        self._after = through
        self.through = through

    def passages(self, entry: Entry) -> Iterator[tuple[int, Piece]]:
        """Give turn and piece of what was said behind the last turn's end that is indexed."""
        turn = 0
        try:
            with open_scan(entry.path) as scan:
                for piece in pieces(self._watched(scan)):
                    if piece.kind == "turn":
                        turn = int(piece.label) if piece.label.isdecimal() else turn
                    elif piece.kind in _KINDS and piece.seq > self._after:
                        yield turn, piece
        except DshloopError:
            return  # it vanished, or can't be read: listings say so

    def _watched(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            yield event
            if event["type"] == "turn/end":
                self.through = max(self.through, event["seq"])


def _add(connection: sqlite3.Connection, log: int, turn: int, piece: Piece) -> None:
    label = piece.label if piece.kind in ("tool", "context") else ""
    said = "\n".join(filter(None, (label, piece.text, piece.result)))
    said = said[: _LONGEST.get(piece.kind, _LONGEST_OTHER)]
    number = connection.execute(
        "INSERT INTO passage (log, turn, seq, time, kind, said) VALUES (?, ?, ?, ?, ?, ?)",
        (log, turn, piece.seq, piece.time, piece.kind, said.encode("utf-8", "replace").decode()),
    ).lastrowid
    connection.execute(
        "INSERT INTO passage_index (rowid, words) VALUES (?, ?)", (number, _words(said))
    )


def _forget(connection: sqlite3.Connection, log: int, *, after: int) -> None:
    rows = connection.execute(
        "SELECT id, said FROM passage WHERE log = ? AND seq > ?", (log, after)
    ).fetchall()
    for number, said in rows:
        connection.execute(
            "INSERT INTO passage_index (passage_index, rowid, words) VALUES ('delete', ?, ?)",
            (number, _words(said)),
        )
    connection.execute("DELETE FROM passage WHERE log = ? AND seq > ?", (log, after))


def _words(said: str) -> str:
    return " ".join(words(said.encode("utf-8", "replace").decode()))


def _tail(entry: Entry, size: int) -> bytes:
    try:
        with entry.path.open("rb") as file:
            file.seek(max(0, size - _TAIL))
            return file.read(min(size, _TAIL))
    except OSError:
        return b""


# --- snippets ----------------------------------------------------------------------------------


def _snippet(said: str, asked: tuple[Word, ...]) -> str:
    """Give the words around the first place where something asked for stands."""
    at = _place(said, asked)
    start = max(0, at - _SNIPPET // 3)
    if start:
        space = said.find(" ", start, at)
        start = space + 1 if space >= 0 else start
    cut = one_line(said[start : start + 2 * _SNIPPET], _SNIPPET)
    return f"…{cut}" if start else cut


def _place(said: str, asked: tuple[Word, ...]) -> int:
    low = said.lower()
    places = [at for word in asked if (at := low.find(word.shown.lower())) >= 0]
    if places:
        return min(places)
    forms = {form for word in asked for form in word.forms}
    for token in _TOKEN.finditer(said):
        if not forms.isdisjoint(words(token.group())):
            return token.start()
    return 0
