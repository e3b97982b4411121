"""The full-text index: which words an entry is found by.

A row of ``memory_index`` has the number of its entry (rowid = seq) and the words of four fields as
text.py makes them, joined by blanks. Only latest memories and observations are in it. The table
``tally`` keeps what ranking needs to know of the whole store, so that nothing has to count a
million rows; triggers on ``entries`` keep it right.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from dshloop.memory.entries import Entry, title_of
from dshloop.text import words

FIELDS = ("title", "content", "concepts", "files")
"""The index's columns, in order."""

_CONTENT = FIELDS.index("content")
_INSERT = f"INSERT INTO memory_index (rowid, {', '.join(FIELDS)}) VALUES (?{', ?' * len(FIELDS)})"

Indexed = tuple[str, ...]
"""The words of each of ``FIELDS``, joined by blanks."""


def index_of(entry: Entry) -> Indexed:
    """Give an entry's words, field by field; this is the costly part, and needs no database.

    A title that was made from the content is left out, so that its words aren't counted twice.
    """
    title = "" if entry.title == title_of(entry.content) else entry.title
    texts = (title, entry.content, "\n".join(entry.concepts), "\n".join(entry.files))
    return tuple(" ".join(words(text)) if text else "" for text in texts)


def length(indexed: Indexed) -> int:
    """Count the words; the entry's row keeps it in ``words``."""
    return sum(text.count(" ") + 1 for text in indexed if text)


def add(connection: sqlite3.Connection, seq: int, indexed: Indexed) -> None:
    """Make an entry findable."""
    connection.execute(_INSERT, (seq, *indexed))


def drop(connection: sqlite3.Connection, seq: int) -> None:
    """Make an entry no longer findable."""
    connection.execute("DELETE FROM memory_index WHERE rowid = ?", (seq,))


def content_forms(indexed: Indexed) -> list[str]:
    """Give the distinct words of the content, in order."""
    return list(dict.fromkeys(indexed[_CONTENT].split(" "))) if indexed[_CONTENT] else []


def rows_with(connection: sqlite3.Connection, form: str, most: int) -> int:
    """Count the entries whose content has a word, no further than ``most``: common words are
    in so many that counting them all would be slow."""
    (count,) = connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM memory_index WHERE memory_index MATCH ? LIMIT ?)",
        (f"content : {quoted(form)}", most),
    ).fetchone()
    return int(count)


def with_all(connection: sqlite3.Connection, forms: Sequence[str], most: int) -> list[int]:
    """Give the rows whose content has all of some words, the newest first, at most ``most``."""
    match = f"content : ({' AND '.join(map(quoted, forms))})"
    rows = connection.execute(
        "SELECT rowid FROM memory_index WHERE memory_index MATCH ? ORDER BY rowid DESC LIMIT ?",
        (match, most),
    )
    return [seq for (seq,) in rows]


def quoted(form: str) -> str:
    """Write a word so that the index's query language reads nothing into it."""
    return '"' + form.replace('"', '""') + '"'
