"""What a store does with an embedding model: vectors for what is stored, nearness for questions.

Who asks for meaning explicitly gets the model's errors; where it is only the usual way (the setting
``memory.semantic``), a model that fails costs a notice, never an entry or an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dshloop.errors import DshloopError, EmbeddingInvalidError, SemanticUnavailableError
from dshloop.memory.answers import Filters
from dshloop.memory.sqlite.connection import Connection, Database
from dshloop.memory.sqlite.meaning import vectors

if TYPE_CHECKING:
    from dshloop.memory.embedding.embedder import Embedder, Vector
    from dshloop.memory.entries import Entry
    from dshloop.memory.sqlite.meaning.fusion import Near
    from dshloop.memory.sqlite.meaning.nearness import VectorIndex
    from dshloop.memory.sqlite.meaning.vectors import Embedded

FILL = "dshloop memory reindex --semantic"
_BATCH = 64

Open = Callable[[], "Embedder"]
Tell = Callable[[str], None]


Indexing = Callable[[Connection, str], "VectorIndex"]
"""Gives the index of a model's vectors in a database."""


class Filled(NamedTuple):
    """How far filling has come: entries looked at, and how many there are."""

    done: int
    total: int


class Written(NamedTuple):
    """Vectors of texts that are about to be stored."""

    texts: Sequence[str]
    made: Embedded


class Question(NamedTuple):
    """A question's vector; ``explicit`` tells whether somebody asked for meaning."""

    vector: Vector
    explicit: bool


class Meaning:
    """A store's embedding model, opened when it is first needed.

    ``usual`` tells whether questions and writes use it unasked.
    """

    def __init__(
        self,
        opening: Open | None,
        *,
        usual: bool,
        tell: Tell | None,
        indexing: Indexing | None = None,
    ) -> None:
        self._indexing = indexing or _in_memory
        self.usual = usual and opening is not None
        self._opening = opening
        self._tell = tell
        self._embedder: Embedder | None = None
        self._index: VectorIndex | None = None
        self._told: set[str] = set()

    def before_writing(self, database: Database, entries: Iterable[Entry]) -> Written | None:
        """Make vectors of entries that are about to be stored; None where the model fails."""
        texts = [vectors.text_of_entry(entry) for entry in entries]
        try:
            embedder = self._model()
            known = self._known(database, embedder.name)
            return Written(texts, vectors.embedded(embedder, texts, known=known))
        except DshloopError as error:
            self._say(f"stored without a vector: {error.message}")
            return None

    def write(
        self, connection: Connection, written: Written | None, entries: Iterable[Entry]
    ) -> None:
        """Store the vectors of entries whose texts were embedded, in their transaction."""
        if written is None:
            return
        at = {text: number for number, text in enumerate(written.texts)}
        rows = [(entry.id, at.get(vectors.text_of_entry(entry))) for entry in entries]
        found = [(vectors.seq_of(connection, id_), row) for id_, row in rows if row is not None]
        if found:
            seqs, kept = zip(*found, strict=True)
            made = written.made._replace(rows=written.made.rows[list(kept)])
            vectors.put(connection, made, seqs)

    def question(self, query: str, semantic: bool | None) -> Question | None:
        """Give a question's vector, None where meaning is not wanted or can't be had.

        With ``semantic`` True raises SEMANTIC_UNAVAILABLE, PEER_*, EMBEDDING_INVALID.
        """
        if not (self.usual if semantic is None else semantic):
            return None
        try:
            return Question(self._model().embed_query(query), bool(semantic))
        except DshloopError as error:
            self._without(bool(semantic), error)
            return None

    def near(
        self,
        connection: Connection,
        question: Question | None,
        filters: Filters,
        now: float,
    ) -> Near | None:
        """Look at the stored vectors with a question; None where there are none."""
        if question is None:
            return None
        if self._index is None:
            self._index = self._indexing(connection, self._model().name)
        self._index.refresh(connection)
        self._tell_lacking(connection, self._index.stored)
        try:
            return self._index.ask(connection, question.vector, filters, now)
        except EmbeddingInvalidError as error:
            self._without(question.explicit, error)
            return None

    def fill(self, database: Database) -> Iterator[Filled]:
        """Make the vectors that are missing, the newest entries first; yield after each batch.

        Each batch is kept, so it can be broken off and begun again. Raises as `question`.
        """
        embedder = self._model()
        with database.reading() as connection:
            if connection is None:
                return
            total = vectors.lacking(connection, embedder.name)
        done, before = 0, None
        while True:
            with database.reading() as connection:
                assert connection is not None
                batch = vectors.next_lacking(connection, embedder.name, before, _BATCH)
                known = vectors.model_of(connection, embedder.name) is not None
            if not batch:
                return
            made = vectors.embedded(embedder, [one.text for one in batch], known=known)
            with database.writing() as connection:
                vectors.put_unchanged(connection, made, batch)
            done, before = done + len(batch), batch[-1].seq
            yield Filled(done, max(total, done))

    def close(self) -> None:
        """Let go of the model and of what is in memory."""
        if self._embedder is not None:
            self._embedder.close()
        self._embedder = self._index = None

    def _model(self) -> Embedder:
        if self._embedder is None:
            if self._opening is None:
                raise SemanticUnavailableError("the store was opened without an embedding model")
            self._embedder = self._opening()
        return self._embedder

    def _known(self, database: Database, name: str) -> bool:
        with database.reading() as connection:
            return connection is not None and vectors.model_of(connection, name) is not None

    def _without(self, explicit: bool, error: DshloopError) -> None:
        """Go on by words alone, unless somebody asked for meaning."""
        if explicit:
            raise error
        self._say(f"found by words only: {error.message}")

    def _tell_lacking(self, connection: Connection, held: int) -> None:
        lacking = connection.findable() - held
        if lacking > 0:
            those = "1 entry has" if lacking == 1 else f"{lacking} entries have"
            self._say(f"{those} no vector and can be found by words only: {FILL}")

    def _say(self, what: str) -> None:
        """Tell a thing once."""
        if self._tell is not None and what not in self._told:
            self._told.add(what)
            self._tell(what)


def _in_memory(_connection: Connection, name: str) -> VectorIndex:
    from dshloop.memory.sqlite.meaning.nearness import VectorIndex

    return VectorIndex(name)
