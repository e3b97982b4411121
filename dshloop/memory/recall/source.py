"""What answering a question asks of a database: how common words are, entries, their neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from dshloop.memory.entries import Entry
from dshloop.memory.recall.lines import Corpus, Line, Term
from dshloop.memory.recall.rank import Beside

EXTENSIONS = 4
"""Longer words taken for one that begins them: those that most entries have."""
COMPARED = 256
"""Longer words of which they are chosen."""


class Vocabulary(Protocol):
    """What a store knows of its words."""

    def size(self) -> tuple[int, int]:
        """Give how many entries can be found, and how many words they have together."""

    def frequency(self, forms: Iterable[str]) -> dict[str, int]:
        """Give how many entries have each form; those that none has are left out."""

    def extensions(self, form: str) -> Sequence[tuple[str, int]]:
        """Give words that a form begins, most entries first, and how many have each."""


class Source(Vocabulary, Protocol):
    """One question's view of a store, as of one moment and through its filters."""

    def candidates(self, terms: Sequence[Term], corpus: Corpus, most: int) -> Sequence[Line]:
        """Give the entries that pass the filters and have most of the question's words."""

    def beside(self, of: Iterable[Line]) -> Mapping[int, Beside]:
        """Give the neighbours of lines, and as far as these tell, the neighbours of those."""

    def lines(self, seqs: Iterable[int]) -> Sequence[Line]:
        """Give entries by their numbers, and whether each passes the filters; none that has
        expired or is another project's."""

    def load(self, seqs: Sequence[int]) -> Mapping[int, Entry]:
        """Give the entries of rows by number."""
