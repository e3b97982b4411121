"""Vectors of entries in the database: one for each entry and model, made of its own text alone.

What surrounds an entry is not in its vector; nearness.py looks at its neighbours when a question
is asked. So a new entry never makes an old vector wrong. Triggers take a vector away with its
entry, or when the entry's text changes; an entry without one is found by its words only.

A blob is a float32 scale and one int8 a dimension: a quarter of float32's size, with the same
answers (the error of a cosine is below 0.001). Vectors have length 1. ``number`` is never used
twice, so that a reader can tell what is new.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dshloop.errors import EmbeddingInvalidError
from dshloop.memory.entries import Entry, title_of
from dshloop.memory.sqlite.connection import Connection
from dshloop.memory.sqlite.rows import Stored

if TYPE_CHECKING:
    from dshloop.memory.embedding.embedder import Embedder, Vectors

_SCALE = 4  # bytes in front of a blob
_LACKING = """
    FROM entries AS m WHERE m.latest = 1 AND NOT EXISTS (
      SELECT 1 FROM vectors AS v WHERE v.seq = m.seq AND v.model = ?
    )
"""

# Everyday sentences of many kinds: what unrelated texts look like to a model. A store with three
# entries can't tell.
BACKGROUND = (
    "The train to the coast leaves at half past seven.",
    "She planted tomatoes and basil behind the house.",
    "Interest rates were left unchanged by the central bank.",
    "A goalkeeper saved two penalties in the final.",
    "Bake the bread for forty minutes until the crust is brown.",
    "The museum shows paintings from the seventeenth century.",
    "Rain is expected in the north on Sunday.",
    "My brother is learning to play the violin.",
    "The patient should take one tablet after each meal.",
    "Volcanoes form where plates of the crust meet.",
    "The court adjourned the hearing until spring.",
    "He repaired the old bicycle in the garage.",
    "The function returns the sum of a list of numbers.",
    "Restart the server after changing its configuration.",
    "The unit tests fail on Windows because of path separators.",
    "Please review the pull request before noon.",
    "add a column to the users table and migrate the data",
    "error: connection refused while opening the database",
    "npm run build && cp -r dist /srv/app",
    "Whales communicate over hundreds of kilometres.",
    "这家餐厅的面条很好吃。",
    "明日は友達と映画を見に行きます。",
    "오늘 회의는 오후 세 시에 시작합니다.",
    "La bibliothèque ferme à dix-huit heures.",
    "Der Zug hat zwanzig Minuten Verspätung.",
    "El partido terminó en empate.",
)

# What a question that is no question looks like: models put all of these near a few odd entries.
NONSENSE = (
    "asdf qwer zxcv",
    "xyzzy plugh quux",
    "blorf snenk wuggit",
    "lkjhg fdsa poiuy",
    "7f3a9c1e 0b2d4e6f",
    "zrtbl kwopf mnxq vzj",
    "qjv ttrw",
)


class Model(NamedTuple):
    """A model that vectors are stored of."""

    number: int
    name: str
    dimensions: int
    background: bytes


class Embedded(NamedTuple):
    """Vectors of texts, made before a transaction begins; ``background`` goes with the first."""

    model: str
    rows: Vectors
    background: Vectors | None


def embedded(embedder: Embedder, texts: Sequence[str], *, known: bool) -> Embedded:
    """Make vectors; ``known`` tells whether the database has the model's background already."""
    rows = embedder.embed_texts(texts)
    background = None if known else embedder.embed_texts((*BACKGROUND, *NONSENSE))
    return Embedded(embedder.name, rows, background)


def put(connection: Connection, made: Embedded, seqs: Sequence[int]) -> None:
    """Store the vectors of entries, in the entries' own transaction; EMBEDDING_INVALID."""
    model = model_of(connection, made.model) or _add_model(connection, made)
    check_length(model, made.rows.shape[1])
    connection.executemany(
        "DELETE FROM vectors WHERE seq = ? AND model = ?", [(seq, model.number) for seq in seqs]
    )
    connection.executemany(
        "INSERT INTO vectors (seq, model, vector) VALUES (?, ?, ?)",
        [(seq, model.number, blob) for seq, blob in zip(seqs, packed(made.rows), strict=True)],
    )


def model_of(connection: Connection, name: str) -> Model | None:
    """Give a model by name, None when no vector of it was ever stored."""
    row = connection.execute(
        "SELECT number, name, dimensions, background FROM embedding_models WHERE name = ?", (name,)
    ).fetchone()
    return None if row is None else Model(*row)


def check_length(model: Model, length: int) -> None:
    """Refuse vectors that can't be compared with those stored; EMBEDDING_INVALID."""
    if length != model.dimensions:
        raise EmbeddingInvalidError(
            f"the embedding model {model.name} gave vectors of {length} numbers; "
            f"those stored have {model.dimensions}",
            model=model.name,
            length=length,
            stored=model.dimensions,
        )


def counts(connection: Connection) -> Mapping[str, int]:
    """Count the stored vectors of each model, most first."""
    rows = connection.execute(
        "SELECT name, (SELECT count(*) FROM vectors WHERE model = m.number) AS held "
        "FROM embedding_models AS m ORDER BY held DESC, name"
    )
    return {name: held for name, held in rows if held}


def lacking(connection: Connection, name: str) -> int:
    """Count the entries that have no vector of a model."""
    (count,) = connection.execute(
        f"SELECT count(*) {_LACKING}", (_number(connection, name),)
    ).fetchone()
    return int(count)


class Lacking(NamedTuple):
    """An entry without a vector; ``stamp`` tells whether its text has changed since."""

    seq: int
    text: str
    stamp: tuple[bytes, Stored]


def next_lacking(connection: Connection, name: str, before: int | None, most: int) -> list[Lacking]:
    """Give entries without a vector, the newest first, older than the row ``before``."""
    from dshloop.memory.embedding.embedder import LONGEST_TEXT

    rows = connection.execute(
        f"SELECT m.seq, m.digest, m.title, substr(m.content, 1, {4 * LONGEST_TEXT}) {_LACKING} "
        "AND m.seq < ? ORDER BY m.seq DESC LIMIT ?",
        (_number(connection, name), 1 << 62 if before is None else before, most),
    )
    return [
        Lacking(seq, text_of(_text(title), _text(content)), (digest, title))
        for seq, digest, title, content in rows
    ]


def put_unchanged(connection: Connection, made: Embedded, asked: Sequence[Lacking]) -> int:
    """Store vectors of those entries that are still as they were read; give how many."""
    kept = [
        at
        for at, one in enumerate(asked)
        if connection.execute(
            "SELECT 1 FROM entries WHERE seq = ? AND latest = 1 AND digest = ? AND title = ?",
            (one.seq, *one.stamp),
        ).fetchone()
    ]
    if kept:
        put(connection, made._replace(rows=made.rows[kept]), [asked[at].seq for at in kept])
    return len(kept)


def seq_of(connection: Connection, id_: str) -> int:
    """Give the row of an entry that is there."""
    (seq,) = connection.execute("SELECT seq FROM entries WHERE id = ?", (id_,)).fetchone()
    return int(seq)


def text_of_entry(entry: Entry) -> str:
    """Give what is embedded of an entry."""
    return text_of(entry.title, entry.content)


def text_of(title: str, content: str) -> str:
    """Join title and content; a title that was made from the content says nothing more."""
    made = title_of(content[:2000])
    return content if not title or title == made else f"{title}\n{content}"


def packed(rows: Vectors) -> list[bytes]:
    """Give each vector as a blob."""
    import numpy as np

    scales = (np.abs(rows).max(axis=1) / 127).astype(np.float32)
    numbers = np.round(rows / scales[:, None]).astype(np.int8)
    return [scale.tobytes() + row.tobytes() for scale, row in zip(scales, numbers, strict=True)]


def blobs_of(joined: bytes, dimensions: int) -> list[bytes]:
    """Cut blobs that were joined apart."""
    size = _SCALE + dimensions
    return [joined[start : start + size] for start in range(0, len(joined), size)]


def unpacked(blobs: Sequence[bytes], dimensions: int) -> Vectors:
    """Give blobs back as rows of float32."""
    import numpy as np

    raw = np.frombuffer(b"".join(blobs), np.int8).reshape(len(blobs), _SCALE + dimensions)
    scales = np.ascontiguousarray(raw[:, :_SCALE]).view(np.float32)
    rows: Vectors = raw[:, _SCALE:] * scales
    return rows


def _add_model(connection: Connection, made: Embedded) -> Model:
    assert made.background is not None, "the first vectors of a model come with its background"
    background = b"".join(packed(made.background))
    connection.execute(
        "INSERT INTO embedding_models (name, dimensions, background) VALUES (?, ?, ?)",
        (made.model, made.rows.shape[1], background),
    )
    model = model_of(connection, made.model)
    assert model is not None
    return model


def _number(connection: Connection, name: str) -> int:
    model = model_of(connection, name)
    return -1 if model is None else model.number


def _text(stored: Stored) -> str:
    """Give text back, also when its last character was cut in two."""
    return stored if isinstance(stored, str) else stored.decode("utf-8", "replace")
