"""How common words are in a large store, remembered from question to question.

The counts of common words come from the server's own statistics, which it takes by itself
(autovacuum), and are kept for a minute: a count that has become old costs a little order or time,
never an entry. Small stores are counted each time.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dshloop.memory.postgres.connection import Lent

_LARGE = 5_000
"""Entries from which on statistics are used."""
_FRESH = 60.0
"""Seconds that they are kept."""
_STATISTICS = """
    SELECT CAST(CAST(most_common_elems AS text) AS text[]), most_common_elem_freqs
    FROM pg_stats
    WHERE schemaname = current_schema() AND tablename = 'memory_index' AND attname = 'words'
"""
_ROWS = "SELECT reltuples FROM pg_class WHERE oid = CAST('memory_index' AS regclass)"
_MEAN = """
    SELECT avg(words) FROM (
      SELECT words FROM entries WHERE latest = 1 ORDER BY seq DESC LIMIT 1000
    ) AS newest
"""
_SIZE = "SELECT count(*), coalesce(sum(words), 0) FROM entries WHERE latest = 1"


class Statistics:
    """What a store remembers of how common words are, from question to question."""

    def __init__(self) -> None:
        self._until = 0.0
        self.size: tuple[int, int] | None = None
        self.counts: dict[str, int] = {}

    def refresh(self, lent: Lent) -> None:
        """Take them again when they are too old."""
        if time.monotonic() < self._until:
            return
        self.size, self.counts = None, {}
        rows = int(lent.native(_ROWS).fetchone()[0])
        if rows >= _LARGE:
            self._take(lent, rows)
            self._until = time.monotonic() + _FRESH

    def _take(self, lent: Lent, rows: int) -> None:
        found = lent.native(_STATISTICS).fetchone()
        if found is None:  # row-level security hides them: counted in what the role sees
            self.size = counted(lent)
            return
        self.size = rows, int(rows * float(lent.native(_MEAN).fetchone()[0] or 0))
        words, shares = found
        if words is not None:
            self.counts = {
                word: max(round(share * rows), 1)
                for word, share in zip(words, shares, strict=False)
            }


def counted(lent: Lent) -> tuple[int, int]:
    """Count the entries that can be found, and their words."""
    entries, words = lent.native(_SIZE).fetchone()
    return int(entries), int(words)
