"""The full-text index: which words an entry is found by.

A row of ``memory_index`` has the number of its entry (rowid = seq) and the words of four fields as
text.py makes them, joined by blanks; beside them, not searched, what ranking wants to know of how
it was said. Only latest memories and observations are in it. The table ``tally`` keeps what ranking
needs to know of the whole store, so that nothing has to count a million rows; triggers on
``entries`` keep it right.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from dshloop.memory.entries import Entry, Memory, Observation, title_of
from dshloop.text import joined_words, words

FIELDS = ("title", "content", "concepts", "files")
"""The index's columns that are searched, in order; ``manner`` follows them."""

ASKS = "?"
"""The last word of the manner of an entry that ends in a question."""

# Every word is one token of ours: nothing but blanks separates. No positions and no sizes are kept,
# nothing asks for them: a third less to write, and common words are read faster.
_CREATE = f"""
    CREATE VIRTUAL TABLE {{name}} USING fts5 (
      {", ".join(FIELDS)}, manner UNINDEXED,
      tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'",
      detail = column, columnsize = 0
    )
"""
_WORDS = "CREATE VIRTUAL TABLE memory_words USING fts5vocab (memory_index, row)"
# What FTS5 writes into its own tables when they are new.
_EMPTIED = (
    "DELETE FROM memory_index_data",
    "INSERT INTO memory_index_data (id, block) VALUES (1, x''), (10, x'00000000000000')",
    "INSERT OR REPLACE INTO memory_index_config (k, v) VALUES ('version', 4)",
)
_CONTENT = FIELDS.index("content")
_INSERT = (
    f"INSERT INTO {{name}} (rowid, {', '.join(FIELDS)}, manner) VALUES (?{', ?' * len(FIELDS)}, ?)"
)
_ADD = _INSERT.format(name="memory_index")
_MOST_SPEAKER = 40  # characters before a colon that can be a name
_MOST_NOTE = 400  # characters of a note in brackets at the end

Indexed = tuple[str, ...]
"""The words of each of ``FIELDS``, joined by blanks, and the manner."""


def index_of(entry: Entry) -> Indexed:
    """Give an entry's words, field by field; this is the costly part, and needs no database.

    A title that was made from the content is left out, so that its words aren't counted twice.
    """
    title = "" if entry.title == title_of(entry.content) else entry.title
    if isinstance(entry, Observation) and entry.subtitle:
        title = f"{title}\n{entry.subtitle}"
    texts = (title, entry.content, "\n".join(entry.concepts), "\n".join(entry.files))
    return (*(joined_words(text) if text else "" for text in texts), manner_of(entry.content))


def manner_of(content: str) -> str:
    """Tell how something was said: the words of the speaker's name where it begins like
    ``Ann Lee: ...``, then ``ASKS`` where it ends in a question (a note in brackets aside)."""
    name, colon, _ = content[: _MOST_SPEAKER + 2].partition(": ")
    spoken = colon and "\n" not in name and all(part[:1].isupper() for part in name.split())
    said = list(words(name)) if spoken else []
    ending = content[-_MOST_NOTE:].rstrip()
    if ending.endswith("]") and "[" in ending:
        ending = ending[: ending.rindex("[")].rstrip()
    return " ".join([*said, ASKS] if ending.endswith(("?", "？")) else said)


def length(indexed: Indexed) -> int:
    """Count the words; the entry's row keeps it in ``words``."""
    return sum(text.count(" ") + 1 for text in indexed[: len(FIELDS)] if text)


def create(connection: sqlite3.Connection) -> None:
    """Make an empty index, in place of one that is there."""
    connection.execute("DROP TABLE IF EXISTS memory_words")
    connection.execute("DROP TABLE IF EXISTS memory_index")
    create_beside(connection, "memory_index")
    connection.execute(_WORDS)


def create_beside(connection: sqlite3.Connection, name: str) -> None:
    """Make an empty index of another name, to be filled while the first is used."""
    connection.execute(statement(name))


def statement(name: str) -> str:
    """Give the statement that makes an index."""
    return _CREATE.format(name=name)


def replace_by(connection: sqlite3.Connection, name: str) -> None:
    """Put an index of another name in the place of the first."""
    connection.execute("DROP TABLE IF EXISTS memory_words")
    try:
        connection.execute("DROP TABLE IF EXISTS memory_index")
    except sqlite3.DatabaseError:  # one that is damaged can't even be opened to be dropped
        for statement_ in _EMPTIED:
            connection.execute(statement_)
        connection.execute("DROP TABLE memory_index")
    connection.execute(f"ALTER TABLE {name} RENAME TO memory_index")
    connection.execute(_WORDS)


def reindex_all(connection: sqlite3.Connection) -> None:
    """Make the index anew from the entries, row by row; the tally follows by its triggers."""
    from dshloop.memory.sqlite.rows import COLUMNS, entry_of

    create(connection)
    rows = connection.execute(
        f"SELECT seq, words, {COLUMNS} FROM entries WHERE latest ORDER BY seq"
    )
    for seq, counted, *row in rows:
        indexed = index_of(entry_of(row))
        add(connection, seq, indexed)
        if length(indexed) != counted:
            values = (length(indexed), seq)
            connection.execute("UPDATE entries SET words = ? WHERE seq = ?", values)


def add(
    connection: sqlite3.Connection, seq: int, indexed: Indexed, name: str | None = None
) -> None:
    """Make an entry findable; ``name`` is an index beside the first."""
    connection.execute(_INSERT.format(name=name) if name else _ADD, (seq, *indexed))


def drop(connection: sqlite3.Connection, seq: int) -> None:
    """Make an entry no longer findable."""
    connection.execute("DELETE FROM memory_index WHERE rowid = ?", (seq,))


def scrub(connection: sqlite3.Connection) -> None:
    """Overwrite the words of entries that are gone: until it is merged, the index keeps them.

    It rewrites the whole index, which takes a second for some hundred thousand entries.
    """
    connection.execute("INSERT INTO memory_index (memory_index) VALUES ('optimize')")


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


def with_all(
    connection: sqlite3.Connection, groups: Sequence[Sequence[str]], most: int
) -> list[int]:
    """Give the rows whose content has all words of one of some groups, the newest first."""
    either = " OR ".join(f"({' AND '.join(map(quoted, forms))})" for forms in groups)
    rows = connection.execute(
        "SELECT rowid FROM memory_index WHERE memory_index MATCH ? ORDER BY rowid DESC LIMIT ?",
        (f"content : ({either})", most),
    )
    return [seq for (seq,) in rows]


def quoted(form: str) -> str:
    """Write a word so that the index's query language reads nothing into it."""
    return '"' + form.replace('"', '""') + '"'


def findable(entry: Entry) -> bool:
    """Tell whether an entry belongs into the index: an old version does not."""
    return not isinstance(entry, Memory) or entry.latest
