"""The tables of the embedded store, as a list of migrations.

A database's ``user_version`` is the number of migrations it has had. Add to the end; never change
one that was released.

``memories.seq`` is the row's number and the index's rowid. Text that UTF-8 can't hold (lone
surrogates) is stored as a blob, see rows.py. ``tally`` keeps what ranking needs to know of the
whole store, so that nothing has to count a million rows.
"""

from __future__ import annotations

APPLICATION_ID = 0x6473686C
"""``dshl``: tells our databases from others."""

_FIRST = (
    """
    CREATE TABLE memories (
      seq INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      type TEXT NOT NULL,
      title TEXT NOT NULL,
      content TEXT NOT NULL,
      concepts TEXT NOT NULL,
      files TEXT NOT NULL,
      project TEXT NOT NULL,
      agent TEXT NOT NULL,
      source TEXT NOT NULL,
      created_at REAL NOT NULL,
      updated_at REAL NOT NULL,
      version INTEGER NOT NULL,
      repeats INTEGER NOT NULL,
      digest BLOB NOT NULL UNIQUE,
      words INTEGER NOT NULL
    )
    """,
    "CREATE INDEX memories_by_project ON memories (project, seq)",
    # The columns hold words as text.py makes them, joined by blanks: here nothing but blanks may
    # separate, so every category of character but blanks belongs to a word.
    """
    CREATE VIRTUAL TABLE memory_index USING fts5 (
      title, content, concepts, files,
      tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'"
    )
    """,
    "CREATE VIRTUAL TABLE memory_words USING fts5vocab (memory_index, row)",
    "CREATE TABLE tally (memories INTEGER NOT NULL, words INTEGER NOT NULL)",
    "INSERT INTO tally VALUES (0, 0)",
    """
    CREATE TRIGGER memory_added AFTER INSERT ON memories BEGIN
      UPDATE tally SET memories = memories + 1, words = words + new.words;
    END
    """,
    """
    CREATE TRIGGER memory_changed AFTER UPDATE OF words ON memories BEGIN
      UPDATE tally SET words = words + new.words - old.words;
    END
    """,
    """
    CREATE TRIGGER memory_gone AFTER DELETE ON memories BEGIN
      UPDATE tally SET memories = memories - 1, words = words - old.words;
      DELETE FROM memory_index WHERE rowid = old.seq;
    END
    """,
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST,)
"""Each a sequence of statements, run in one transaction."""
