"""The embedded store's file as the source of answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from dshloop.memory.answers import Filters
from dshloop.memory.entries import Entry
from dshloop.memory.recall.lines import Corpus, Line, Term
from dshloop.memory.recall.rank import Beside
from dshloop.memory.recall.source import COMPARED, EXTENSIONS
from dshloop.memory.sqlite import lookup
from dshloop.memory.sqlite.connect import SqliteConnection
from dshloop.memory.sqlite.recall import candidates

_EVERYTHING = Filters()
_FREQUENCY = """
    SELECT w.term, w.doc FROM json_each(?) AS j CROSS JOIN memory_words AS w ON w.term = j.value
"""
_EXTENSIONS = f"""
    SELECT term, doc FROM (
      SELECT term, doc FROM memory_words WHERE term > ? AND term < ? LIMIT {COMPARED}
    ) ORDER BY doc DESC, term LIMIT {EXTENSIONS}
"""


class EmbeddedSource:
    """A question's view of the file, inside a transaction that reads."""

    def __init__(
        self, connection: SqliteConnection, filters: Filters = _EVERYTHING, now: float = 0.0
    ) -> None:
        self._connection = connection
        self._filters = filters
        self._now = now

    def size(self) -> tuple[int, int]:
        entries, words = self._connection.execute("SELECT entries, words FROM tally").fetchone()
        return entries, words

    def frequency(self, forms: Iterable[str]) -> dict[str, int]:
        return dict(self._connection.execute(_FREQUENCY, (json.dumps(list(forms)),)))

    def extensions(self, form: str) -> list[tuple[str, int]]:
        return self._connection.execute(_EXTENSIONS, (form, form + "\uffff")).fetchall()

    def candidates(self, terms: Sequence[Term], corpus: Corpus, most: int) -> list[Line]:
        return candidates.candidates(
            self._connection, terms, corpus, self._filters, self._now, most
        )

    def beside(self, of: Iterable[Line]) -> dict[int, Beside]:
        return candidates.beside(self._connection, of)

    def lines(self, seqs: Iterable[int]) -> list[Line]:
        return candidates.lines(self._connection, seqs, self._filters, self._now)

    def load(self, seqs: Sequence[int]) -> dict[int, Entry]:
        return lookup.load(self._connection, seqs)
