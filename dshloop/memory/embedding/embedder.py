"""What every embedding model gives, and the check that it gave it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from dshloop.errors import EmbeddingInvalidError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    Vectors = NDArray[np.float32]

LONGEST_TEXT = 2_000
"""Characters of a text that are embedded: about the 512 tokens that small models read."""


class Embedder(Protocol):
    """A model that gives texts of like meaning like vectors.

    Vectors are float32 and have length 1; a question and a text may be embedded differently.
    Raises PEER_* where the model is a server's, EMBEDDING_INVALID for what is no vector.
    """

    @property
    def name(self) -> str:
        """Which model, and who runs it; vectors of one name can be compared."""

    def embed_query(self, text: str) -> Vector:
        """Give the vector of a question: (dimensions,)."""

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Give the vectors of texts, in order: (len(texts), dimensions)."""

    def close(self) -> None:
        """Let go of connections and of the model's memory; it can be used again."""


def readable(text: str) -> str:
    """Give the beginning of a text as a model can read it: valid UTF-8, no NUL, not empty."""
    head = text[:LONGEST_TEXT].replace("\0", " ")
    return head.encode("utf-8", "replace").decode().strip() or "-"


def unit_rows(raw: Any, count: int, name: str) -> Vectors:
    """Give rows of length 1 as float32; EMBEDDING_INVALID for anything that can't be."""
    import numpy as np

    if count == 0:
        return np.empty((0, 0), dtype=np.float32)
    try:
        with np.errstate(over="ignore"):
            rows = np.asarray(raw, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        raise _invalid(name, "rows of different lengths, or no numbers") from None
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise _invalid(name, "no rows of numbers")
    if len(rows) != count:
        raise _invalid(name, f"{len(rows)} vectors for {count} texts")
    if not np.isfinite(rows).all():
        raise _invalid(name, "numbers that are not finite")
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not lengths.all():
        raise _invalid(name, "a vector of zeros")
    unit: Vectors = (rows / lengths).astype(np.float32)
    return unit


def _invalid(name: str, what: str) -> EmbeddingInvalidError:
    return EmbeddingInvalidError(f"the embedding model {name} gave {what}", model=name)
