"""The tables of the embedded store, as a list of migrations.

A database's ``user_version`` is the number of migrations it has had. Add to the end; never change
one that was released.

``entries.seq`` is the row's number and the index's rowid. Text that UTF-8 can't hold (lone
surrogates) is stored as a blob, see rows.py; the index's own tables are explained in index.py.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from dshloop.memory.sqlite.index import reindex_all
from dshloop.memory.sqlite.rows import renew_digests

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

_ENTRY = """
      seq INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      kind TEXT NOT NULL,
      latest INTEGER NOT NULL,
      type TEXT NOT NULL,
      hook TEXT NOT NULL,
      project TEXT NOT NULL,
      agent TEXT NOT NULL,
      session TEXT NOT NULL,
      created_at REAL NOT NULL,
      updated_at REAL NOT NULL,
      strength REAL NOT NULL,
      expires_at REAL,
      version INTEGER NOT NULL,
      previous TEXT,
      repeats INTEGER NOT NULL,
      words INTEGER NOT NULL,
      digest BLOB NOT NULL,
      title TEXT NOT NULL,
      subtitle TEXT NOT NULL,
      concepts TEXT NOT NULL,
      files TEXT NOT NULL,
      source TEXT NOT NULL,
      content TEXT NOT NULL
"""

_SESSION = """
      id TEXT PRIMARY KEY,
      project TEXT NOT NULL,
      cwd TEXT NOT NULL,
      agent TEXT NOT NULL,
      title TEXT,
      first_prompt TEXT,
      summary TEXT,
      started_at REAL NOT NULL,
      updated_at REAL NOT NULL,
      ended_at REAL,
      observations INTEGER NOT NULL
"""

_ENTRIES_OF_BOTH_KINDS = (
    f"CREATE TABLE entries ({_ENTRY})",
    # An equal text could not be stored twice so far; now old versions may equal new ones.
    """
    INSERT INTO entries (
      seq, id, kind, latest, type, hook, project, agent, session, created_at, updated_at,
      strength, version, repeats, words, digest, title, subtitle, concepts, files, source, content
    )
    SELECT
      seq, id, 'memory', 1, type, '', project, agent, '', created_at, updated_at,
      7.0, version, repeats, words, digest, title, '', concepts, files, source, content
    FROM memories ORDER BY seq
    """,
    "DROP TRIGGER memory_added",
    "DROP TRIGGER memory_changed",
    "DROP TRIGGER memory_gone",
    "DROP TABLE memories",
    # Lists: the newest of a kind, of a project and kind, of a session.
    "CREATE INDEX entries_by_kind ON entries (kind, latest, seq)",
    "CREATE INDEX entries_by_project ON entries (project, kind, latest, seq)",
    "CREATE INDEX entries_by_session ON entries (session, seq) WHERE session <> ''",
    "CREATE INDEX entries_by_time ON entries (created_at)",
    "CREATE INDEX entries_by_end ON entries (expires_at) WHERE expires_at IS NOT NULL",
    "CREATE INDEX entries_by_digest ON entries (digest)",
    "CREATE INDEX entries_by_previous ON entries (previous) WHERE previous IS NOT NULL",
    "ALTER TABLE tally RENAME COLUMN memories TO entries",
    """
    CREATE TRIGGER entry_added AFTER INSERT ON entries WHEN new.latest BEGIN
      UPDATE tally SET entries = entries + 1, words = words + new.words;
    END
    """,
    """
    CREATE TRIGGER entry_changed AFTER UPDATE OF words, latest ON entries BEGIN
      UPDATE tally SET
        entries = entries + new.latest - old.latest,
        words = words + new.words * new.latest - old.words * old.latest;
    END
    """,
    """
    CREATE TRIGGER entry_gone AFTER DELETE ON entries WHEN old.latest BEGIN
      UPDATE tally SET entries = entries - 1, words = words - old.words;
    END
    """,
    f"CREATE TABLE sessions ({_SESSION})",
    "CREATE INDEX sessions_by_start ON sessions (started_at)",
    # A row that was forgotten stays whole until it is purged, so that it can be restored.
    f"CREATE TABLE forgotten ({_ENTRY}, operation INTEGER NOT NULL, forgotten_at REAL NOT NULL)",
    f"CREATE TABLE forgotten_sessions ({_SESSION}, operation INTEGER NOT NULL)",
    "CREATE INDEX forgotten_by_operation ON forgotten (operation)",
    "CREATE INDEX forgotten_by_time ON forgotten (forgotten_at)",
    # What undo reads: the changes, and as JSON what they need to be taken back.
    """
    CREATE TABLE operations (
      number INTEGER PRIMARY KEY,
      verb TEXT NOT NULL,
      at REAL NOT NULL,
      detail TEXT NOT NULL
    )
    """,
)

# See vectors.py; numbers are never used twice, so that readers can tell what is new.
_VECTORS = (
    """
    CREATE TABLE embedding_models (
      number INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      dimensions INTEGER NOT NULL,
      background BLOB NOT NULL
    )
    """,
    """
    CREATE TABLE vectors (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      seq INTEGER NOT NULL,
      model INTEGER NOT NULL,
      vector BLOB NOT NULL,
      UNIQUE (seq, model)
    )
    """,
    """
    CREATE TRIGGER vector_gone AFTER DELETE ON entries BEGIN
      DELETE FROM vectors WHERE seq = old.seq;
    END
    """,
    """
    CREATE TRIGGER vector_outdated AFTER UPDATE OF title, content, latest ON entries
    WHEN old.content IS NOT new.content OR old.title IS NOT new.title OR NOT new.latest BEGIN
      DELETE FROM vectors WHERE seq = old.seq;
    END
    """,
)

# See documents.py.
_DOCUMENTS = (
    """
    CREATE TABLE documents (
      number INTEGER PRIMARY KEY,
      kind TEXT NOT NULL,
      key TEXT NOT NULL,
      value TEXT NOT NULL,
      updated_at REAL NOT NULL,
      UNIQUE (kind, key)
    )
    """,
)

Step = str | Callable[[sqlite3.Connection], None]

# What the index keeps of an entry was changed too.
MIGRATIONS: tuple[tuple[Step, ...], ...] = (
    _FIRST,
    (*_ENTRIES_OF_BOTH_KINDS, renew_digests, reindex_all),
    _VECTORS,
    _DOCUMENTS,
)
"""Each a sequence of statements, or functions that take the connection, run in one transaction."""
